"""Finds and runs the program `tony`.

A Program is a value: any number of threads and event loops may use it at the same time. Each call starts a process,
and ends that process before it returns, raises or is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import IO, Any, cast

from tony.answer import Document, answer, expect_end, line_of
from tony.errors import NoProgram, SpecInvalid, TonyError, Unavailable
from tony.where import beside_this_package, of_path

CALL_LIMIT = 60.0  # seconds for a call that does not wait for a job; usually far less
LEAVE_LIMIT = 5.0  # seconds for a process to exit after its work
LONGEST_LINE = 64 << 20  # bytes; ten times the status of 10,000 tasks

Hear = Callable[[bytes], None]


class Calls:
    """The calls of one thread. A signal handler or another thread may stop them at any time."""

    def __init__(self) -> None:
        self.stopped = False
        self._running: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """Kills the running process, and each process that starts later."""
        self.stopped = True
        if self._running is not None:
            self._running.kill()

    def began(self, process: subprocess.Popen[bytes]) -> None:
        self._running = process
        if self.stopped:
            process.kill()

    def ended(self) -> None:
        self._running = None


@dataclasses.dataclass(frozen=True)
class Ask:
    """One call. `document` goes to standard input, where no other user can read it.

    `limit`: seconds after which the process (never a job) is killed. `grace`: seconds that the process has to exit
    after an interruption; its output goes to `rest`. `last`: the words end with the user's command.
    """

    words: tuple[str, ...]
    document: Mapping[str, Any] | None = None
    directory: str | None = None
    limit: float | None = CALL_LIMIT
    grace: float = 0.0
    last: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        return self.words if self.last else (*self.words, "--json")

    @property
    def verb(self) -> str:
        return self.words[0]

    @property
    def feed(self) -> bytes:
        if self.document is None:
            return b""
        try:
            return json.dumps(self.document, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise SpecInvalid(f"the job cannot be written as JSON: {error}") from None


@dataclasses.dataclass(frozen=True)
class Program:
    """The program at `path`, or the first of: $TONY_PROGRAM, the program of this package, the `tony` in $PATH.

    home, conf_dir and proxy_user set the process's $TONY_HOME, $TONY_CONF_DIR and $HADOOP_PROXY_USER; by default it
    inherits them. The process does not get variables whose names start with one of `withheld`, because jobs inherit the
    environment of their submit.
    """

    path: str | None = None
    home: str | None = None
    conf_dir: str | None = None
    withheld: tuple[str, ...] = ()
    proxy_user: str | None = None

    def found(self) -> str:
        return self.path or os.environ.get("TONY_PROGRAM") or beside_this_package() or of_path()

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(self.withheld)}
        own = {"TONY_HOME": self.home, "TONY_CONF_DIR": self.conf_dir, "HADOOP_PROXY_USER": self.proxy_user}
        return inherited | {name: value for name, value in own.items() if value}

    def call(
        self, ask: Ask, *, calls: Calls | None = None, own_session: bool = False, rest: Hear | None = None,
        said: Hear | None = None,
    ) -> Document:
        """Returns the answer. An exception from outside (Ctrl-C) ends the process, unless it has its own session.

        `said` gets the program's messages for people, from standard error.
        """
        feed, calls = ask.feed, calls or Calls()
        process = self._start(ask, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=own_session)
        try:
            calls.began(process)
            out, err = process.communicate(feed, timeout=ask.limit)
        except BaseException as error:
            if not own_session:
                end_now(process, ask.grace, rest)
            if isinstance(error, subprocess.TimeoutExpired):
                raise no_answer_in_time(ask) from None
            raise
        finally:
            calls.ended()
        if said is not None:
            said(err)
        return answer(ask.verb, self.path, process.returncode, out, err)

    def lines(self, ask: Ask) -> Iterator[Document]:
        """Yields the answers of a verb, one per line. Ends the process when the iterator is closed or deleted."""
        process = self._start(ask, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for line in output_of(process):
                yield line_of(ask.verb, self.path, line)
            process.wait()
        finally:
            end_now(process)
        expect_end(ask.verb, process.returncode)

    def _start(self, ask: Ask, **options: Any) -> subprocess.Popen[bytes]:
        path = self.found()
        try:
            return subprocess.Popen[bytes](
                [path, *ask.argv], stdout=subprocess.PIPE, env=self.environment(), cwd=ask.directory, **options
            )
        except OSError as error:
            raise not_started(path, ask, error) from None

    async def acall(self, ask: Ask, *, rest: Hear | None = None, said: Hear | None = None) -> Document:
        """As call(), for an event loop. The process has ended when this returns, raises or is cancelled."""
        feed = ask.feed
        process = await self.astart(ask, stdin=subprocess.PIPE if feed else subprocess.DEVNULL)
        # communicate() runs in a separate task that wait_for() does not cancel, because a cancelled communicate() loses
        # its data.
        talk = asyncio.ensure_future(process.communicate(feed or None))
        try:
            out, err = await asyncio.wait_for(asyncio.shield(talk), ask.limit)
        except asyncio.TimeoutError:
            raise no_answer_in_time(ask) from None
        finally:
            if not talk.done():
                await end_talk(process, talk, ask.grace, rest)
        if said is not None:
            said(err)
        return answer(ask.verb, self.path, process.returncode, out, err)

    async def alines(self, ask: Ask) -> AsyncIterator[Document]:
        process = await self.astart(ask, stderr=subprocess.DEVNULL, limit=LONGEST_LINE)
        try:
            async for line in cast(asyncio.StreamReader, process.stdout):
                yield line_of(ask.verb, self.path, line)
            await process.wait()
        except TonyError:
            # The error was in the last line. The process gets time to exit, because the event loop may miss the exit
            # code of a process that is killed while it exits.
            await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=LEAVE_LIMIT)
            raise
        finally:
            await end(process)
        expect_end(ask.verb, process.returncode)

    async def astart(self, ask: Ask, **options: Any) -> asyncio.subprocess.Process:
        """Starts the process and returns it, for callers that exchange several lines with it."""
        path = self.found()
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        try:
            return await asyncio.create_subprocess_exec(
                path, *ask.argv, env=self.environment(), cwd=ask.directory, **(streams | options)
            )
        except OSError as error:
            raise not_started(path, ask, error) from None


def not_started(path: str, ask: Ask, error: OSError) -> TonyError:
    """Names the machine, because one of several machines may lack the program."""
    if ask.directory and error.filename == ask.directory:
        return SpecInvalid(f"directory {ask.directory}: {error.strerror}")
    return NoProgram(f"{path} cannot be started on {socket.gethostname()}: {error.strerror} ({error.filename})")


def no_answer_in_time(ask: Ask) -> Unavailable:
    return Unavailable(f"tony {ask.verb}: no answer within {ask.limit:g} s")


def output_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    if process.stdout is None:
        raise ValueError("a process without a pipe")
    return process.stdout


def end_now(process: subprocess.Popen[bytes], grace: float = 0.0, rest: Hear | None = None) -> None:
    """Ends the process, also if this call is interrupted itself."""
    try:
        if process.poll() is None and grace:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired, ValueError):
            out, _ = process.communicate(timeout=grace) if grace else (b"", b"")
            if rest is not None:
                rest(out)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


async def end_talk(
    process: asyncio.subprocess.Process, talk: asyncio.Future[tuple[bytes, bytes]], grace: float, rest: Hear | None
) -> None:
    try:
        if grace:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await asyncio.wait({talk}, timeout=grace)
    finally:
        await end(process)
        out, _ = await talk
    if rest is not None:
        rest(out)


async def end(process: asyncio.subprocess.Process) -> None:
    """Ends the process, also if the asyncio task that runs this is cancelled."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

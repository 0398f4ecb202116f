"""One `tony watch` process, which serves all waits of an event loop for the jobs of one installation."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import subprocess
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, cast

from tony.answer import Document, expect_schema
from tony.errors import TonyError, Unavailable, error_of
from tony.program import LEAVE_LIMIT, LONGEST_LINE, Ask, Program, end
from tony.where import NAME


# A status or an error of a job, or a message for people about it.
News = Document | TonyError | str


class JobWatch:
    """Writes the ids of jobs to the process, and passes the lines about each job to the waits for that job.

    The process runs while at least one wait is open. If the process exits by itself, all waits raise Unavailable and
    may be repeated. Only the event loop's own thread may use this class.
    """

    _of_loop: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Program, bool], JobWatch]]]
    _of_loop = weakref.WeakKeyDictionary()

    def __init__(self, program: Program, named: bool) -> None:
        self.watcher = secrets.token_hex(16) if named else None
        self._program = program
        self._waiting: dict[str, list[asyncio.Queue[News]]] = {}
        self._process: asyncio.subprocess.Process | None = None
        # The lock for the start and the end of the process.
        self._turn = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._notes: asyncio.Task[None] | None = None

    @classmethod
    def shared(cls, program: Program, named: bool) -> JobWatch:
        """Returns the watch of this event loop. `named`: from now on a kill for another watcher has no effect."""
        watches = cls._of_loop.setdefault(asyncio.get_running_loop(), {})
        return watches.setdefault((program, named), cls(program, named))

    async def end_of(
        self,
        job_id: str,
        on_news: Callable[[Document], Any] = lambda _: None,
        on_note: Callable[[str], Any] = lambda _: None,
    ) -> Document:
        """Returns the job's last status. Raises the error of `tony` if it cannot follow the job.

        `on_note` gets messages for people about the job, for example why no fresh tokens could be pushed.
        """
        queue: asyncio.Queue[News] = asyncio.Queue()
        self._waiting.setdefault(job_id, []).append(queue)
        try:
            await self._ask(job_id)
            while True:
                news = await queue.get()
                if isinstance(news, TonyError):
                    raise news
                if isinstance(news, str):
                    on_note(news)
                    continue
                if "error" in news:
                    raise error_of(news["error"])
                on_news(news)
                if "verdict" in news:
                    return news
        finally:
            self._leave(job_id, queue)
            if not self._waiting:
                await asyncio.shield(self._rest())

    async def _ask(self, job_id: str) -> None:
        async with self._turn:
            if self._process is None:
                ask = Ask(("watch", "-", *(("--watcher", self.watcher) if self.watcher else ())))
                streams: dict[str, Any] = {"stdin": subprocess.PIPE, "limit": LONGEST_LINE}
                self._process = await self._program.astart(ask, **streams)
                self._reader = asyncio.create_task(self._read(self._process))
                self._notes = asyncio.create_task(self._read_notes(self._process))
        self._write(job_id)

    def _leave(self, job_id: str, queue: asyncio.Queue[Any]) -> None:
        self._waiting[job_id].remove(queue)
        if not self._waiting[job_id]:
            del self._waiting[job_id]
            self._write(f"-{job_id}")

    def _write(self, line: str) -> None:
        # _read() handles a process that has exited.
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(f"{line}\n".encode())

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        name = self._program.path or NAME
        last: TonyError = Unavailable(f"{name} watch exited")
        try:
            async for line in cast(asyncio.StreamReader, process.stdout):
                news = json.loads(line)
                expect_schema(name, news)
                if "job" not in news and "error" in news:
                    last = Unavailable(str(news["error"].get("message")))
                for queue in self._waiting.get(news.get("job"), ()):
                    queue.put_nowait(news)
            # If a process is killed while it exits, the event loop may miss its exit code.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), LEAVE_LIMIT)
        except ValueError as error:  # not JSON, or a line that is too long
            last = Unavailable(f"{name} watch: {error}")
        except TonyError as error:
            last = error
        finally:
            await end(process)
            await closed(process)
            if self._process is process:
                self._process = None
                for queue in [queue for queues in self._waiting.values() for queue in queues]:
                    queue.put_nowait(last)

    async def _read_notes(self, process: asyncio.subprocess.Process) -> None:
        """Passes each message for people to the waits for the job that it names."""
        async for line in cast(asyncio.StreamReader, process.stderr):
            note = line.decode(errors="replace").strip()
            for queue in [queue for job, queues in self._waiting.items() if job in note for queue in queues]:
                queue.put_nowait(note)

    async def _rest(self) -> None:
        async with self._turn:
            process, reader = self._process, self._reader
            if self._waiting or process is None or process.stdin is None:
                return
            self._process = None
            process.stdin.close()
            if reader is not None:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(reader, LEAVE_LIMIT)


async def closed(process: asyncio.subprocess.Process) -> None:
    """Closes standard input and ignores its write errors, which asyncio would otherwise log."""
    if process.stdin is not None:
        process.stdin.close()
        with contextlib.suppress(OSError):
            await process.stdin.wait_closed()

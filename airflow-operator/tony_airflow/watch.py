# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""One `tony watch` process for all triggers of an event loop that wait for jobs of one installation."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import subprocess
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, cast

from tony_airflow.cli import Document, TonyCli, end, error_of
from tony_airflow.exceptions import TonyTransportError

LONGEST_LINE = 64 << 20  # bytes; the status of 10,000 tasks is a tenth of it
LEAVE_LIMIT = 5.0  # seconds for the process to end once it has nothing to do


class JobWatch:
    """Writes the ids of jobs to the process, and hands the lines about each to those who wait for it.

    The process runs while somebody waits. Where it ends by itself all who wait get TonyTransportError, and may come
    again. Used by the loop's own thread alone.
    """

    _of_loop: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[TonyCli, bool], JobWatch]]]
    _of_loop = weakref.WeakKeyDictionary()

    def __init__(self, cli: TonyCli, named: bool) -> None:
        self.watcher = secrets.token_hex(16) if named else None
        self._cli = cli
        self._waiting: dict[str, list[asyncio.Queue[Document | TonyTransportError]]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()  # of starting and ending the process
        self._reader: asyncio.Task[None] | None = None

    @classmethod
    def shared(cls, cli: TonyCli, named: bool) -> JobWatch:
        """`named`: kills by other watchers are void from now on. Who merely wants to know has no name."""
        watches = cls._of_loop.setdefault(asyncio.get_running_loop(), {})
        return watches.setdefault((cli, named), cls(cli, named))

    async def end_of(self, job_id: str, on_news: Callable[[Document], Any] = lambda _: None) -> Document:
        """The job's last status. Raises what `tony` says of a job that it cannot follow."""
        queue: asyncio.Queue[Document | TonyTransportError] = asyncio.Queue()
        self._waiting.setdefault(job_id, []).append(queue)
        try:
            await self._ask(job_id)
            while True:
                news = await queue.get()
                if isinstance(news, TonyTransportError):
                    raise news
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
                words = ["watch", "-", *(["--watcher", self.watcher] if self.watcher else [])]
                streams = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL, "limit": LONGEST_LINE}
                self._process = await self._cli.astart(*words, **streams)
                self._reader = asyncio.create_task(self._read(self._process))
        self._write(job_id)

    def _leave(self, job_id: str, queue: asyncio.Queue[Any]) -> None:
        self._waiting[job_id].remove(queue)
        if not self._waiting[job_id]:
            del self._waiting[job_id]
            self._write(f"-{job_id}")

    def _write(self, line: str) -> None:
        # A process that is gone is noticed by its reader.
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(f"{line}\n".encode())

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        last = f"{self._cli.program} watch has ended"
        try:
            async for line in cast(asyncio.StreamReader, process.stdout):
                news = json.loads(line)
                if "job" not in news:
                    last = news.get("error", {}).get("message", last)
                for queue in self._waiting.get(news.get("job"), ()):
                    queue.put_nowait(news)
        except ValueError as error:  # no JSON, or a line too long
            last = f"{self._cli.program} watch: {error}"
        finally:
            await end(process)
            if self._process is process:
                self._process = None
                for queue in [queue for queues in self._waiting.values() for queue in queues]:
                    queue.put_nowait(TonyTransportError(last))

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

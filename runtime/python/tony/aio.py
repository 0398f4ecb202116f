"""The calls of the package `tony` as coroutines: `from tony import aio`.

A cancelled call ends its process; the job continues unless you request its end. All waits in one event loop share one
process.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from tony import asks, job_answers
from tony.job_answers import LogLine
from tony.asks import OnExisting, Path, Reading, Since, Spec, Texts
from tony.documents import FollowedEntry, JobStatus, LogAnswer, Plan, Stream, Submitted, Version
from tony.errors import WaitTimeout
from tony.program import Ask, Program
from tony.reading import read
from tony.watch import JobWatch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tony.asks import Members, RunOptions


@dataclasses.dataclass(frozen=True)
class Job:
    """tony.Job with coroutines; outputs and page are methods here. A value that any event loop may use."""

    id: str
    program: Program = dataclasses.field(default_factory=Program, repr=False)
    submitted: Submitted | None = dataclasses.field(default=None, repr=False, compare=False)

    async def status(self) -> JobStatus:
        return read(JobStatus, await self.program.acall(asks.status(self.id)))

    async def wait(self, timeout: float | None = None, *, check: bool = True, kill_on_cancel: bool = False) -> JobStatus:
        """As tony.Job.wait(). kill_on_cancel: if this call is cancelled, the job is killed."""
        watch = JobWatch.shared(self.program, named=False)
        try:
            return job_answers.ended(await asyncio.wait_for(watch.end_of(self.id), timeout), check)
        except asyncio.TimeoutError:
            raise WaitTimeout(f"job {self.id} has not ended within {timeout:g} s") from None
        except asyncio.CancelledError:
            if kill_on_cancel:
                await asyncio.shield(self.kill("the wait for the job was cancelled", wait=False))
            raise

    async def changes(self) -> AsyncIterator[JobStatus]:
        async for document in self.program.alines(asks.changes(self.id)):
            yield read(JobStatus, document)

    def logs(
        self,
        task: str | Sequence[str] | None = None,
        *,
        follow: bool = False,
        tail: int | None = None,
        stream: Stream | None = None,
        since: Since | None = None,
        grep: str | None = None,
        timestamps: bool = False,
        cursor: str | None = None,
    ) -> AsyncIterator[LogLine]:
        """As tony.Job.logs(): `async for line in job.logs(follow=True)`."""
        ask = asks.logs(self.id, Reading(task, follow, tail, stream, since, grep, timestamps, cursor))
        return self._followed(ask, cursor) if follow else self._pages(ask, cursor, tail)

    async def _followed(self, ask: Ask, cursor: str | None) -> AsyncIterator[LogLine]:
        async for document in self.program.alines(ask):
            entry = read(FollowedEntry, document)
            for line in job_answers.lines_of(entry, cursor, entry.cursor):
                yield line
            cursor = entry.cursor

    async def _pages(self, ask: Ask, cursor: str | None, tail: int | None) -> AsyncIterator[LogLine]:
        while True:
            document = await self.program.acall(ask)
            page = read(LogAnswer, document)
            for line in job_answers.lines_of_answer(page, cursor):
                yield line
            if tail is not None or page.eof or page.cursor == cursor:
                job_answers.check_read(document)
                return
            cursor = page.cursor
            ask = asks.from_cursor(ask, cursor)

    async def outputs(self) -> dict[str, Any]:
        return job_answers.outputs_of(await self.program.acall(asks.outputs(self.id)))

    async def page(self) -> str | None:
        return (await self.status()).tracking_url

    async def kill(self, reason: str | None = None, *, wait: bool = True) -> JobStatus:
        return read(JobStatus, await self.program.acall(asks.kill(self.id, reason, wait)))


async def submit(
    spec: Spec | None = None,
    *,
    secrets: Texts | None = None,
    directory: Path | None = None,
    strict: bool = False,
    request_id: str | None = None,
    submission: int = 0,
    on_existing: OnExisting = "adopt",
    watch_timeout: float | None = None,
    program: Program | None = None,
    **members: Unpack[Members],
) -> Job:
    """As tony.submit(). If the call is cancelled after the job was recorded, the logger `tony` names the job."""
    ask = asks.submit(
        spec, members, secrets=secrets, directory=directory, strict=strict, request_id=request_id, submission=submission,
        on_existing=on_existing, watch_timeout=watch_timeout,
    )  # fmt: skip
    return await _submitted(ask, program)


async def run(
    command: str | Sequence[str],
    instances: int = 1,
    *,
    secrets: Texts | None = None,
    directory: Path | None = None,
    strict: bool = False,
    program: Program | None = None,
    **options: Unpack[RunOptions],
) -> Job:
    return await _submitted(asks.run(command, instances, options, secrets, directory, strict), program)


async def _submitted(ask: Ask, program: Program | None) -> Job:
    program = program or Program()
    document = await program.acall(ask, rest=job_answers.hear_rest, said=job_answers.hear_warnings)
    return Job(document["job"], program, read(Submitted, document))


async def plan(
    spec: Spec | None = None,
    *,
    secrets: Texts | None = None,
    directory: Path | None = None,
    strict: bool = False,
    program: Program | None = None,
    **members: Unpack[Members],
) -> Plan:
    return read(Plan, await (program or Program()).acall(asks.plan(spec, members, secrets, directory, strict)))


async def job(name: str, *, program: Program | None = None) -> Job:
    program = program or Program()
    return Job((await program.acall(asks.status(name)))["job"], program)


async def jobs(*, program: Program | None = None) -> list[JobStatus]:
    return job_answers.statuses(await (program or Program()).acall(Ask(("list",))))


async def version(*, program: Program | None = None) -> Version:
    return read(Version, await (program or Program()).acall(Ask(("version",))))

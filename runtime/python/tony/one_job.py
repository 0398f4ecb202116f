"""A job, for programs with or without threads. aio.py is the version for event loops."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tony import asks, job_answers, notebook, table
from tony.answer import Document
from tony.asks import Reading, Since
from tony.job_answers import LogLine
from tony.documents import FollowedEntry, JobStatus, LogAnswer, Stream, Submitted
from tony.errors import TonyError, Unavailable, WaitTimeout
from tony.program import Ask, Program
from tony.reading import read


@dataclasses.dataclass(frozen=True)
class Job:
    """One job. A value: any thread may use it, and it holds no open resources.

    `submitted` is set if submit() or run() created the object.
    """

    id: str
    program: Program = dataclasses.field(default_factory=Program, repr=False)
    submitted: Submitted | None = dataclasses.field(default=None, repr=False, compare=False)

    def status(self) -> JobStatus:
        """Returns the job's current status. Starts nothing."""
        return read(JobStatus, self.program.call(asks.status(self.id)))

    def wait(self, timeout: float | None = None, *, check: bool = True) -> JobStatus:
        """Waits until the job ends, and returns its last status. Restarts the AM of a local job if the AM is gone.

        Raises JobFailed if the job did not succeed, unless check is False, and WaitTimeout after `timeout` seconds.
        Neither the timeout nor Ctrl-C ends the job.
        """
        return job_answers.ended(self._end(timeout), check)

    def _end(self, timeout: float | None) -> Document:
        began = time.monotonic()
        try:
            return self.program.call(asks.wait(self.id, timeout))
        except Unavailable as error:
            if timeout is None or time.monotonic() - began < timeout:
                raise
            raise WaitTimeout(str(error), document=error.document) from None
        except KeyboardInterrupt:
            job_answers.interrupted(self.id)
            raise

    def changes(self) -> Iterator[JobStatus]:
        """Yields the status after each change, until the job has ended."""
        for document in self.program.lines(asks.changes(self.id)):
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
    ) -> Iterator[LogLine]:
        """Yields the output of the tasks line by line.

        task: a role, a task (`worker:0`) or an attempt (`worker:0#2`); default: all tasks. follow: continues until the
        job has ended. tail: starts with the last `tail` lines of each stream. since: only lines after a moment, or not
        older than an age ("10m", a timedelta). grep: only lines that match this RE2 expression. timestamps: each line
        has its `time`, to a second. cursor: starts after a line of an earlier read.
        """
        ask = asks.logs(self.id, Reading(task, follow, tail, stream, since, grep, timestamps, cursor))
        return self._followed(ask, cursor) if follow else self._pages(ask, cursor, tail)

    def _followed(self, ask: Ask, cursor: str | None) -> Iterator[LogLine]:
        for document in self.program.lines(ask):
            entry = read(FollowedEntry, document)
            yield from job_answers.lines_of(entry, cursor, entry.cursor)
            cursor = entry.cursor

    def _pages(self, ask: Ask, cursor: str | None, tail: int | None) -> Iterator[LogLine]:
        while True:
            document = self.program.call(ask)
            page = read(LogAnswer, document)
            yield from job_answers.lines_of_answer(page, cursor)
            if tail is not None or page.eof or page.cursor == cursor:
                job_answers.check_read(document)
                return
            cursor = page.cursor
            ask = asks.from_cursor(ask, cursor)

    @property
    def outputs(self) -> dict[str, Any]:
        """The JSON object that the chief wrote to $TONY_OUTPUT_FILE. Raises Unavailable before the end."""
        return job_answers.outputs_of(self.program.call(asks.outputs(self.id)))

    @property
    def page(self) -> str | None:
        """The address of the job's page for a browser; None if the job has no page."""
        return self.status().tracking_url

    def kill(self, reason: str | None = None, *, wait: bool = True) -> JobStatus:
        """Kills the job, and waits until nothing of the job is left; with wait=False, only until the kill is recorded.

        May be repeated.
        """
        return read(JobStatus, self.program.call(asks.kill(self.id, reason, wait)))

    def show(self, *, block: bool = True) -> None:
        """Shows a live table until the job has ended: in a notebook below the cell, else by `tony wait` on stderr.

        In a notebook, block=False returns at once, and the table is updated while you run other cells. Ctrl-C, or the
        notebook's stop button, ends the table and not the job.
        """
        if notebook.is_here():
            notebook.show(self._shown, block)
            return
        try:
            # The command draws on the terminal. Its exit code, which reports the end of the job, is ignored.
            subprocess.run(
                [self.program.found(), "wait", self.id], env=self.program.environment(), stdout=sys.stderr.fileno(), check=False
            )
        except KeyboardInterrupt:
            job_answers.interrupted(self.id)
            raise

    def _shown(self) -> Iterator[JobStatus]:
        """Yields the status after each change, and once a second for the tasks' usage."""
        try:
            status = self.status()
            yield status
            while not status.has_ended:
                ask = asks.next_change(self.id, status.seq, 1.0)
                status = read(JobStatus, self.program.call(ask))
                yield status
        except KeyboardInterrupt:
            job_answers.interrupted(self.id)
            raise

    def _repr_html_(self) -> str:
        """Returns the current table of the job's tasks, which a notebook shows for a job."""
        try:
            return table.html(self.status())
        except TonyError as error:
            return table.html_of_error(self.id, error)

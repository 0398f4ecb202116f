"""A job, for programs with threads or with none. aio.py has the same for event loops."""

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
    """One job. It is a value: any thread may use it, and nothing is left open when it is forgotten.

    `submitted` is there where submit() or run() has made the object.
    """

    id: str
    program: Program = dataclasses.field(default_factory=Program, repr=False)
    submitted: Submitted | None = dataclasses.field(default=None, repr=False, compare=False)

    def status(self) -> JobStatus:
        """What is known of it now. Starts nothing."""
        return read(JobStatus, self.program.call(asks.status(self.id)))

    def wait(self, timeout: float | None = None, *, check: bool = True) -> JobStatus:
        """The last status, when the job has ended. Brings back a job on this machine that nobody rules.

        Raises JobFailed if it has not succeeded, unless check is False, and WaitTimeout after so many seconds. Neither
        that nor Ctrl-C ends the job.
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
        """The status at each change, up to the last one."""
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
        """What the tasks have written, line by line: of all, of a role, of `worker:0`, or of its second attempt `worker:0#2`.

        follow: goes on until the job has ended. tail: begins with the last so many lines of each stream. since: what was
        written later than a time ago ("10m", a timedelta) or a moment. grep: lines with a match of this, as RE2 reads it.
        timestamps: each line has its `time`, to a second. cursor: begins behind a line of an earlier reading.
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
            page = read(LogAnswer, self.program.call(ask))
            yield from job_answers.lines_of_answer(page, cursor)
            if tail is not None or page.eof or page.cursor == cursor:
                return
            cursor = page.cursor
            ask = asks.from_cursor(ask, cursor)

    @property
    def outputs(self) -> dict[str, Any]:
        """The JSON object that its chief has left in $TONY_OUTPUT_FILE. Unavailable before the end."""
        return job_answers.outputs_of(self.program.call(asks.outputs(self.id)))

    @property
    def page(self) -> str | None:
        """The address of its page for a browser, while there is one."""
        return self.status().tracking_url

    def kill(self, reason: str | None = None, *, wait: bool = True) -> JobStatus:
        """Ends it, and waits until nothing of it is left, or only until that is recorded. More than once is no matter."""
        return read(JobStatus, self.program.call(asks.kill(self.id, reason, wait)))

    def show(self, *, block: bool = True) -> None:
        """A live table until the job has ended: in a notebook below the cell, else by `tony wait` on standard error.

        In a notebook, block=False returns at once and the table goes on beside the next cells. Ctrl-C, or the notebook's
        stop button, ends the table and not the job.
        """
        if notebook.is_here():
            notebook.show(self._shown, block)
            return
        try:
            # As a person would: what it draws is for the terminal. Its exit code says how the job ended.
            subprocess.run(
                [self.program.found(), "wait", self.id], env=self.program.environment(), stdout=sys.stderr.fileno(), check=False
            )
        except KeyboardInterrupt:
            job_answers.interrupted(self.id)
            raise

    def _shown(self) -> Iterator[JobStatus]:
        """The status on each change, and once a second for what its tasks use."""
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
        """In a notebook a job is the table of its tasks, as they are now."""
        try:
            return table.html(self.status())
        except TonyError as error:
            return table.html_of_error(self.id, error)

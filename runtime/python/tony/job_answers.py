"""Converts the answers of a job's calls, for threads and event loops. Pure, except for the logger `tony`."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable, Iterator
from typing import Any

from tony.answer import Document
from tony.documents import FollowedEntry, JobStatus, LogAnswer, LogEntry, Outputs, Stream, Time
from tony.errors import JobFailed, Unavailable
from tony.reading import read

log = logging.getLogger("tony")
WARNING = "tony: warning: "


@dataclasses.dataclass(frozen=True)
class LogLine:
    """A line of a task's output, without the line end. A read that starts at `cursor` returns all lines after this one.

    If several lines arrive together, only the last line has its own cursor. A read from another cursor repeats lines.
    """

    task: str
    attempt: int
    stream: Stream
    text: str
    process: int | None = None
    time: Time | None = None
    cursor: str | None = None

    def __str__(self) -> str:
        attempt = f"#{self.attempt}" if self.attempt > 1 else ""
        return f"{self.task}{attempt} {'!' if self.stream == 'stderr' else '|'} {self.text}"


def lines_of(entry: LogEntry | FollowedEntry, before: str | None, after: str | None) -> Iterator[LogLine]:
    texts = entry.text.split("\n")
    if not texts[-1]:
        texts.pop()  # empty text after the last line end
    for number, text in enumerate(texts, 1):
        cursor = after if number == len(texts) else before
        yield LogLine(entry.task, entry.attempt, entry.stream, text, entry.process, entry.time, cursor)


def lines_of_answer(page: LogAnswer, before: str | None) -> Iterator[LogLine]:
    for number, entry in enumerate(page.entries, 1):
        yield from lines_of(entry, before, page.cursor if number == len(page.entries) else before)


def check_read(document: Document) -> None:
    """Raises Unavailable if the answer lacks logs, because they could not be read."""
    if "error" in document:
        raise Unavailable(document["error"]["message"], document=document)


def ended(document: Document, check: bool) -> JobStatus:
    status = read(JobStatus, document)
    if check and not status.succeeded:
        raise failed(status)
    return status


def failed(status: JobStatus) -> JobFailed:
    verdict = status.verdict
    why = f": {verdict.outcome_class}: {verdict.message}" if verdict else ""
    return JobFailed(f"job {status.job} {status.state}{why}", status)


def outputs_of(document: Document) -> dict[str, Any]:
    found = read(Outputs, document)
    for problem in found.problems:
        log.warning("outputs of job %s: %s%s", found.job, f"{problem.name}: " if problem.name else "", problem.why)
    return dict(found.outputs)


def hear_warnings(said: bytes) -> None:
    for line in said.decode(errors="replace").splitlines():
        if line.startswith(WARNING):
            log.warning("%s", line.removeprefix(WARNING))


def hear_rest(out: bytes) -> None:
    """Logs the job of an interrupted submit, if there is one."""
    try:
        job = json.loads(out)["job"]
    except (ValueError, KeyError, TypeError):
        return
    log.warning("interrupted, but job %s was submitted and continues", job)


def interrupted(job: str) -> None:
    log.warning('interrupted; job %s continues; to end the job, call tony.job("%s").kill()', job, job)


def statuses(document: Document) -> list[JobStatus]:
    items: Iterable[Document] = document["jobs"]
    return [read(JobStatus, item) for item in items]

"""A job as an HTML table. All texts are escaped, because names and messages come from users."""

from __future__ import annotations

import datetime
import html as escape_of

from tony.documents import JobStatus, TaskStatus

MB = 1 << 20
MOST_ROWS = 200  # because a notebook stores each table in its file
COLOURS = {"SUCCEEDED": "#1a7f37", "FAILED": "#cf222e", "KILLED": "#9a6700"}
HEADINGS = ("task", "state", "host", "memory now", "memory peak", "cpu", "gpu", "how it ended")


def html(status: JobStatus, now: datetime.datetime | None = None) -> str:
    rows = "".join(_row(_cells(task)) for task in _first(status.tasks))
    left = len(status.tasks) - MOST_ROWS
    rest = f"<tr><td colspan='{len(HEADINGS)}'>and {left} more tasks</td></tr>" if left > 0 else ""
    heading = "".join(f"<th style='text-align:left'>{name}</th>" for name in HEADINGS)
    return f"<div>{_headline(status, now)}{_notes(status)}<table><tr>{heading}</tr>{rows}{rest}</table></div>"


def html_of_error(job: str, error: Exception) -> str:
    return f"<div>job <b>{_safe(job)}</b>: {_safe(error)}</div>"


def _safe(value: object) -> str:
    return escape_of.escape(str(value), quote=True)


def _headline(status: JobStatus, now: datetime.datetime | None) -> str:
    end = status.ended or now or datetime.datetime.now(datetime.timezone.utc)
    took = max(int((end - status.submitted).total_seconds()), 0)
    state = f"<b style='color:{COLOURS.get(status.state, 'inherit')}'>{status.state}</b>"
    name = f" {_safe(status.name)}" if status.name else ""
    restarts = f", {status.restart_count} restarts" if status.restart_count else ""
    page = _link(status.tracking_url, "page") if status.tracking_url else ""
    board = _link(status.tensorboard_url, "TensorBoard") if status.tensorboard_url else ""
    return f"<div>job <b>{_safe(status.job)}</b>{name}: {state}, {took} s{restarts}{page}{board}</div>"


def _link(url: str, text: str) -> str:
    # An address must not be a script ("javascript:").
    safe = url.startswith(("http://", "https://"))
    return f", <a href='{_safe(url)}' target='_blank' rel='noopener'>{text}</a>" if safe else ""


def _notes(status: JobStatus) -> str:
    verdict = status.verdict
    why = f"{verdict.outcome_class}: {verdict.message}" if verdict and verdict.state != "SUCCEEDED" else None
    notes = [note for note in (status.delay, status.trouble, why) if note]
    return "".join(f"<div>{_safe(note)}</div>" for note in notes)


def _first(tasks: tuple[TaskStatus, ...]) -> list[TaskStatus]:
    """Returns the tasks to show; if there are too many, failed and silent tasks come first."""
    if len(tasks) <= MOST_ROWS:
        return list(tasks)
    return sorted(tasks, key=lambda task: not (task.suspect or task.attempt_state in ("failed", "killed", "lost")))[:MOST_ROWS]


def _cells(task: TaskStatus) -> list[str]:
    attempt = f"#{task.attempt}" if task.attempt > 1 else ""
    state = f"waits for {task.waits_for}" if task.waits_for else task.attempt_state or task.state
    used, gpu = task.usage, task.usage.gpu if task.usage else None
    return [
        f"{task.task}{attempt}",
        f"{state}, silent" if task.suspect else state,
        task.host,
        f"{used.memory_bytes // MB} MB" if used else "",
        f"{used.most_memory_bytes // MB} MB" if used else "",
        f"{used.millicores / 1000:.1f} cores" if used else "",
        f"{gpu.percent} %, {gpu.memory_bytes // MB} MB" if gpu else "",
        _end(task),
    ]


def _end(task: TaskStatus) -> str:
    outcome = task.outcome
    if outcome is None or outcome.outcome_class == "success":
        return ""
    how = f"exit {outcome.exit_code}" if outcome.exit_code is not None else f"signal {outcome.signal}" if outcome.signal else ""
    return ", ".join(text for text in (outcome.outcome_class, how, outcome.message) if text)


def _row(cells: list[str]) -> str:
    return "<tr>" + "".join(f"<td style='text-align:left'>{_safe(cell)}</td>" for cell in cells) + "</tr>"

"""What is made of a job that has ended."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from tony_airflow.cli import Document
from tony_airflow.exceptions import TonyError, TonyJobFailed, TonyJobFailedNoRetry, TonyRefused
from tony_airflow.hooks.tony import TonyHook

MOST_OUTPUT = 48 << 10  # bytes of outputs in Airflow's database


def failed_attempt(verdict: Document) -> str:
    """`worker:0#2`, whose failure came first; empty if it was none's."""
    return f"{verdict['task']}#{verdict['attempt']}" if "task" in verdict else ""


def failure_of(status: Document, non_retryable: Collection[str] = ()) -> TonyJobFailed:
    """Its first line is what Airflow's pages show: job, state, class, first cause."""
    job_id, verdict = status["job"], status["verdict"]
    message = f"{job_id} {verdict['state']} {verdict['class']}: {verdict['message']}"
    message += f"\nmore: tony status {job_id}; tony logs {job_id} {failed_attempt(verdict)}".rstrip()
    again = verdict["retryable"] and verdict["class"] not in non_retryable
    return TonyJobFailed(message) if again else TonyJobFailedNoRetry(message)


def outputs_of(hook: TonyHook, job_id: str, log: Any, most_bytes: int) -> Any:
    """The chief's JSON object. One that cannot be had costs a warning and no more: the job has done its work."""
    try:
        outputs = hook.outputs(job_id)["outputs"]
    except TonyRefused as error:
        log.warning("no outputs: %s", error)
        return None
    size = len(json.dumps(outputs))
    if size <= most_bytes:
        return outputs
    log.warning("no outputs: %d bytes are more than max_output_bytes=%d; see tony outputs %s", size, most_bytes, job_id)
    return None


class TaskLog:
    """Writes what a job's tasks wrote into the log of the Airflow task: `worker:0#1 | stdout`, `worker:0#1 ! stderr`."""

    def __init__(self, hook: TonyHook, job_id: str, log: Any, cursor: str | None = None) -> None:
        self._hook = hook
        self._job_id = job_id
        self._log = log
        self.cursor = cursor  # where to go on

    def show_new(self) -> None:
        for _ in range(64):  # at most 4 MiB at a time
            logs = self._hook.read_logs(self._job_id, self.cursor)
            self.cursor = logs["cursor"]
            self._show(logs)
            if not logs["entries"]:
                return

    def show_tail(self, task: str, lines: int, otherwise: str = "") -> None:
        """`otherwise`: standard error's last lines, if the logs cannot be read."""
        try:
            self._show(self._hook.tail(self._job_id, task, lines))
        except TonyError as error:
            self._log.warning("no logs of %s: %s\n%s", task, error, otherwise)

    def _show(self, logs: Document) -> None:
        for entry in logs["entries"]:
            mark = "!" if entry["stream"] == "stderr" else "|"
            for line in entry["text"].splitlines():
                self._log.info("%s#%s %s %s", entry["task"], entry["attempt"], mark, line)

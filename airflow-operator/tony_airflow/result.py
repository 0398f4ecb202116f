# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Turns the end of a job into an exception, outputs and lines of the log."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from tony_airflow.cli import Document
from tony_airflow.exceptions import TonyError, TonyJobFailed, TonyJobFailedNoRetry, TonyRefused
from tony_airflow.hooks.tony import TonyHook

MOST_OUTPUT = 48 << 10  # bytes of outputs in Airflow's database
MOST_NAMED = 20  # outputs that a warning names


def failed_attempt(verdict: Document) -> str:
    """Returns the attempt that failed first, such as `worker:0#2`; empty if none did."""
    return f"{verdict['task']}#{verdict['attempt']}" if "task" in verdict else ""


def failure_of(status: Document, non_retryable: Collection[str] = ()) -> TonyJobFailed:
    """Returns the exception for a failed job. Its first line, for Airflow's pages, has job, state, class and cause."""
    job_id, verdict = status["job"], status["verdict"]
    message = f"{job_id} {verdict['state']} {verdict['class']}: {verdict['message']}"
    message += f"\nmore: tony status {job_id}; tony logs {job_id} {failed_attempt(verdict)}".rstrip()
    again = verdict["retryable"] and verdict["class"] not in non_retryable
    failure = TonyJobFailed(message) if again else TonyJobFailedNoRetry(message)
    failure.outcome = verdict["class"]
    return failure


def outputs_of(hook: TonyHook, job_id: str, log: Any, most_bytes: int) -> Any:
    """Returns the chief's JSON object. Unreadable outputs only cause a warning, because the job has done its work."""
    try:
        document = hook.outputs(job_id)
    except TonyRefused as error:
        log.warning("the outputs cannot be read: %s", error)
        return None
    for problem in document.get("problems", []):
        what = "is left out" if problem["left_out"] else "has texts in place of values that are not JSON numbers"
        name = json.dumps(problem["name"]) if "name" in problem else "an output"
        log.warning("outputs: %s %s: %s", name, what, problem["why"])
    return _fitting(document["outputs"], job_id, log, most_bytes)


def _fitting(outputs: Document, job_id: str, log: Any, most_bytes: int) -> Document:
    """Returns `outputs` without the largest members if all together exceed `most_bytes`."""
    sizes = {name: len(json.dumps({name: value})) for name, value in outputs.items()}
    # Each size includes two braces, which are as long as the separator ", " between two members.
    total = sum(sizes.values())
    left_out = []
    for name in sorted(sizes, key=lambda name: sizes[name], reverse=True):
        if total <= most_bytes:
            break
        total -= sizes[name]
        left_out.append(name)
    dropped = set(left_out)
    if left_out:
        names = ", ".join(json.dumps(name) for name in left_out[:MOST_NAMED])
        more = f" and {len(left_out) - MOST_NAMED} more" if len(left_out) > MOST_NAMED else ""
        text = "outputs: left out %s%s, because the outputs exceed max_output_bytes=%d; all outputs: tony outputs %s"
        log.warning(text, names, more, most_bytes, job_id)
    return {name: value for name, value in outputs.items() if name not in dropped}


class TaskLog:
    """Copies the output of a job's tasks to the Airflow task's log: `worker:0#1 | stdout`, `worker:0#1 ! stderr`."""

    def __init__(self, hook: TonyHook, job_id: str, log: Any, cursor: str | None = None) -> None:
        self._hook = hook
        self._job_id = job_id
        self._log = log
        self.cursor = cursor  # where the next read starts
        self._problem = ""

    def show_new(self) -> None:
        for _ in range(64):  # at most 4 MiB at a time
            logs = self._hook.read_logs(self._job_id, self.cursor)
            self.cursor = logs["cursor"]
            self._show(logs)
            if not logs["entries"]:
                return

    def show_tail(self, task: str, lines: int, otherwise: str = "") -> None:
        """Shows the last lines of `task`, or `otherwise` (the last lines of stderr) if the logs cannot be read."""
        try:
            self._show(self._hook.tail(self._job_id, task, lines))
        except TonyError as error:
            self._log.warning("cannot read the logs of %s: %s\n%s", task, error, otherwise)

    def _show(self, logs: Document) -> None:
        problem = logs.get("error", {}).get("message", "")
        if problem and problem != self._problem:
            self._log.warning(problem)
        self._problem = problem
        for entry in logs["entries"]:
            mark = "!" if entry["stream"] == "stderr" else "|"
            for line in entry["text"].splitlines():
                self._log.info("%s#%s %s %s", entry["task"], entry["attempt"], mark, line)


def show_last_words(logs: TaskLog, status: Document, lines: int) -> None:
    """Shows the last lines of the attempt that failed or, after success, of the chief or the first task."""
    verdict, tasks = status["verdict"], [task["task"] for task in status["tasks"]]
    shown = failed_attempt(verdict) if status["state"] != "SUCCEEDED" else _chief_of(tasks)
    if shown:
        logs.show_tail(shown, lines, verdict["stderr_tail"])


def _chief_of(tasks: list[str]) -> str:
    return next((task for task in ("chief:0", "worker:0") if task in tasks), tasks[0])

# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""The operator that runs a job with TonY, waits for its end and reports its result."""

from __future__ import annotations

import dataclasses
import math
import os
import secrets as tokens
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, cast

from tony_airflow._compat import (
    AIRFLOW_3,
    AirflowSkipException,
    AirflowTaskTimeout,
    hide_named,
    leave_the_row_alone,
)
from tony_airflow.cli import Document
from tony_airflow.document import document_of, named
from tony_airflow.exceptions import TonyError, TonyJobFailed, TonyNotFound, TonySuperseded
from tony_airflow.hooks.tony import Order, TonyHook
from tony_airflow.links.tony import LINKS
from tony_airflow.memory import Memory
from tony_airflow.order import order_of, place_of
from tony_airflow.parameters import KILL_DELAY, TonyParameters
from tony_airflow.result import TaskLog, failure_of, outputs_of, show_last_words
from tony_airflow.secret import values_of
from tony_airflow.stop import ends_the_job
from tony_airflow.submission import ONE_QUEUE, Submission
from tony_airflow.task_try import TaskTry
from tony_airflow.triggers.tony import TonyJobTrigger

TRIGGER_KILL_DELAY = 15  # seconds; why: see TonyJobTrigger
# Airflow 3 may mark a task as failed if it is resumed right after it was deferred, because the executor's report about
# the first process can arrive after the resumption (apache/airflow#72716). Therefore no task is resumed sooner.
SHORTEST_DEFERRAL = 10.0 if AIRFLOW_3 else 0.0


class TonyOperator(TonyParameters):
    """Runs a job with TonY. Its parameters are those of TonyParameters.

    The return value (XCom) is the JSON object that the chief wrote to $TONY_OUTPUT_FILE. Other XComs: `job_id`,
    `tracking_url`, `logs_url` from the start, `final_state` at the end.
    """

    ui_color = "#e0ecf8"
    operator_extra_links = LINKS
    # State of one try; Airflow creates a new operator for each try.
    _hook: TonyHook | None = None
    _order: Order | None = None
    _log_cursor: str | None = None
    urls: Mapping[str, str] = MappingProxyType({})

    @property
    def hook(self) -> TonyHook:
        if self._hook is None:
            self._hook = TonyHook(self.tony_conn_id, self.proxy_user)
        return self._hook

    # The methods below are in the order in which they are called.

    def execute(self, context: Any) -> Any:
        return self._guarded(context, self._run)

    def _guarded(self, context: Any, work: Callable[..., Any], *words: Any) -> Any:
        """Runs `work`, and handles interruptions from outside: Airflow's timeout, its request to stop, a newer try."""
        hide_named({name: getattr(self, name) for name in ("env", "conf", "spec", "properties")})
        try:
            return work(context, *words)
        except AirflowTaskTimeout:
            self._kill("execution_timeout has passed")
            raise
        except KeyboardInterrupt:
            # Only `airflow dags test` raises this exception; the processes of tasks never raise it.
            self._kill("interrupted")
            raise
        except TonySuperseded as error:
            self.log.warning("%s: the newer try decides how the task ends, and this try ends without a result", error)
            leave_the_row_alone(context["ti"])
            raise
        except BaseException:
            if self.hook.calls.stopped:
                self._stopped(context)
            raise

    def _run(self, context: Any) -> Any:
        began = time.monotonic()
        task_try = self._try(context, self._make_order(context))
        job_id = self._submit(context, task_try)
        if not self.wait_for_completion:
            words = (job_id, 0, 1, task_try.order.owner, tokens.token_hex(16))
            task_try.push_links(task_try.reach(self.hook.wait, *words))
            return job_id
        status = self._follow(task_try, job_id, began + self.defer_after if self.deferrable else math.inf)
        if status is None:
            self._defer(context, job_id, task_try.order)
        return self._finish(context, task_try, status)

    def _make_order(self, context: Any) -> Order:
        namespace = self.hook.extra.get("namespace")
        return order_of(context, self.retries or 0, namespace, self.request_id, self.wait_for_completion)

    def _try(self, context: Any, order: Order) -> TaskTry:
        self._order = order
        self.urls = urls = dict(self.urls)
        return TaskTry(self.hook, order, context["ti"], self.log, self.max_unreachable, urls)

    def document(self, context: Any) -> Document:
        """Returns the job document for `tony submit -`, without its secrets."""
        return document_of(self, self._directory(context), lambda text: self.render_template(text, context))

    def _directory(self, context: Any) -> str | None:
        folder = os.path.dirname(context["dag"].fileloc or "")
        if self.directory:
            return os.path.join(folder, self.directory)
        return folder if os.path.isdir(folder) else None  # a Dag may come from a zip file

    def _submit(self, context: Any, task_try: TaskTry) -> str:
        document = named(self.document(context), f"{context['ti'].dag_id}.{context['ti'].task_id}")
        if self.secrets:
            document["secrets"] = values_of(self.secrets)
        memory = self._memory(context)
        if self.durable and not memory.exists:
            self.log.warning(
                "durable has no effect before Airflow 3.3, which added the task state store; "
                "TonY finds the job by its request id"
            )
        submission = Submission(
            task_try,
            memory=memory,
            context=context,
            log=self.log,
            reattach="never" if self.durable is False else self.reattach,
        )
        return submission.submit(
            document,
            directory=self._directory(context),
            watch_timeout=self.watch_timeout,
            limit=self.submit_timeout,
            patience=self.submit_patience,
        )

    def _memory(self, context: Any) -> Memory:
        return Memory(context, self.log, wanted=self.durable is not False)

    def _follow(self, task_try: TaskTry, job_id: str, until: float) -> Document | None:
        logs = TaskLog(self.hook, job_id, self.log, self._log_cursor) if self.get_logs == "stream" else None
        status = task_try.follow(job_id, until, self.poll_interval, logs)
        self._log_cursor = logs.cursor if logs else None
        return status

    def _defer(self, context: Any, job_id: str, order: Order) -> NoReturn:
        self.log.info("a triggerer waits for job %s", job_id)
        delay = KILL_DELAY[self.on_kill_action]
        trigger = TonyJobTrigger(
            job_id=job_id,
            cli=dataclasses.asdict(self.hook.cli),
            request_id=order.request_id,
            owner=order.owner,
            deadline=self._deadline(context),
            not_before=time.time() + SHORTEST_DEFERRAL,
            kill_delay=None if delay is None else max(delay, TRIGGER_KILL_DELAY),
            max_unreachable=self.max_unreachable,
        )
        job = {"job_id": job_id, "request_id": order.request_id, "owner": order.owner}
        kwargs = {"job": job, **place_of(self.hook.cli), "log_cursor": self._log_cursor, "urls": self.urls}
        self.defer(trigger=trigger, method_name="execute_complete", kwargs=kwargs)
        raise TonyError("Airflow did not defer this task")  # defer() raises

    def _deadline(self, context: Any) -> float | None:
        """Returns seconds since the epoch, before Airflow's own deadline, which would end the task and not the job."""
        if self.execution_timeout is None:
            return None
        limit = self.execution_timeout.total_seconds()
        return float(context["ti"].start_date.timestamp() + limit - max(5.0, limit / 50))

    def execute_complete(
        self,
        context: Any,
        event: dict[str, Any],
        job: dict[str, str] | None = None,
        host: str | None = None,
        home: str | None = None,
        log_cursor: str | None = None,
        urls: dict[str, str] | None = None,
    ) -> Any:
        """Airflow resumes the task here, on any worker. The job's status is queried again.

        `airflow dags test` loses the arguments of defer(); then the event names the job.
        """
        self._log_cursor, self.urls = log_cursor, urls or {}
        return self._guarded(context, self._resume, event, job or event["job"], {"host": host, "home": home})

    def _resume(self, context: Any, event: dict[str, Any], job: dict[str, str], there: dict[str, str | None]) -> Any:
        job_id = job["job_id"]
        task_try = self._try(context, Order(job["request_id"], job["owner"]))
        try:
            if event["kind"] == "timeout":
                self._end_in_time(task_try, job_id, event["message"])
            elif event["kind"] == "unreachable":
                self.log.warning("the triggerer cannot reach the job, so this worker waits: %s", event["message"])
            status = self._follow(task_try, job_id, math.inf)
            # Without a time limit the status is never None.
            return self._finish(context, task_try, cast(Document, status))
        except TonyNotFound as error:
            here = place_of(self.hook.cli)
            if all(there[name] in (None, here[name]) for name in here):
                raise
            past = f"{there['host']} (home {there['home'] or 'unknown'})"
            raise TonyNotFound(
                f"{error}; the job was submitted on {past}, but this task runs on {here['host']} "
                f"(home {here['home']}); {ONE_QUEUE}"
            ) from None

    def _end_in_time(self, task_try: TaskTry, job_id: str, message: str) -> None:
        """Kills the job again if the trigger's kill failed. A job that ended by itself keeps its result."""
        if task_try.reach(self.hook.status, job_id)["state"] not in ("SUCCEEDED", "FAILED"):
            self._kill(message)
            raise TonyJobFailed(f"{job_id} KILLED timeout: {message}")

    def _finish(self, context: Any, task_try: TaskTry, status: Document) -> Any:
        job_id, verdict = status["job"], status["verdict"]
        task_try.push("final_state", status["state"])
        task_try.push_links(status)
        memory = self._memory(context)
        memory.keep({**memory.recall(), "job_id": job_id, "state": status["state"]})
        if self.get_logs == "tail":
            show_last_words(TaskLog(self.hook, job_id, self.log), status, self.log_tail_lines)
        if status["state"] != "SUCCEEDED":
            failure = failure_of(status, self.non_retryable)
            raise AirflowSkipException(str(failure)) if verdict.get("exit_code") in self.skip_on_exit_code else failure
        if "tolerated_failures" in status:
            self.log.warning("%s SUCCEEDED despite failures: %s", job_id, verdict["message"])
        outputs = task_try.reach(outputs_of, self.hook, job_id, self.log, self.max_output_bytes)
        try:
            self.hook.ack(job_id, task_try.order.owner)
        except TonyError as error:
            # The error is only logged, because without the acknowledgement a later try may adopt the result.
            task_try.go_on()
            self.log.warning("%s", error)
        return outputs

    def on_kill(self) -> None:
        """Airflow calls this before it ends this process. Then Airflow 2 raises; Airflow 3 lets execute() continue.

        A signal handler cannot query Airflow, so this only ends the running call of tony; see _stopped().
        """
        self.hook.calls.stop()

    def _stopped(self, context: Any) -> None:
        delay = KILL_DELAY[self.on_kill_action]
        if self._order is None or delay is None:
            return
        if delay or ends_the_job(context["ti"], self.log):
            self._kill("ended by Airflow", delay)

    def _kill(self, reason: str, delay: int = 0) -> None:
        if self._order is None:
            return
        try:
            self.hook.kill(self._order, reason, delay)
        except TonyError as error:
            self.log.error("cannot kill the job: %s", error)

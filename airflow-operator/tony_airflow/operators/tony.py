# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""The task that runs a job with TonY, waits for its end and says what became of it."""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

from tony_airflow._compat import AIRFLOW_3, AirflowSkipException, AirflowTaskTimeout, BaseOperator, conf, mask_secrets
from tony_airflow.cli import Document
from tony_airflow.document import MEMBERS, document_of
from tony_airflow.exceptions import TonyError, TonyJobFailed, TonyNotFound, TonyTransportError
from tony_airflow.hooks.tony import DEFAULT_CONNECTION, Order, TonyHook
from tony_airflow.links.tony import LINKS
from tony_airflow.result import MOST_OUTPUT, TaskLog, failed_attempt, failure_of, outputs_of
from tony_airflow.triggers.tony import TonyJobTrigger

REATTACH = {"running_or_succeeded": "adopt", "running": "attach", "never": "never"}  # to tony's --on-existing
# Seconds by which a kill that comes from a worker waits for another try to take the job over; None: no kill.
KILL_DELAY = {"cancel": 0, "cancel_unless_reattached": 120, "detach": None}
TRIGGER_KILL_DELAY = 15  # a triggerer's kills are never certain; see TonyJobTrigger
LOGS = ("tail", "stream", "none")
# Airflow 3 may take a task that is resumed right after it was deferred for a failed one: the executor's word of the
# first process's end can come after that (apache/airflow#72716). So nothing resumes it sooner.
SHORTEST_DEFERRAL = 10.0 if AIRFLOW_3 else 0.0
STREAM_PAUSE = 5.0  # seconds between looks at the logs
PAUSE = 0.2  # seconds between two looks at a job whose state changes all the time
MAX_UNREACHABLE = 600.0  # seconds that a job is waited for while tony cannot be reached
SUBMIT_PATIENCE = 60.0  # the same before there is a job, when a program or connection may be wrong
LONGEST_PAUSE = 10.0  # seconds between two such attempts


class TonyOperator(BaseOperator):
    """Runs a job with TonY.

    What the job is: `spec` (a mapping, or JSON or YAML as text or in a file `*.json`, `*.yaml`), over it `properties`
    (a mapping, or the text or file of an Azkaban step, of job.properties or of a tony.xml), over both the parameters of
    the same names as TonY's options and members. `tony` puts them together; its README has their meaning. Files and
    relative paths are looked for in `directory`, which is the folder of the Dag's file. Files are rendered, too.

    :param tasks: role -> {"instances", "memory", "vcores", "gpus", "command", "max_restarts", ...}
    :param executes: the command of every role without its own
    :param env: variables of the tasks' processes
    :param conf: `tony.*` properties; they win over all else
    :param files: files and folders for every task, `SRC[::NAME][#archive]` (`resources` and `queue` are Airflow's own)
    :param tony_conn_id: connection of type `tony`; need not exist as long as it is the default
    :param wait_for_completion: False: return the job's id as soon as it is recorded (see TonyJobSensor)
    :param deferrable: wait in a triggerer, after `defer_after` seconds in the worker: short jobs never defer
    :param poll_interval: longest time between looks at the job, in seconds; changes are seen at once
    :param reattach: which job of an earlier try is gone on with: `running_or_succeeded`, `running`, `never`. A cleared
        task runs anew in any case.
    :param request_id: what this task's job is known by; airflow://[NAMESPACE/]DAG/RUN/TASK/MAP_INDEX if not given
    :param on_kill_action: what becomes of the job if Airflow ends this task: `cancel`; `cancel_unless_reattached`: within
        two minutes by another try; `detach`: it goes on. A timeout always ends it.
    :param watch_timeout: seconds after which a job ends at which nobody of Airflow has looked; 0: it goes on
    :param submit_timeout: seconds for the submission, in which files are staged
    :param get_logs: `tail`: at the end the last lines of the task that failed, or of the chief; `stream`: all, but while
        a triggerer waits nothing, and the rest at the end; `none`
    :param skip_on_exit_code: exit codes of the failed task that skip this task instead of failing it
    :param non_retryable: outcome classes after which Airflow shall make no other try, beside those that TonY knows
    :param max_output_bytes: of the outputs as JSON; larger ones are left where they are, and named

    The return value (XCom) is the JSON object that the chief wrote to $TONY_OUTPUT_FILE. Other XComs: `job_id`,
    `tracking_url`, `logs_url` from the start, `final_state` at the end.
    """

    template_fields: Sequence[str] = ("spec", "properties", *MEMBERS, "files", "directory", "request_id")
    template_fields_renderers = {name: "json" for name in ("spec", "tasks", "env", "conf")}
    ui_color = "#e0ecf8"
    operator_extra_links = LINKS

    def __init__(
        self,
        *,
        spec: Mapping[str, Any] | str | None = None,
        properties: Mapping[str, Any] | str | None = None,
        name: str | None = None,
        framework: str | None = None,
        tags: Sequence[str] | None = None,
        tasks: Mapping[str, Mapping[str, Any]] | None = None,
        executes: str | None = None,
        task_params: str | None = None,
        src_dir: str | None = None,
        python_venv: str | None = None,
        python_binary_path: str | None = None,
        env: Mapping[str, str] | None = None,
        conf: Mapping[str, Any] | None = None,
        files: Sequence[str] | None = None,
        directory: str | None = None,
        tony_conn_id: str = DEFAULT_CONNECTION,
        wait_for_completion: bool = True,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        defer_after: float = 15.0,
        poll_interval: float = 30.0,
        reattach: str = "running_or_succeeded",
        request_id: str | None = None,
        on_kill_action: str = "cancel",
        watch_timeout: int = 1800,
        submit_timeout: float = 300.0,
        get_logs: str = "tail",
        log_tail_lines: int = 50,
        skip_on_exit_code: int | Collection[int] | None = None,
        non_retryable: Collection[str] = (),
        max_output_bytes: int = MOST_OUTPUT,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.properties = properties
        self.name = name
        self.framework = framework
        self.tags = tags
        self.tasks = tasks
        self.executes = executes
        self.task_params = task_params
        self.src_dir = src_dir
        self.python_venv = python_venv
        self.python_binary_path = python_binary_path
        self.env = env
        self.conf = conf
        self.files = files
        self.directory = directory
        self.tony_conn_id = tony_conn_id
        self.wait_for_completion = wait_for_completion
        self.deferrable = deferrable
        self.defer_after = defer_after
        self.poll_interval = above_zero("poll_interval", poll_interval)
        self.reattach = one_of("reattach", reattach, REATTACH)
        self.request_id = request_id
        self.on_kill_action = one_of("on_kill_action", on_kill_action, KILL_DELAY)
        self.watch_timeout = watch_timeout
        self.submit_timeout = above_zero("submit_timeout", submit_timeout)
        self.get_logs = one_of("get_logs", get_logs, LOGS)
        self.log_tail_lines = log_tail_lines
        self.skip_on_exit_code = {skip_on_exit_code} if isinstance(skip_on_exit_code, int) else skip_on_exit_code or ()
        self.non_retryable = non_retryable
        self.max_output_bytes = max_output_bytes
        self._hook: TonyHook | None = None
        self._order: Order | None = None
        self._killed = False
        self._log_cursor: str | None = None

    @property
    def _owner(self) -> str:
        assert self._order is not None
        return self._order.owner

    @property
    def hook(self) -> TonyHook:
        if self._hook is None:
            self._hook = TonyHook(self.tony_conn_id)
        return self._hook

    # From here on down: the order in which things happen.

    def execute(self, context: Any) -> Any:
        self._hide_secrets()
        try:
            return self._run(context)
        except AirflowTaskTimeout:
            self._kill("execution_timeout has passed")
            raise

    def _run(self, context: Any) -> Any:
        began = time.monotonic()
        job_id = self._submit(context)
        if not self.wait_for_completion:
            self._push_links(context, self._reach(self.hook.wait, job_id, 0, 1, self._owner, secrets.token_hex(16)))
            return job_id
        status = self._follow(context, job_id, began + self.defer_after if self.deferrable else math.inf)
        if status is None:
            self._defer(context, job_id)
        return self._finish(context, status)

    def _hide_secrets(self) -> None:
        parts = {"env": self.env, "conf": self.conf, "spec": self.spec, "properties": self.properties}
        mask_secrets({name: dict(part) for name, part in parts.items() if isinstance(part, Mapping)})

    def document(self, context: Any) -> Document:
        """The job as `tony submit -` reads it."""
        return document_of(self, self._directory(context), lambda text: self.render_template(text, context))

    def _directory(self, context: Any) -> str | None:
        folder = os.path.dirname(context["dag"].fileloc or "")
        if self.directory:
            return os.path.join(folder, self.directory)
        return folder if os.path.isdir(folder) else None  # a Dag may come from a zip file

    def _make_order(self, context: Any) -> Order:
        ti = context["ti"]
        step = [ti.dag_id, ti.run_id, ti.task_id, str(-1 if ti.map_index is None else ti.map_index)]
        namespace = self.hook.extra.get("namespace")
        request_id = self.request_id or "airflow://" + "/".join([namespace, *step] if namespace else step)
        # Airflow adds the retries to max_tries each time that a task is cleared.
        return Order(request_id, owner=secrets.token_hex(16), submission=max(0, ti.max_tries - self.retries))

    def _submit(self, context: Any) -> str:
        document = named(self.document(context), f"{context['ti'].dag_id}.{context['ti'].task_id}")
        self._order = order = self._make_order(context)
        self._stop_if_killed()
        submitted = self._reach(
            self.hook.submit,
            document,
            order,
            directory=self._directory(context),
            on_existing=REATTACH[self.reattach],
            watch_timeout=self.watch_timeout,
            limit=self.submit_timeout,
            patience=SUBMIT_PATIENCE,
        )
        job_id = str(submitted["job"])
        context["ti"].xcom_push(key="job_id", value=job_id)
        for warning in submitted.get("warnings", ()):
            self.log.warning("%s", warning)
        if submitted.get("spec_differs"):
            self.log.warning("the job was submitted with another spec, and keeps it")
        self.log.info("job %s %s for %s", job_id, submitted.get("decision", "created"), order.request_id)
        self._stop_if_killed()
        return job_id

    def _follow(self, context: Any, job_id: str, until: float) -> Document | None:
        """The job's last status; nothing if that has not come by `until` (time.monotonic()). Looks at least once."""
        watcher, told, seq, linked = secrets.token_hex(16), "", 0, False
        logs = TaskLog(self.hook, job_id, self.log, self._log_cursor)
        longest = min(self.poll_interval, STREAM_PAUSE) if self.get_logs == "stream" else self.poll_interval
        while True:
            left = until - time.monotonic()
            seconds = max(1, math.ceil(min(longest, left)))
            status: Document = self._reach(self.hook.wait, job_id, seq, seconds, self._owner, watcher)
            self._stop_if_killed()
            if "verdict" not in status and status.get("owner", self._owner) != self._owner:
                raise TonyError(f"job {job_id} belongs to a newer try of this task")
            linked = linked or ("verdict" not in status and self._push_links(context, status))
            told = self._tell(status, told)
            if self.get_logs == "stream":
                logs.show_new()
                self._log_cursor = logs.cursor
            if "verdict" in status:
                return status
            if time.monotonic() >= until:
                return None
            seq = status["seq"]
            time.sleep(PAUSE)

    def _reach(self, call: Callable[..., Any], *words: Any, patience: float = MAX_UNREACHABLE, **more: Any) -> Any:
        """Calls again as long as tony cannot be reached: whatever is asked of it may be asked twice."""
        began = time.monotonic()
        while True:
            try:
                return call(*words, **more)
            except TonyTransportError as error:
                self._stop_if_killed()
                silent = time.monotonic() - began
                if silent > patience:
                    raise
                self.log.warning("%s; trying again", error)
                time.sleep(min(max(PAUSE, silent), LONGEST_PAUSE))

    def _push_links(self, context: Any, status: Document) -> bool:
        """Early, because Airflow's pages show them while the job runs. False: the job has no page yet."""
        page, history = status.get("tracking_url"), self.hook.extra.get("history_url")
        if "verdict" in status and history:
            page = f"{history.rstrip('/')}/{status['job']}/"
        if not page:
            return False
        urls = {"tracking_url": page, "logs_url": f"{page.rstrip('/')}/logs/"}
        for key, url in urls.items():
            context["ti"].xcom_push(key=key, value=url)
        if AIRFLOW_3:
            for link in LINKS:
                context["ti"].xcom_push(key=link.xcom_key, value=urls[link.key])
        self.log.info("page of the job: %s", page)
        return True

    def _tell(self, status: Document, told: str) -> str:
        """One line for each state and each restart. Returns what has been told."""
        restarts = status["restarts"]
        last = f"; restart {restarts[-1]['number']}: {restarts[-1]['reason']}" if restarts else ""
        line: str = status["state"] + "".join(f"; {status[key]}" for key in ("delay", "trouble") if status.get(key)) + last
        if line != told:
            self.log.info("job %s %s", status["job"], line)
        return line

    def _defer(self, context: Any, job_id: str) -> NoReturn:
        assert self._order is not None
        self.log.info("job %s is waited for by a triggerer", job_id)
        delay = KILL_DELAY[self.on_kill_action]
        trigger = TonyJobTrigger(
            job_id=job_id,
            cli=dataclasses.asdict(self.hook.cli),
            request_id=self._order.request_id,
            owner=self._order.owner,
            deadline=self._deadline(context),
            not_before=time.time() + SHORTEST_DEFERRAL,
            kill_delay=None if delay is None else max(delay, TRIGGER_KILL_DELAY),
        )
        job = {"job_id": job_id, "request_id": self._order.request_id, "owner": self._order.owner}
        kwargs = {"job": job, "host": socket.gethostname(), "log_cursor": self._log_cursor}
        self.defer(trigger=trigger, method_name="execute_complete", kwargs=kwargs)
        raise AssertionError("defer() has returned")

    def _deadline(self, context: Any) -> float | None:
        """Seconds since the epoch; before Airflow's own, which ends the task and tells nobody."""
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
        log_cursor: str | None = None,
    ) -> Any:
        """Airflow resumes the task here, on any worker. What has become of the job is asked anew.

        `airflow dags test` loses what was given to defer(): then the event says which job it is.
        """
        self._hide_secrets()
        job = job or event["job"]
        job_id = job["job_id"]
        self._order, self._log_cursor = Order(job["request_id"], job["owner"]), log_cursor
        try:
            if event["kind"] == "timeout":
                self._end_in_time(job_id, event["message"])
            elif event["kind"] == "unreachable":
                self.log.warning("the triggerer cannot look at the job, so this worker does: %s", event["message"])
            return self._finish(context, self._follow(context, job_id, math.inf))
        except TonyNotFound as error:
            here = socket.gethostname()
            if host in (None, here):
                raise
            raise TonyNotFound(f"{error}; it belongs to the local scheduler of {host}, and this is {here}") from None

    def _end_in_time(self, job_id: str, message: str) -> None:
        """The trigger has told the job to end; once more, if it could not. A job that ended by itself goes before."""
        if self._reach(self.hook.status, job_id)["state"] not in ("SUCCEEDED", "FAILED"):
            self._kill(message)
            raise TonyJobFailed(f"{job_id} KILLED timeout: {message}")

    def _finish(self, context: Any, status: Document | None) -> Any:
        assert status is not None
        job_id, verdict = status["job"], status["verdict"]
        context["ti"].xcom_push(key="final_state", value=status["state"])
        self._push_links(context, status)
        self._show_tail(status)
        if status["state"] != "SUCCEEDED":
            failure = failure_of(status, self.non_retryable)
            raise AirflowSkipException(str(failure)) if verdict.get("exit_code") in self.skip_on_exit_code else failure
        outputs = self._reach(outputs_of, self.hook, job_id, self.log, self.max_output_bytes)
        try:
            self.hook.ack(job_id, self._owner)
        except TonyError as error:  # it is for people who look at the job
            self.log.warning("%s", error)
        return outputs

    def _show_tail(self, status: Document) -> None:
        """Of the attempt that failed; of a job that succeeded, the first task's, as a rule the chief's."""
        verdict, tasks = status["verdict"], [task["task"] for task in status["tasks"]]
        shown = failed_attempt(verdict) if status["state"] != "SUCCEEDED" else chief_of(tasks)
        if shown and self.get_logs == "tail":
            TaskLog(self.hook, status["job"], self.log).show_tail(shown, self.log_tail_lines, verdict["stderr_tail"])

    def on_kill(self) -> None:
        """Airflow is about to end this process. Airflow 2 raises after it, Airflow 3 lets execute() go on."""
        self._killed = True
        delay = KILL_DELAY[self.on_kill_action]
        if delay is not None:
            self._kill("ended by Airflow", delay)

    def _kill(self, reason: str, delay: int = 0) -> None:
        if self._order is None:
            return
        try:
            self.hook.kill(self._order, reason, delay)
        except TonyError as error:
            self.log.error("the job could not be told to end: %s", error)

    def _stop_if_killed(self) -> None:
        if self._killed:
            raise TonyError("ended by Airflow")


def named(document: Document, name: str) -> Document:
    """A job that nobody has named is called as its task: for people, and so of the lowest rank."""
    spec = document.get("spec") or {}
    return {**document, "spec": {"name": name, **spec}} if isinstance(spec, Mapping) else document


def chief_of(tasks: list[str]) -> str:
    return next((task for task in ("chief:0", "worker:0") if task in tasks), tasks[0])


def one_of(name: str, value: str, known: Collection[str]) -> str:
    if value not in known:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(known)}")
    return value


def above_zero(name: str, value: float) -> float:
    if not isinstance(value, (int, float)) or not value > 0:
        raise ValueError(f"{name}={value!r}: expected seconds above 0")
    return value

# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""What the author of a Dag may say to TonyOperator."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tony_airflow._compat import BaseOperator, conf
from tony_airflow.document import MEMBERS
from tony_airflow.hooks.tony import DEFAULT_CONNECTION
from tony_airflow.order import REATTACH
from tony_airflow.result import MOST_OUTPUT
from tony_airflow.secret import Secret

# Seconds by which a kill that comes from a worker waits for another try to take the job over; None: no kill.
KILL_DELAY = {"cancel": 0, "cancel_unless_reattached": 120, "detach": None}
LOGS = ("tail", "stream", "none")
FileName = str | os.PathLike[str] | None


def default_watch_timeout(wait_for_completion: bool) -> int:
    """Seconds. An engine that is away for an hour, and then makes another try, finds its job; see README.md."""
    return 7200 if wait_for_completion else 0


class TonyParameters(BaseOperator):
    """The parameters of TonyOperator.

    What the job is: `spec` (a mapping, or JSON or YAML as text or in a file `*.json`, `*.yaml`), over it `properties`
    (a mapping, or the text or file of an Azkaban step, of job.properties or of a tony.xml), over both the parameters of
    the same names as TonY's options and members. `tony` puts them together; its README has their meaning. Files and
    relative paths are looked for in `directory`, which is the folder of the Dag's file. Files are rendered, too.

    :param tasks: role -> {"instances", "memory", "vcores", "gpus", "command", "max_restarts", ...}
    :param executes: the command of every role without its own
    :param env: variables of the tasks' processes
    :param secrets: variables of the tasks' processes whose values come from Airflow's connections and variables:
        {"DB_PASSWORD": FromConnection("warehouse")}; see tony_airflow.secret
    :param conf: `tony.*` properties; they win over all else
    :param files: files and folders for every task, `SRC[::NAME][#archive]` (`resources` and `queue` are Airflow's own)
    :param tony_conn_id: connection of type `tony`; need not exist as long as it is the default
    :param wait_for_completion: False: return the job's id as soon as it is recorded (see TonyJobSensor)
    :param deferrable: wait in a triggerer, after `defer_after` seconds in the worker: short jobs never defer
    :param poll_interval: longest time between looks at the job, in seconds; changes are seen at once
    :param reattach: which job of an earlier try is gone on with: `running_or_succeeded`, `running`, `never`. A cleared
        task runs anew in any case.
    :param durable: Airflow 3.3's name for it: False is reattach="never", and keeps nothing in the task state store
    :param request_id: what this task's job is known by; airflow://[NAMESPACE/]DAG/RUN/TASK/MAP_INDEX if not given
    :param on_kill_action: what becomes of the job if Airflow ends this task's process. `cancel`: it ends at once if a
        person has asked for it, or no try is left; else it goes on for the next try. `cancel_unless_reattached`: it
        ends after two minutes, unless another try has it by then. `detach`: it goes on. A timeout always ends it.
    :param watch_timeout: seconds after which a job ends at which nobody of Airflow has looked; 0: it goes on. If not
        given two hours, and 0 without wait_for_completion
    :param submit_timeout: seconds for the submission, in which files are staged
    :param submit_patience: seconds for which a tony that cannot be reached is asked again before there is a job
    :param max_unreachable: the same while the job is waited for
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

    def __init__(
        self,
        *,
        spec: Mapping[str, Any] | FileName = None,
        properties: Mapping[str, Any] | FileName = None,
        name: str | None = None,
        framework: str | None = None,
        tags: Sequence[str] | None = None,
        tasks: Mapping[str, Mapping[str, Any]] | None = None,
        executes: str | None = None,
        task_params: str | None = None,
        src_dir: FileName = None,
        python_venv: FileName = None,
        python_binary_path: FileName = None,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret] | None = None,
        conf: Mapping[str, Any] | None = None,
        files: Sequence[str | os.PathLike[str]] | None = None,
        directory: FileName = None,
        tony_conn_id: str = DEFAULT_CONNECTION,
        wait_for_completion: bool = True,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        defer_after: float = 15.0,
        poll_interval: float = 30.0,
        reattach: str = "running_or_succeeded",
        durable: bool | None = None,
        request_id: str | None = None,
        on_kill_action: str = "cancel",
        watch_timeout: int | None = None,
        submit_timeout: float = 300.0,
        submit_patience: float = 60.0,
        max_unreachable: float = 600.0,
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
        self.secrets = secrets
        self.conf = conf
        self.files = files
        self.directory = directory
        self.tony_conn_id = tony_conn_id
        self.wait_for_completion = wait_for_completion
        self.deferrable = deferrable
        self.defer_after = defer_after
        self.poll_interval = above_zero("poll_interval", poll_interval)
        self.reattach = one_of("reattach", reattach, REATTACH)
        self.durable = durable
        self.request_id = request_id
        self.on_kill_action = one_of("on_kill_action", on_kill_action, KILL_DELAY)
        self.watch_timeout = default_watch_timeout(wait_for_completion) if watch_timeout is None else watch_timeout
        self.submit_timeout = above_zero("submit_timeout", submit_timeout)
        self.submit_patience = submit_patience
        self.max_unreachable = max_unreachable
        self.get_logs = one_of("get_logs", get_logs, LOGS)
        self.log_tail_lines = log_tail_lines
        self.skip_on_exit_code = {skip_on_exit_code} if isinstance(skip_on_exit_code, int) else skip_on_exit_code or ()
        self.non_retryable = non_retryable
        self.max_output_bytes = max_output_bytes


def one_of(name: str, value: str, known: Collection[str]) -> str:
    if value not in known:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(known)}")
    return value


def above_zero(name: str, value: float) -> float:
    if not isinstance(value, (int, float)) or not value > 0:
        raise ValueError(f"{name}={value!r}: expected seconds above 0")
    return value

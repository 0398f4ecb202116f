# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""The parameters that the author of a Dag can set for TonyOperator."""

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

# Seconds that a kill by a worker waits for another try to adopt the job; None: no kill.
KILL_DELAY = {"cancel": 0, "cancel_unless_reattached": 120, "detach": None}
LOGS = ("tail", "stream", "none")
FileName = str | os.PathLike[str] | None


def default_watch_timeout(wait_for_completion: bool) -> int:
    """Returns seconds, enough for an Airflow that was down for an hour and then retries the task; see README.md."""
    return 7200 if wait_for_completion else 0


class TonyParameters(BaseOperator):
    """The parameters of TonyOperator.

    Three parts describe the job. `spec` is the base: a mapping, or JSON or YAML as text or in a file `*.json` or
    `*.yaml`. `properties` override it: a mapping, or the text or file of an Azkaban step, a job.properties or a
    tony.xml. The parameters with the names of TonY's options and members override both. `tony` combines the parts; its
    README explains them. Relative paths start in `directory`, by default the folder of the Dag's file. Files are
    rendered, too.

    :param tasks: role -> {"instances", "memory", "vcores", "gpus", "command", "max_restarts", ...}
    :param executes: the command of each role that has no command of its own
    :param container: image of the containers in which the tasks run
    :param mounts: further folders for tasks in containers, `SOURCE:TARGET[:ro|rw]`
    :param env: variables of the tasks' processes
    :param secrets: variables of the tasks' processes whose values come from Airflow's connections and variables:
        {"DB_PASSWORD": FromConnection("warehouse")}; see tony_airflow.secret
    :param conf: `tony.*` properties; they override all other settings
    :param files: files and folders for every task, `SRC[::NAME][#archive]`; Airflow itself uses the name `resources`
    :param tony_conn_id: connection of type `tony`; the default one need not exist
    :param proxy_user: user of a Hadoop cluster for whom this task submits, watches, reads and ends its job; the cluster
        must allow it (`hadoop.proxyuser.*`). Default: the connection's extra field `proxy_user`
    :param wait_for_completion: False: return the job's id as soon as the job is recorded (see TonyJobSensor)
    :param deferrable: wait in a triggerer after `defer_after` seconds in the worker, so that short jobs never defer
    :param poll_interval: longest time between two queries of the job, in seconds; changes arrive at once
    :param reattach: continue with the job of an earlier try if that job is `running_or_succeeded` or `running`, or
        `never`. A cleared task always gets a new job.
    :param durable: Airflow 3.3's name for `reattach`: False is reattach="never", without a record in the
        task state store
    :param request_id: name by which `tony` finds this task's job; default: airflow://[NAMESPACE/]DAG/RUN/TASK/MAP_INDEX
    :param on_kill_action: what happens to the job when Airflow ends this task's process. `cancel`: the job ends at once
        if a person requested the end or no try is left; otherwise it continues for the next try.
        `cancel_unless_reattached`: the job ends after two minutes, unless another try has adopted it. `detach`: the job
        continues. A timeout always ends the job.
    :param watch_timeout: seconds without client activity after which the job ends; 0: no limit. Default: two hours,
        and 0 without wait_for_completion
    :param submit_timeout: seconds for the submission, which includes the staging of files
    :param submit_patience: seconds for which an unreachable `tony` is retried before there is a job
    :param max_unreachable: seconds for which an unreachable `tony` is retried while the task waits for the job
    :param get_logs: `tail`: at the end the last lines of the task that failed, or of the chief; `stream`: all lines,
        except that a waiting triggerer shows none until the end; `none`
    :param skip_on_exit_code: exit codes of the failed task for which Airflow skips this task instead of failing it
    :param non_retryable: further outcome classes after which Airflow does not retry the task
    :param max_output_bytes: limit for the outputs as JSON. Outputs beyond it stay in TonY, and the log names them

    The return value (XCom) is the JSON object that the chief wrote to $TONY_OUTPUT_FILE. Other XComs: `job_id`,
    `tracking_url`, `logs_url` from the start, `final_state` at the end.
    """

    template_fields: Sequence[str] = ("spec", "properties", *MEMBERS, "files", "directory", "proxy_user", "request_id")
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
        container: str | None = None,
        mounts: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret] | None = None,
        conf: Mapping[str, Any] | None = None,
        files: Sequence[str | os.PathLike[str]] | None = None,
        directory: FileName = None,
        tony_conn_id: str = DEFAULT_CONNECTION,
        proxy_user: str | None = None,
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
        self.container = container
        self.mounts = mounts
        self.env = env
        self.secrets = secrets
        self.conf = conf
        self.files = files
        self.directory = directory
        self.tony_conn_id = tony_conn_id
        self.proxy_user = proxy_user
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
        raise ValueError(f"{name}={value!r}: expected a number of seconds above 0")
    return value

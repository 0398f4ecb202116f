# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""The verbs of `tony`, for an Airflow connection of type `tony`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tony_airflow._compat import AirflowNotFoundException, BaseHook
from tony_airflow import program
from tony_airflow.cli import Calls, Document, TonyCli
from tony_airflow.exceptions import TonyError

DEFAULT_CONNECTION = "tony_default"
# In seconds, because Airflow 3 kills a task's process about 5 s after the signal to stop.
KILL_LIMIT = 4.0


@dataclasses.dataclass(frozen=True)
class Order:
    """Who requests a job: `tony submit --request-id K --owner O --submission N [--first-try] --run R`."""

    request_id: str  # names the task of the Dag run, for all tries
    owner: str  # a random token of this try
    submission: int = 0  # grows when a user clears the task
    first_try: bool = False  # of this request id and submission
    run: str = ""  # the Dag run; a try does not adopt a result of another run


class TonyHook(BaseHook):
    """Runs the `tony` of the connection. Without a connection it runs the `tony` of the package tony-runtime.

    `proxy_user` overrides the connection's extra field of this name.
    All methods raise TonyTransportError (another try may help), TonyRefused, TonyNotFound, TonyError.
    """

    conn_name_attr = "tony_conn_id"
    default_conn_name = DEFAULT_CONNECTION
    conn_type = "tony"
    hook_name = "TonY"

    def __init__(self, tony_conn_id: str = DEFAULT_CONNECTION, proxy_user: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tony_conn_id = tony_conn_id
        self.proxy_user = proxy_user
        self.calls = Calls()  # all except kill()
        self._extra: dict[str, Any] | None = None

    @staticmethod
    def get_ui_field_behaviour() -> dict[str, Any]:
        return {
            "hidden_fields": ["host", "port", "schema", "login", "password"],
            "relabeling": {},
            "placeholders": {"extra": '{"cli": "/opt/tony/bin/tony", "home": "/var/lib/airflow/tony"}'},
        }

    @property
    def extra(self) -> dict[str, Any]:
        """The connection's extra fields; empty if the default connection does not exist."""
        if self._extra is None:
            try:
                self._extra = self.get_connection(self.tony_conn_id).extra_dejson
            except AirflowNotFoundException:
                if self.tony_conn_id != DEFAULT_CONNECTION:
                    raise
                self._extra = {}
        return self._extra

    @property
    def cli(self) -> TonyCli:
        name = program.allowed(self.extra.get("cli"))
        home, conf_dir, proxy_user = (self.extra.get(key) or None for key in ("home", "conf_dir", "proxy_user"))
        return TonyCli(name, home, conf_dir, self.proxy_user or proxy_user)

    def _call(self, *words: str, **options: Any) -> Document:
        return self.cli.call(*words, calls=self.calls, **options)

    def test_connection(self) -> tuple[bool, str]:
        try:
            return True, f"tony {self.version()['version']}"
        except TonyError as error:
            return False, str(error)

    def version(self) -> Document:
        return self._call("version")

    def plan(self, document: Document, directory: str | None = None) -> Document:
        """Returns the job that a submit would run; starts nothing. Relative paths start in `directory`."""
        return self._call("plan", "-", document=document, directory=directory)

    def submit(
        self,
        document: Document,
        order: Order,
        *,
        directory: str | None = None,
        on_existing: str = "adopt",
        watch_timeout: int = 0,
        limit: float = 300,
    ) -> Document:
        """Finds or creates the job of the request, and returns as soon as it is recorded."""
        words = ["submit", "-", "--detach", "--request-id", order.request_id, "--owner", order.owner]
        words += ["--submission", str(order.submission), "--on-existing", on_existing]
        words += ["--first-try"] if order.first_try else []
        words += ["--run", order.run] if order.run else []
        if watch_timeout:
            words += ["--watch-timeout", str(watch_timeout)]
        return self._call(*words, document=document, directory=directory, limit=limit)

    def status(self, job_id: str) -> Document:
        return self._call("status", job_id)

    def wait(
        self,
        job_id: str,
        since: int,
        seconds: int,
        owner: str,
        watcher: str,
        on_note: Callable[[str], Any] = lambda _: None,
    ) -> Document:
        """Returns the status after a change since `since`, or after `seconds`. Restarts the AM if the job has no AM."""
        words = ["wait", job_id, "--since", str(since), "--timeout", str(seconds), "--owner", owner]
        return self._call(*words, "--watcher", watcher, limit=seconds + 60, on_note=on_note)

    def find(self, request_id: str) -> Document:
        return self._call("find", "--request-id", request_id)

    def outputs(self, job_id: str) -> Document:
        return self._call("outputs", job_id)

    def tail(self, job_id: str, task: str, lines: int) -> Document:
        """Returns the last lines of each stream of one task or attempt (`worker:0#2`)."""
        return self._call("logs", job_id, task, "--tail", str(lines), "--max-bytes", "65536")

    def read_logs(self, job_id: str, cursor: str | None) -> Document:
        """Returns the output of all tasks after the cursor, at most 64 KiB."""
        return self._call("logs", job_id, *(["--cursor", cursor] if cursor else []), "--max-bytes", "65536")

    def ack(self, job_id: str, owner: str) -> Document:
        return self._call("ack", job_id, "--owner", owner)

    def kill(self, order: Order, reason: str, delay: int = 0) -> Document:
        """Ends the job of the request, also if it is still being submitted, unless another try owns it now.

        The call is quick and has a session of its own, because this process is often about to be killed itself.
        """
        return self.cli.call(*kill_words(order, reason, delay), limit=KILL_LIMIT, own_session=True)


def kill_words(order: Order, reason: str, delay: int = 0, watcher: str | None = None) -> list[str]:
    words = ["kill", "--request-id", order.request_id, "--if-owner", order.owner, "--no-wait", "--reason", reason]
    if watcher:
        words += ["--if-watcher", watcher]
    if delay:
        words += ["--delay", str(delay)]
    return words

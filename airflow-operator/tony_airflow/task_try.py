# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""One try of an Airflow task while it runs in a worker: queries `tony`, and reports the job's state to Airflow."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from typing import Any

from tony_airflow._compat import AIRFLOW_3
from tony_airflow.cli import Document
from tony_airflow.exceptions import TonyError, TonyStopped, TonySuperseded, TonyTransportError
from tony_airflow.hooks.tony import Order, TonyHook
from tony_airflow.links.tony import LINKS
from tony_airflow.order import are_of_one_task
from tony_airflow.result import TaskLog
from tony_airflow.tokens import TokenLog

PAUSE = 0.2  # seconds between two queries of a job whose state changes all the time
LONGEST_PAUSE = 10.0  # seconds between attempts to reach tony
TENSORBOARD = "tensorboard:0"  # the task that serves TensorBoard
STREAM_PAUSE = 5.0  # seconds between two reads of the logs


class TaskTry:
    """Follows the job of one try. All methods raise TonyStopped after hook.calls.stop(), also from a signal handler.

    `adopted`: the job had ended before this try, and keeps its owner.
    `urls`: the caller's dictionary, which gets each link's address under the key of its XCom.
    """

    def __init__(
        self, hook: TonyHook, order: Order, ti: Any, log: Any, patience: float, urls: dict[str, str]
    ) -> None:
        self.hook = hook
        self.order = order
        self.adopted = False
        self.urls = urls
        self._ti = ti
        self._log = log
        self._patience = patience
        self._told = ""
        self._tokens = TokenLog(log)
        self._linked = False

    def reach(self, call: Callable[..., Any], *words: Any, patience: float | None = None, **more: Any) -> Any:
        """Repeats `call` while tony cannot be reached. Every call of tony may be repeated."""
        began = time.monotonic()
        while True:
            self.go_on()
            try:
                return call(*words, **more)
            except TonyTransportError as error:
                self.go_on()
                silent = time.monotonic() - began
                if silent > (self._patience if patience is None else patience):
                    raise
                self._log.warning("%s; retrying", error)
                self._sleep(min(max(PAUSE, silent), LONGEST_PAUSE))

    def go_on(self) -> None:
        if self.hook.calls.stopped:
            raise TonyStopped("ended by Airflow")

    def _sleep(self, seconds: float) -> None:
        """Sleeps in short parts, because a signal handler does not end a sleep."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.go_on()
            time.sleep(min(left, PAUSE))

    def follow(self, job_id: str, until: float, longest: float, stream: TaskLog | None) -> Document | None:
        """Returns the job's last status; None if it still runs at `until` (time.monotonic()). Queries at least once."""
        watcher, seq = secrets.token_hex(16), 0
        longest = min(longest, STREAM_PAUSE) if stream else longest
        while True:
            seconds = max(1, math.ceil(min(longest, until - time.monotonic())))
            words = (job_id, seq, seconds, self.order.owner, watcher, self._tokens.note)
            status: Document = self.reach(self.hook.wait, *words)
            self.go_on()
            self._expect_own(status)
            self._linked = self._linked or ("verdict" not in status and self.push_links(status))
            self._tell(status)
            self._tokens.see(status)
            if stream:
                self.reach(stream.show_new)
            if "verdict" in status:
                return status
            if time.monotonic() >= until:
                return None
            seq = status["seq"]
            self._sleep(PAUSE)

    def _expect_own(self, status: Document) -> None:
        owner = status.get("owner", self.order.owner)
        if owner == self.order.owner or self.adopted:
            return
        if are_of_one_task(owner, self.order.owner):
            raise TonySuperseded(f"job {status['job']} belongs to a newer try of this task")
        if "verdict" not in status:
            raise TonyError(f"job {status['job']} belongs to another task with the request id {self.order.request_id}")

    def push(self, key: str, value: Any) -> None:
        self._ti.xcom_push(key=key, value=value)

    def push_links(self, status: Document) -> bool:
        """Pushes the links early, because Airflow's pages show them while the job runs. False: no page yet."""
        page, history = status.get("tracking_url"), self.hook.extra.get("history_url")
        if "verdict" in status and history:
            page = f"{history.rstrip('/')}/{status['job']}/"
        if not page:
            return False
        self.urls.update({"tracking_url": page, "logs_url": f"{page.rstrip('/')}/logs/"})
        if any(task["task"] == TENSORBOARD for task in status["tasks"]):
            self.urls["tensorboard_url"] = f"{page.rstrip('/')}/tensorboard"
        for key, url in self.urls.items():
            self.push(key, url)
        if AIRFLOW_3:
            for link in LINKS:
                if link.key in self.urls:
                    self.push(link.xcom_key, self.urls[link.key])
        self._log.info("page of the job: %s", page)
        return True

    def _tell(self, status: Document) -> None:
        """Writes one line for each state and each restart."""
        restarts = status["restarts"]
        last = f"; restart {restarts[-1]['number']}: {restarts[-1]['reason']}" if restarts else ""
        why = "".join(f"; {status[key]}" for key in ("delay", "trouble") if status.get(key))
        line = f"{status['state']}{why}{last}"
        if line != self._told:
            self._log.info("job %s %s", status["job"], line)
        self._told = line

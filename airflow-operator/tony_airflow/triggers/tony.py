# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Waits for a job without a worker. A triggerer only watches: if it ends, the job continues."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from tony_airflow._compat import BaseTrigger, TriggerEvent
from tony_airflow.cli import Document, TonyCli, end_of
from tony_airflow.exceptions import TonyError, TonyNotFound, TonyTransportError
from tony_airflow.hooks.tony import Order, kill_words
from tony_airflow.tokens import TokenLog

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between attempts to reach tony
# In seconds. If a triggerer has not seen the job in this time, a worker waits for the job in its place.
FIRST_CONTACT = 30.0


class TonyJobTrigger(BaseTrigger):
    """Fires one event: {"kind", "message", "job": {"job_id", "request_id", "owner"}}.

    kind: "ended": the job has ended; "timeout": the deadline has passed, and the trigger has killed the job;
    "unreachable": this triggerer cannot reach the job, or could not for `max_unreachable` seconds.

    `job_id` may be None if `request_id` names a job that will be submitted later. All times are in seconds. `deadline`
    and `not_before` (the latest and the earliest time of the event) count from the epoch, because they outlive the
    process. The trigger can end the job only if it has `request_id` and `owner`. `kill_delay`: a kill by a user waits
    this long, because a stalled triggerer may mistake the loss of its trigger for a kill. If another watcher of the job
    appears in this time, the kill has no effect. None: a kill by a user does not end the job.
    """

    def __init__(
        self,
        job_id: str | None,
        cli: dict[str, Any],
        request_id: str | None = None,
        owner: str | None = None,
        deadline: float | None = None,
        not_before: float | None = None,
        kill_delay: int | None = None,
        poll_interval: float = 30.0,
        max_unreachable: float = 600.0,
    ) -> None:
        super().__init__()
        self.job_id = job_id
        self.cli = cli
        self.request_id = request_id
        self.owner = owner
        self.deadline = deadline
        self.not_before = not_before
        self.kill_delay = kill_delay
        self.poll_interval = poll_interval
        self.max_unreachable = max_unreachable
        self._tony = TonyCli(**cli)
        self._watcher: str | None = None
        self._seen = False  # true if this process has seen the job
        self._silent_since: float | None = None  # time.monotonic(); None: tony answers

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("job_id", "cli", "request_id", "owner", "deadline", "not_before", "kill_delay")
        values = {name: getattr(self, name) for name in (*names, "poll_interval", "max_unreachable")}
        return f"{type(self).__module__}.{type(self).__qualname__}", values

    async def run(self) -> AsyncIterator[TriggerEvent]:
        left = None if self.deadline is None else self.deadline - time.time()
        what = f"job {self.job_id}" if self.job_id else f"the job of request {self.request_id}"
        self.log.info("waiting for %s", what)
        try:
            kind, message = await asyncio.wait_for(self._end(), left)
        except asyncio.TimeoutError:
            kind, message = "timeout", await self._end_in_time()
        self.log.info("job %s: %s: %s", self.job_id, kind, message)
        if self.not_before is not None:
            await asyncio.sleep(self.not_before - time.time())
        job = {"job_id": self.job_id, "request_id": self.request_id, "owner": self.owner}
        yield TriggerEvent({"kind": kind, "message": message, "job": job})

    async def _end(self) -> tuple[str, str]:
        while True:
            try:
                return "ended", await self._follow()
            except TonyTransportError as error:
                now = time.monotonic()
                self._silent_since = self._silent_since or now
                silent = now - self._silent_since
                if silent > (self.max_unreachable if self._seen else FIRST_CONTACT):
                    return "unreachable", str(error)
                self.log.warning("%s; retrying", error)
            except TonyError as error:
                return "unreachable", str(error)
            await asyncio.sleep(min(max(silent, FIRST_PAUSE), LONGEST_PAUSE))

    async def _follow(self) -> str:
        if self.job_id is None:
            self.job_id = await self._job_of_request()
        watch = self._tony.watch(named=self.owner is not None)
        self._watcher = watch.watcher
        tokens = TokenLog(self.log)

        def on_news(status: Document) -> None:
            self._note()
            tokens.see(status)

        status = await end_of(watch, self.job_id, on_news, tokens.note)
        return str(status["verdict"]["message"])

    async def _job_of_request(self) -> str:
        while True:
            try:
                found = await self._tony.acall("find", "--request-id", str(self.request_id))
                return str(found["job"])
            except TonyNotFound:
                self._note()
                await asyncio.sleep(self.poll_interval)

    def _note(self) -> None:
        self._seen, self._silent_since = True, None

    async def _end_in_time(self) -> str:
        """Kills the job before Airflow's execution_timeout, because Airflow 2 then only fails the task."""
        message = "execution_timeout has passed"
        try:
            await self._kill(message)
        except TonyError as error:
            return f"{message}, and the job could not be killed: {error}"
        return message

    async def on_kill(self) -> None:
        """A user has marked or cleared the task. Airflow before 3.3 lets the watch timeout end the job."""
        self.log.info("a user of Airflow has ended the task; kill_delay=%s", self.kill_delay)
        if self.kill_delay is not None:
            await self._kill("ended by a user of Airflow", self.kill_delay, self._watcher)

    async def _kill(self, reason: str, delay: int = 0, watcher: str | None = None) -> None:
        if self.request_id is None or self.owner is None:
            return
        order = Order(self.request_id, self.owner)
        await self._tony.acall(*kill_words(order, reason, delay, watcher))

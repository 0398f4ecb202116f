# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Waits for a job without a worker. It only looks: whatever becomes of a triggerer, the job goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from tony_airflow._compat import BaseTrigger, TriggerEvent
from tony_airflow.cli import TonyCli, end_of
from tony_airflow.exceptions import TonyError, TonyNotFound, TonyTransportError
from tony_airflow.hooks.tony import Order, kill_words

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between attempts to reach tony
FIRST_CONTACT = 30.0  # seconds after which a triggerer that has never seen the job leaves it to a worker


class TonyJobTrigger(BaseTrigger):
    """Fires one event when a job has ended: {"kind", "message", "job": {"job_id", "request_id", "owner"}}.

    kind: "ended"; "timeout": the deadline has passed, and the job was told to end; "unreachable": this triggerer cannot
    look at the job, or could not for `max_unreachable` seconds.

    job_id may be None where request_id names a job that is still to come. All times are seconds; `deadline` and
    `not_before`, when an event may come at last and at first, since the epoch, because they outlive the process.
    `order` says who may end the job; without it the trigger never does. `kill_delay`: a kill by a user waits so long,
    because a triggerer that was stalled may take the loss of its trigger for such a kill: whoever watches the job by
    then voids it. None: such a kill does not end the job.
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
        self._seen = False  # the job, by this process
        self._silent_since: float | None = None  # time.monotonic(); None: tony answers

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("job_id", "cli", "request_id", "owner", "deadline", "not_before", "kill_delay")
        values = {name: getattr(self, name) for name in (*names, "poll_interval", "max_unreachable")}
        return f"{type(self).__module__}.{type(self).__qualname__}", values

    async def run(self) -> AsyncIterator[TriggerEvent]:
        left = None if self.deadline is None else self.deadline - time.time()
        self.log.info("waiting for job %s", self.job_id or f"of request {self.request_id}")
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
                self.log.warning("%s; trying again", error)
            except TonyError as error:
                return "unreachable", str(error)
            await asyncio.sleep(min(max(silent, FIRST_PAUSE), LONGEST_PAUSE))

    async def _follow(self) -> str:
        if self.job_id is None:
            self.job_id = await self._job_of_request()
        watch = self._tony.watch(named=self.owner is not None)
        self._watcher = watch.watcher
        status = await end_of(watch, self.job_id, self._note)
        return str(status["verdict"]["message"])

    async def _job_of_request(self) -> str:
        while True:
            try:
                found = await self._tony.acall("find", "--request-id", str(self.request_id))
                return str(found["job"])
            except TonyNotFound:
                self._note(None)
                await asyncio.sleep(self.poll_interval)

    def _note(self, _: Any) -> None:
        self._seen, self._silent_since = True, None

    async def _end_in_time(self) -> str:
        """Airflow 2 fails a task at its execution_timeout without a word to anybody: so this comes first."""
        message = "execution_timeout has passed"
        try:
            await self._kill(message)
        except TonyError as error:
            return f"{message}, and the job could not be told: {error}"
        return message

    async def on_kill(self) -> None:
        """A user has marked the task or cleared it (Airflow 3.3 and newer; before, the watch timeout ends the job)."""
        self.log.info("a user of Airflow has ended the task; kill_delay=%s", self.kill_delay)
        if self.kill_delay is not None:
            await self._kill("ended by a user of Airflow", self.kill_delay, self._watcher)

    async def _kill(self, reason: str, delay: int = 0, watcher: str | None = None) -> None:
        if self.request_id is None or self.owner is None:
            return
        order = Order(self.request_id, self.owner)
        await self._tony.acall(*kill_words(order, reason, delay, watcher))

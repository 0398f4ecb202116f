# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Waits for a job that another task, another Dag or a user at a command line has submitted."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any

from tony_airflow._compat import AirflowSkipException, BaseSensorOperator, PokeReturnValue, conf
from tony_airflow.cli import Document
from tony_airflow.exceptions import TonyError, TonyNotFound, TonyRefused, TonyTransportError
from tony_airflow.hooks.tony import DEFAULT_CONNECTION, TonyHook
from tony_airflow.order import UNAWAITED
from tony_airflow.result import MOST_OUTPUT, failure_of, outputs_of
from tony_airflow.triggers.tony import TonyJobTrigger


class TonyJobSensor(BaseSensorOperator):
    """Succeeds when the job succeeds, and returns its outputs; fails when the job fails. Never ends the job.

    If the submitting task does not wait for the job (wait_for_completion=False), the sensor acknowledges the result.

    :param job_id: the job, such as `{{ ti.xcom_pull('train', key='job_id') }}`
    :param request_id: instead of job_id: the request id of the job, which may be submitted later
    :param proxy_user: user of a Hadoop cluster to whom the job belongs, as for TonyOperator
    :param deferrable: wait in a triggerer
    """

    template_fields: Sequence[str] = ("job_id", "request_id", "proxy_user")

    def __init__(
        self,
        *,
        job_id: str | None = None,
        request_id: str | None = None,
        tony_conn_id: str = DEFAULT_CONNECTION,
        proxy_user: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job_id = job_id
        self.request_id = request_id
        self.tony_conn_id = tony_conn_id
        self.proxy_user = proxy_user
        self.deferrable = deferrable

    def execute(self, context: Any) -> Any:
        if not self.deferrable:
            return super().execute(context)
        done = self.poke(context)
        if done:
            return done.xcom_value
        trigger = TonyJobTrigger(
            job_id=self.job_id or None,
            cli=dataclasses.asdict(self._hook().cli),
            request_id=self.request_id,
            poll_interval=self.poke_interval,
        )
        timeout = datetime.timedelta(seconds=self.timeout)
        return self.defer(trigger=trigger, method_name="execute_complete", timeout=timeout)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        done = self.poke(context)
        if not done:
            raise TonyTransportError(event["message"])
        return done.xcom_value

    def _hook(self) -> TonyHook:
        return TonyHook(self.tony_conn_id, self.proxy_user)

    def poke(self, context: Any) -> PokeReturnValue:
        hook = self._hook()
        try:
            status = self._status(hook)
        except TonyTransportError as error:
            self.log.warning("%s", error)
            status = None
        if status is None or "verdict" not in status:
            return PokeReturnValue(is_done=False)
        if status["state"] != "SUCCEEDED":
            # A request id may name another job at the next try. A job id always names this job, which has failed.
            failure = failure_of(status, [status["verdict"]["class"]] if self.job_id else ())
            raise AirflowSkipException(str(failure)) if self.soft_fail else failure
        outputs = outputs_of(hook, status["job"], self.log, MOST_OUTPUT)
        self._acknowledge(hook, status)
        return PokeReturnValue(is_done=True, xcom_value=outputs)

    def _acknowledge(self, hook: TonyHook, status: Document) -> None:
        """Acknowledges for the task that submitted the job, unless that task waits and acknowledges itself."""
        owner = status.get("owner", "")
        if not owner.startswith(UNAWAITED):
            return
        try:
            hook.ack(status["job"], owner)
        except TonyError as error:
            self.log.warning("%s", error)

    def _status(self, hook: TonyHook) -> Document | None:
        if bool(self.job_id) == bool(self.request_id):
            raise TonyRefused("set job_id or request_id, and not both")
        try:
            return hook.status(self.job_id or hook.find(str(self.request_id))["job"])
        except TonyNotFound:
            if self.job_id:
                raise
            return None  # not submitted yet

# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Buttons on the task's page that lead to the job. The operator pushes their addresses as soon as it knows them."""

from __future__ import annotations

from typing import Any

from tony_airflow._compat import AIRFLOW_3, BaseOperatorLink, read_xcom


class _XComLink(BaseOperatorLink):
    key: str

    @property
    def xcom_key(self) -> str:
        """Where Airflow 3's page looks; the class's name as Airflow's own default, so that it may never change."""
        return f"_link_{type(self).__name__}"

    def get_link(self, operator: Any, *, ti_key: Any, **_: Any) -> str:
        """The newest address; empty as long as there is none. It never fails: that would break the task's page.

        Airflow 3 asks in the task's process, at its end. There the operator has the addresses. An XCom that is not there
        would be an error in the log of a task that succeeds.
        """
        if AIRFLOW_3:
            return str(operator.urls.get(self.key, ""))
        try:
            return read_xcom(ti_key, self.key) or ""
        except Exception:  # whatever it is, there is no address
            return ""


class TonyJobLink(_XComLink):
    """The job's page: tasks, restarts, usage."""

    name = "TonY job"
    key = "tracking_url"


class TonyLogsLink(_XComLink):
    """The logs of the job's tasks."""

    name = "TonY logs"
    key = "logs_url"


class TonyTensorBoardLink(_XComLink):
    """TensorBoard beside the job; none where the job has none.

    It leads over the job's page, which knows where TensorBoard is once that runs: a deferred task is told nothing then.
    """

    name = "TonY TensorBoard"
    key = "tensorboard_url"


LINKS = (TonyJobLink(), TonyLogsLink(), TonyTensorBoardLink())

# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Buttons on the task's page that link to the job. The operator pushes each address as soon as it is known."""

from __future__ import annotations

from typing import Any

from tony_airflow._compat import AIRFLOW_3, BaseOperatorLink, read_xcom


class _XComLink(BaseOperatorLink):
    key: str

    @property
    def xcom_key(self) -> str:
        """The XCom that Airflow 3's page reads. It has the class's name, so never rename a class."""
        return f"_link_{type(self).__name__}"

    def get_link(self, operator: Any, *, ti_key: Any, **_: Any) -> str:
        """Returns the newest address; empty until it is known. Never raises, because that would break the task's page.

        Airflow 3 calls this in the task's process, when the task ends; there the operator has the addresses. A missing
        XCom would put an error into the log of a task that succeeds.
        """
        if AIRFLOW_3:
            return str(operator.urls.get(self.key, ""))
        try:
            return read_xcom(ti_key, self.key) or ""
        except Exception:  # any exception means that there is no address
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
    """TensorBoard beside the job; empty if the job has none.

    The link leads through the job's page, which knows TensorBoard's address as soon as TensorBoard runs. A deferred
    task would not learn the address itself.
    """

    name = "TonY TensorBoard"
    key = "tensorboard_url"


LINKS = (TonyJobLink(), TonyLogsLink(), TonyTensorBoardLink())

# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""A record that a task keeps from try to try, in the task state store of Airflow 3.3. Older versions keep no record."""

from __future__ import annotations

from typing import Any

KEY = "tony"


class Memory:
    """One small record of a task: first request_id, submission, host and home; then also job_id; at the end also state.

    The record is written before the submit and before the wait. If a write fails, a later try still finds the job by
    its request id, which each try knows before it submits. The record also names the job's machine, and Airflow's page
    of the task shows the record.
    """

    def __init__(self, context: Any, log: Any, wanted: bool = True) -> None:
        self._store = context.get("task_state_store") if wanted else None
        self._log = log
        self.exists = self._store is not None

    def recall(self) -> dict[str, Any]:
        if self._store is None:
            return {}
        try:
            return dict(self._store.get(KEY) or {})
        except Exception as error:
            # All exceptions are caught, because Airflow has many exceptions for a server that does not answer.
            self._log.warning("cannot read the task state store: %s", error)
            return {}

    def keep(self, record: dict[str, Any]) -> None:
        if self._store is None:
            return
        try:
            self._store.set(KEY, record)
        except Exception as error:
            self._log.warning("cannot write to the task state store: %s", error)

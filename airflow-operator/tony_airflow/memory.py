# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""What a task keeps from try to try: with Airflow 3.3 in its task state store, with older ones nothing."""

from __future__ import annotations

from typing import Any

KEY = "tony"


class Memory:
    """One small record: request_id, submission, host, home; then job_id; at the end state.

    It is written before the submit and before the wait. Nothing is lost where that fails: the request id, which a try
    knows before it submits, finds the job. The record adds where the job is, and it is shown on the task's page.
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
        except Exception as error:  # Airflow has many for "the server does not answer"
            self._log.warning("the task state store cannot be read: %s", error)
            return {}

    def keep(self, record: dict[str, Any]) -> None:
        if self._store is None:
            return
        try:
            self._store.set(KEY, record)
        except Exception as error:
            self._log.warning("the task state store cannot be written: %s", error)

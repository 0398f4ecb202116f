# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Lines in a task's log about the tokens with which its job calls a Hadoop cluster with Kerberos."""

from __future__ import annotations

from typing import Any

from tony_airflow.cli import Document

# These words are in the line that `tony` writes when it cannot push.
FAILED_PUSH = "gets no fresh tokens"


class TokenLog:
    """Writes until when the job can use the cluster, and one warning if fresh tokens are overdue or a push fails."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._told: tuple[Any, ...] = (None, False)
        self._reasons: set[str] = set()

    def see(self, status: Document) -> None:
        """Takes a status of the job. Nothing is written if it says the same as the status before."""
        job, until, overdue = status["job"], status.get("tokens_until"), status.get("tokens_overdue", False)
        if (until, overdue) == self._told or until is None or "verdict" in status:
            return
        self._told = (until, overdue)
        if overdue:
            text = "fresh tokens are overdue, so job %s can use the cluster only until %s; run: "
            self._log.warning(text + "tony credentials push %s", job, until, job)
        else:
            self._log.info("job %s can use the cluster until %s; fresh tokens will extend this time", job, until)

    def note(self, text: str) -> None:
        """Takes a line that `tony` writes for people. The reason of a failed push is written once."""
        if FAILED_PUSH in text and text not in self._reasons:
            self._reasons.add(text)
            self._log.warning("%s", text)

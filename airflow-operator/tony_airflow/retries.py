# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""A retry policy for Airflow 3.3 and newer: TonyOperator(..., retries=5, retry_policy=TonyRetryPolicy())."""

from __future__ import annotations

from typing import Any

from tony_airflow._compat import RetryDecision, RetryPolicy
from tony_airflow.exceptions import TonyJobFailed, TonyTransportError

# Outcome classes. The task's `retries` decide about all others. Failures that no try can fix do not reach the policy.
NOT_THE_PROGRAMS_FAULT = ("node_lost", "preempted", "infra")
THE_PROGRAMS_FAULT = ("user_error",)


class TonyRetryPolicy(RetryPolicy):
    """Retries a task that failed for reasons outside of the job; does not retry a program that fails.

    Without a policy Airflow also retries failures of the program, such as exit code 1. Airflow never retries
    failures that no try can fix (a bad property, a missing command), with or without a policy.
    """

    def __init__(self) -> None:
        if RetryDecision is None:
            raise RuntimeError("TonyRetryPolicy needs Airflow 3.3, because older versions have no policies")

    def evaluate(self, exception: BaseException, try_number: int, max_tries: int, context: Any = None) -> Any:
        if isinstance(exception, TonyTransportError):
            return RetryDecision.retry(reason="tony was unreachable (exit 69): the next try continues with the job")
        outcome = exception.outcome if isinstance(exception, TonyJobFailed) else ""
        if outcome in NOT_THE_PROGRAMS_FAULT:
            return RetryDecision.retry(reason=f"{outcome}: not the program's fault")
        if outcome in THE_PROGRAMS_FAULT:
            return RetryDecision.fail(reason=f"{outcome}: the program would fail again")
        return RetryDecision.default()

    def serialize(self) -> dict[str, Any]:
        return {}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> TonyRetryPolicy:
        return cls()

# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""The provider's exceptions. Airflow's pages show only the first line of a message."""

from __future__ import annotations

from tony_airflow._compat import AirflowException, AirflowFailException


class TonyError(AirflowException):
    """TonY failed. Another try of the task may help."""


class TonyTransportError(TonyError):
    """`tony`, its store or its scheduler is unreachable (exit 69). Another try finds the job and continues with it."""


class TonyElsewhere(TonyTransportError):
    """An earlier try submitted the job on another machine, where another try can continue with it."""


class TonyNotFound(TonyError):
    """The job or request does not exist (exit 66)."""


class TonyRefused(TonyError, AirflowFailException):
    """`tony` refuses the request, and would refuse it again: a bad spec, or not permitted (exits 64, 65, 77)."""


class TonyStopped(TonyError):
    """Airflow has requested the end of this process."""


class TonySuperseded(TonyError):
    """A newer try of the task owns the job: this try must not report a result."""


class TonyJobFailed(TonyError):
    """The job failed or was killed; it may succeed if it is submitted again."""

    outcome = ""  # class of the verdict, such as `user_error`


class TonyJobFailedNoRetry(TonyJobFailed, AirflowFailException):
    """The job failed and would fail again in the same way, so Airflow does not retry the task."""

# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""What can go wrong. The first line of each message is made for the place where Airflow shows one line."""

from __future__ import annotations

from tony_airflow._compat import AirflowException, AirflowFailException


class TonyError(AirflowException):
    """Something of TonY failed. Another try of the task may help."""


class TonyTransportError(TonyError):
    """`tony`, its store or its scheduler cannot be reached (exit 69). Another try finds the job and goes on with it."""


class TonyElsewhere(TonyTransportError):
    """An earlier try has submitted on another machine, whose jobs cannot be seen here. A try there goes on with it."""


class TonyNotFound(TonyError):
    """There is no such job or request (exit 66)."""


class TonyRefused(TonyError, AirflowFailException):
    """What was asked is not acceptable, and never will be: a bad spec, or not permitted (exits 64, 65, 77)."""


class TonyStopped(TonyError):
    """Airflow has told this process to end."""


class TonySuperseded(TonyError):
    """A newer try of the task has the job: this one has nothing to say any more."""


class TonyJobFailed(TonyError):
    """The job has not succeeded; submitted again it may."""

    outcome = ""  # the class of the verdict, as `user_error` or `node_lost`


class TonyJobFailedNoRetry(TonyJobFailed, AirflowFailException):
    """The job has not succeeded, and would fail the same way again: Airflow makes no other try."""

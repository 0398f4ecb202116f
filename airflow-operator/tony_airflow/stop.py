# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Decides whether the job ends when Airflow stops the task's process."""

from __future__ import annotations

from typing import Any

from tony_airflow._compat import state_in_airflow

# In these states Airflow will continue the task. Airflow ended the process because a worker was shut down, because the
# server or the database did not answer for too long (some 30 s in Airflow 3), or because Airflow considered the process
# dead. If a person marks or clears the task, or the Dag run ends, the task has another state or none.
GOES_ON = ("running", "scheduled", "queued", "deferred", "up_for_retry", "up_for_reschedule", "awaiting_input")


def ends_the_job(ti: Any, log: Any) -> bool:
    """Returns true if a person requested the end, or if no try is left that could continue with the job."""
    if ti.try_number > ti.max_tries:
        return True
    try:
        state = state_in_airflow(ti)
    except Exception as error:  # any exception means that Airflow does not answer
        log.warning("Airflow did not report why it ends this process (%s): the job continues for the next try", error)
        return False
    if state in GOES_ON:
        log.warning("no person requested the end of this task (state %s): the job continues for the next try", state)
        return False
    return True

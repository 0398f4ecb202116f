# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Imports Airflow's names from the places that Airflow 3 and Airflow 2.11 share, and hides the few differences."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

from airflow import __version__ as airflow_version
from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
    AirflowTaskTimeout,
    BaseHook,
    BaseOperator,
    BaseOperatorLink,
    BaseSensorOperator,
    PokeReturnValue,
    Variable,
    conf,
    redact,
)
from airflow.triggers.base import BaseTrigger, TriggerEvent

# common.compat does not offer mask_secret in the old versions that many installations have.
try:
    from airflow.sdk.log import mask_secret
except ImportError:  # Airflow 2
    from airflow.utils.log.secrets_masker import mask_secret

try:
    from airflow.sdk import RetryDecision, RetryPolicy
except ImportError:  # before 3.3
    RetryDecision, RetryPolicy = None, object

AIRFLOW_3 = not airflow_version.startswith("2.")
# In characters. Airflow 3 warns about a shorter secret and does not mask it, because masking a short text would hide
# parts of many words in a log.
SHORTEST_SECRET = 5

__all__ = [
    "AIRFLOW_3",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowSkipException",
    "AirflowTaskTimeout",
    "BaseHook",
    "BaseOperator",
    "BaseOperatorLink",
    "BaseSensorOperator",
    "BaseTrigger",
    "PokeReturnValue",
    "RetryDecision",
    "RetryPolicy",
    "TriggerEvent",
    "Variable",
    "conf",
    "hide",
    "hide_named",
    "leave_the_row_alone",
    "read_xcom",
    "state_in_airflow",
]


def hide(secrets: list[str]) -> None:
    """Replaces these texts by *** in the task's log, also in the job's output."""
    long_enough = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
    if long_enough:
        mask_secret(long_enough)


def hide_named(values: Mapping[str, Any]) -> None:
    """Hides each text, at any depth, whose name marks it as a secret for Airflow, such as `password`."""
    hide(list(_named(values)))


def _named(value: Any, is_secret: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        if is_secret:
            yield value
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield from _named(member, is_secret or redact("a probe", str(name)) != "a probe")
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _named(member, is_secret)


def read_xcom(ti_key: Any, key: str) -> Any:
    """Returns a task's XCom. Only Airflow 2's web server calls this function."""
    from airflow.providers.common.compat.sdk import XCom

    return XCom.get_value(ti_key=ti_key, key=key)


def state_in_airflow(ti: Any) -> str | None:
    """Returns the task's current state in Airflow, for any try. Raises if Airflow does not answer."""
    if not AIRFLOW_3:
        state: str | None = ti.current_state()
        return state
    states = ti.get_task_states(
        dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id], map_index=ti.map_index
    )
    return next(iter(states.get(ti.run_id, {}).values()), None)


def leave_the_row_alone(ti: Any) -> None:
    """Ends this process of a superseded try if it would change the task's state in Airflow; otherwise returns."""
    # In Airflow 2 each process of a task writes its result into the row that all tries share; a process that exits here
    # writes nothing. Airflow 3's server accepts results only from the newest try. `airflow dags test` runs tasks in its
    # own process; there job_id is None.
    if not AIRFLOW_3 and ti.job_id is not None:
        logging.shutdown()
        os._exit(1)

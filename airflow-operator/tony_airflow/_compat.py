# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Where Airflow 3 and Airflow 2.11 have the same things. Nothing here reaches into Airflow's database."""

from __future__ import annotations

from typing import Any

try:
    from airflow.sdk import BaseHook, BaseOperator, BaseOperatorLink, BaseSensorOperator, PokeReturnValue
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )

    AIRFLOW_3 = True
except ImportError:  # Airflow 2
    from airflow.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )
    from airflow.hooks.base import BaseHook
    from airflow.models.baseoperator import BaseOperator
    from airflow.models.baseoperatorlink import BaseOperatorLink
    from airflow.sensors.base import BaseSensorOperator, PokeReturnValue

    AIRFLOW_3 = False

try:
    from airflow.sdk import conf
except ImportError:  # before 3.2
    from airflow.configuration import conf

from airflow.triggers.base import BaseTrigger, TriggerEvent

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
    "TriggerEvent",
    "conf",
    "mask_secrets",
    "read_xcom",
]


def mask_secrets(values: dict[str, Any]) -> None:
    """What stands under a name as `password` is hidden in the task's log, also in what the job prints."""
    if AIRFLOW_3:
        from airflow.sdk.log import mask_secret
    else:
        from airflow.utils.log.secrets_masker import mask_secret
    mask_secret(values)


def read_xcom(ti_key: Any, key: str) -> Any:
    """What a task has pushed under a key. Where it is read (worker or web server), XComs can be reached."""
    if AIRFLOW_3:
        from airflow.sdk.execution_time.xcom import XCom
    else:
        from airflow.models.xcom import XCom
    return XCom.get_value(ti_key=ti_key, key=key)

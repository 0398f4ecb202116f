# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Jobs of TonY as tasks: one with all settings for a long training, one that one task submits and another awaits."""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.providers.common.compat.sdk import DAG

from tony_airflow.operators.tony import TonyOperator
from tony_airflow.secret import FromConnection
from tony_airflow.sensors.tony import TonyJobSensor

with DAG("example_tony", schedule=None, start_date=datetime(2026, 1, 1), tags=["example", "tony"]):
    train = TonyOperator(
        task_id="train",
        framework="pytorch",
        tasks={"worker": {"instances": 4, "memory": "8g", "gpus": 1}},
        src_dir="src",
        executes="python3 train.py --run '{{ run_id }}'",
        secrets={"WAREHOUSE_PASSWORD": FromConnection("warehouse")},
        deferrable=True,
        retries=3,
        retry_delay=timedelta(minutes=5),
        execution_timeout=timedelta(hours=12),
    )

with DAG("example_tony_sensor", schedule=None, start_date=datetime(2026, 1, 1), tags=["example", "tony"]):
    submit = TonyOperator(task_id="submit", properties="train.job", wait_for_completion=False)
    done = TonyJobSensor(task_id="done", job_id="{{ ti.xcom_pull('submit') }}", deferrable=True)
    submit >> done

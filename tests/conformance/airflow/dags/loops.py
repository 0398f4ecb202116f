"""The Dags of the suite `loops`: a Dag for each scenario, with the scenario's name."""

import datetime
import os

from airflow.sdk import DAG, task_group
from tony_airflow.operators.tony import TonyOperator

# A job that runs until its run is released, at most ten minutes.
RELEASED = f"{os.environ['AIRFLOW_HOME']}/release/{{{{ run_id }}}}"
HELD = f"for n in $(seq 1200); do [ -e '{RELEASED}' ] && break; sleep 0.5; done"

with DAG("loop_retrains", schedule=None, start_date=datetime.datetime(2026, 1, 1)):

    @task_group
    def refine():
        TonyOperator(
            task_id="train",
            tony_conn_id="tony_loop",
            framework="standalone",
            tasks={"worker": {"instances": 1, "memory": "64m", "command": HELD}},
            retries=1,
            retry_delay=datetime.timedelta(seconds=1),
        )

    refine.loop(max_iterations=2)

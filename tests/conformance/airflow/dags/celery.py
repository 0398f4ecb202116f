"""The Dags of the suite `celery`: a Dag for each scenario, with the scenario's name."""

import datetime
import os

from tony_airflow.operators.tony import TonyOperator

try:
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG

RELEASED = os.environ["AIRFLOW_HOME"] + "/release/{{ run_id }}"
HELD = f"for n in $(seq 3000); do [ -e {RELEASED} ] && break; sleep 0.1; done"  # holds the job for at most five minutes


def dag(name):
    given = {"retry_delay": datetime.timedelta(seconds=1)}
    return DAG(name, schedule=None, start_date=datetime.datetime(2026, 1, 1), catchup=False, default_args=given)


def trains(task_id="train", **more):
    """A task whose job runs until the run is released."""
    worker = {"instances": 1, "memory": "64m", "command": HELD}
    return TonyOperator(task_id=task_id, framework="standalone", tasks={"worker": worker}, poll_interval=5, **more)


with dag("another_machine"):
    trains(retries=9)

with dag("queue_per_machine"):
    trains(retries=1, queue="tony-gpu1")

with dag("deferred_elsewhere"):
    trains(retries=9, deferrable=True, defer_after=1)

with dag("broker_restart"):
    trains(retries=1)

with dag("database_restart"):
    trains("running", retries=2, queue="tony-gpu1")
    trains("deferred", retries=2, queue="tony-gpu1", deferrable=True, defer_after=1)

with dag("second_delivery"):
    trains(retries=2)

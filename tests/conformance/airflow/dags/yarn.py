"""The Dags of the suite `yarn`: their tasks have tony.scheduler=yarn in their properties, and no other setting for
YARN."""

import datetime
import os

from tony_airflow.operators.tony import TonyOperator

try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG
    from airflow.operators.bash import BashOperator

HOME = os.environ["AIRFLOW_HOME"]
SECOND = datetime.timedelta(seconds=1)
PROPERTIES = {
    "tony.scheduler": "yarn",
    "tony.application.framework": "standalone",
    "tony.am.memory": "256m",
    "tony.worker.instances": "1",
    "tony.worker.memory": "128m",
}
# A job that runs until its run is released, at most three minutes.
RELEASED = f"{HOME}/release/{{{{ run_id }}}}"
HELD = f"for n in $(seq 1800); do [ -e '{RELEASED}' ] && break; sleep 0.1; done"
OUTPUTS = """; echo '{"came_to_its_end": true}' > "$TONY_OUTPUT_FILE\""""
DEFERRED = {"deferrable": True, "defer_after": 1}


def dag(name):
    return DAG(name, schedule=None, start_date=datetime.datetime(2026, 1, 1), default_args={"retry_delay": SECOND})


def train(command, **more):
    return TonyOperator(task_id="train", properties=PROPERTIES, executes=command, **more)


with dag("yarn_ok"):
    train(f"true{OUTPUTS}") >> BashOperator(
        task_id="deploy", bash_command="""[ "{{ ti.xcom_pull('train')['came_to_its_end'] }}" = True ]"""
    )

with dag("yarn_stream"):
    train(f"echo the first line; {HELD}; echo the last line{OUTPUTS}", get_logs="stream")

with dag("yarn_fail"):
    train("echo the data is gone >&2; exit 3", retries=0)

with dag("yarn_refused"):
    train("true", conf={"tony.yarn.queue": "nowhere"}, retries=3)

with dag("yarn_defer"):
    train(HELD + OUTPUTS, **DEFERRED)

with dag("yarn_mark_failed"):
    train(HELD, retries=1)

with dag("yarn_worker_kill9"):
    train(HELD + OUTPUTS, retries=1)

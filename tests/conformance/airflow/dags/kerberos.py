"""The Dags of the suite `kerberos`: their tasks act for user eve of a Hadoop cluster."""

import datetime
import os

from tony_airflow.operators.tony import TonyOperator

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

HOME = os.environ["AIRFLOW_HOME"]
PROPERTIES = {
    "tony.scheduler": "yarn",
    "tony.application.framework": "standalone",
    "tony.am.memory": "256m",
    "tony.worker.instances": "1",
    "tony.worker.memory": "128m",
}
# A job that runs until its run is released, at most six minutes.
RELEASED = f"{HOME}/release/{{{{ run_id }}}}"
HELD = f"for n in $(seq 3600); do [ -e '{RELEASED}' ] && break; sleep 0.1; done"
OUTPUTS = """; echo '{"came_to_its_end": true}' > "$TONY_OUTPUT_FILE\""""


def train(dag_id, command, **more):
    with DAG(dag_id, schedule=None, start_date=datetime.datetime(2026, 1, 1)):
        TonyOperator(task_id="train", properties=PROPERTIES, executes=command + OUTPUTS, **more)


train("kerberos_ok", "echo trained", proxy_user="{{ 'eve' }}")
train("kerberos_mark", HELD, proxy_user="eve")
train("kerberos_waits", HELD, proxy_user="eve", get_logs="stream")
train("kerberos_defer", HELD, tony_conn_id="tony_eve", deferrable=True, defer_after=1)
train("kerberos_late", HELD, proxy_user="eve", deferrable=True, defer_after=1)

"""The Dags of the suite `default`: a Dag for each scenario, with the scenario's name."""

import datetime
import os

from airflow import __version__ as airflow_version
from tony_airflow.operators.tony import TonyOperator

try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG
    from airflow.operators.bash import BashOperator

HOME = os.environ["AIRFLOW_HOME"]
TELLS_TRIGGERS = tuple(map(int, airflow_version.split(".")[:2])) >= (3, 3)
SECOND = datetime.timedelta(seconds=1)

# A job that runs until its run is released, at most ten minutes.
RELEASED = f"{HOME}/release/{{{{ run_id }}}}"
HELD = f"for n in $(seq 1200); do [ -e '{RELEASED}' ] && break; sleep 0.5; done"
# Deferred as soon as the job runs, because the scenarios test what happens afterwards.
DEFERRED = {"deferrable": True, "defer_after": 1}


def dag(name):
    return DAG(name, schedule=None, start_date=datetime.datetime(2026, 1, 1), default_args={"retry_delay": SECOND})


def train(command, **more):
    worker = {"instances": 1, "memory": "64m", "command": command}
    return TonyOperator(task_id="train", framework="standalone", tasks={"worker": worker}, **more)


def held(**more):
    """A job whose outputs show that it ran to its end."""
    return train(HELD + """; echo '{"came_to_its_end": true}' > "$TONY_OUTPUT_FILE\"""", **more)


with dag("sync_ok"):
    prepare = BashOperator(task_id="prepare", bash_command=f"mkdir {HOME}/model && echo {HOME}/model")
    training = TonyOperator(
        task_id="train",
        directory=os.path.join(os.path.dirname(__file__), "training"),
        properties="job.properties",
        src_dir=".",
        executes="train.py",
        python_binary_path="python3",
        env={"MODEL_DIR": "{{ ti.xcom_pull('prepare') }}"},
    )
    deploy = BashOperator(
        task_id="deploy",
        bash_command="""set -e
            [ "{{ ti.xcom_pull('train')['model'] }}" = "{{ ti.xcom_pull('prepare') }}/model.json" ]
            test -s "{{ ti.xcom_pull('train')['model'] }}"
            awk 'BEGIN { exit !({{ ti.xcom_pull("train")["accuracy"] }} > 0.9) }'
            echo deployed {{ ti.xcom_pull('train')['model'] }}""",
    )
    prepare >> training >> deploy

with dag("defer_ok"):
    held(**DEFERRED)

with dag("fail_noretry"):
    train("no-such-program --epochs 3", retries=3) >> BashOperator(task_id="deploy", bash_command="true")

with dag("mark_failed_running"):
    held(retries=1)  # A try is left, so the provider checks in Airflow who stopped the task.

with dag("mark_failed_deferred"):
    # Before 3.3 Airflow does not notify the trigger of the click: the watch timeout ends the job.
    held(**DEFERRED, **({} if TELLS_TRIGGERS else {"watch_timeout": 10}))

with dag("worker_kill9"):
    held(retries=1)

with dag("triggerer_kill9"):
    held(**DEFERRED)

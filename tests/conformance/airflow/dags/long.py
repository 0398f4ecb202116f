"""The Dags of the suite `long`: a Dag for each scenario, with the scenario's name."""

import datetime
import json
import os
import pathlib

from tony_airflow.operators.tony import TonyOperator
from tony_airflow.secret import FromConnection
from tony_airflow.sensors.tony import TonyJobSensor

try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.operators.bash import BashOperator
    from airflow.operators.empty import EmptyOperator

SAMPLES = pathlib.Path(os.environ["TONY_SAMPLES"])
RELEASED = os.environ["AIRFLOW_HOME"] + "/release/{{ run_id }}"
# holds the job for at most three minutes
HELD = f"for n in $(seq 1800); do [ -e {RELEASED} ] && break; sleep 0.1; done"

# A small task. A deferrable operator defers it after one second, so that a test can observe the deferral.
JOB = {"framework": "standalone", "tasks": {"worker": {"instances": 1, "memory": "256m"}}, "defer_after": 1,
       "poll_interval": 5}  # fmt: skip


def dag(name):
    given = {"retries": 0, "retry_delay": datetime.timedelta(seconds=1)}
    return DAG(name, schedule=None, start_date=datetime.datetime(2026, 1, 1), catchup=False, default_args=given)


def writes(**outputs):
    """Returns a shell command that writes the job's outputs. A name of an environment variable is replaced by its
    value."""
    return "echo " + json.dumps(json.dumps(outputs)) + ' > "$TONY_OUTPUT_FILE"'


def trains(*then, task_id="train", **more):
    """A task whose job runs until the run is released, and then runs the remaining command."""
    return TonyOperator(task_id=task_id, executes="; ".join([HELD, *then]), **{**JOB, **more})


with dag("fail_retry"):
    failing = {**JOB, "executes": "echo no rows left >&2; exit 3"}
    TonyOperator(task_id="train", retries=1, **failing) >> EmptyOperator(task_id="after")

with dag("skip_exit_code"):
    nothing_new = {**JOB, "executes": "exit 42", "skip_on_exit_code": [41, 42]}
    TonyOperator(task_id="train", **nothing_new) >> EmptyOperator(task_id="after")

with dag("mapped"):
    shards = [{"SHARD": str(number)} for number in range(3)]
    per_shard = {**JOB, "executes": "; ".join([HELD, writes(shard="$SHARD")])}
    TonyOperator.partial(task_id="train", deferrable=True, **per_shard).expand(env=shards)

with dag("same_request_at_once"):
    same = {**JOB, "executes": HELD, "request_id": "{{ run_id }}", "tony_conn_id": "tony_held_together"}
    TonyOperator.partial(task_id="train", wait_for_completion=False, **same).expand(env=[{}] * 8)

with dag("clear_after_success"):
    TonyOperator(task_id="train", executes=writes(model_path="/models/$TONY_JOB_ID"), **JOB)

with dag("mark_success_running"):
    trains(retries=1)

with dag("clear_running"):
    trains(retries=1)

with dag("mark_failed_in_submit"):
    trains(tony_conn_id="tony_held_before")

with dag("clear_deferred"):
    trains(deferrable=True)

with dag("timeout_sync"):
    trains(execution_timeout=datetime.timedelta(seconds=8))

with dag("timeout_deferred"):
    trains(deferrable=True, execution_timeout=datetime.timedelta(seconds=20))

with dag("scheduler_kill9"):
    trains(task_id="deferred", deferrable=True)
    trains(task_id="running", retries=1)

with dag("triggerer_sigterm"):
    trains(deferrable=True)

with dag("worker_kill9_in_submit"):
    trains(tony_conn_id="tony_held_after", retries=1)

with dag("one_request_each_night"):
    nightly = {**JOB, "executes": writes(model_path="/models/$TONY_JOB_ID"), "tony_conn_id": "tony_never_sent"}
    TonyOperator(task_id="awaited", request_id="nightly-awaited", retries=1, **nightly)
    TonyOperator(task_id="left", request_id="nightly-left", retries=1, wait_for_completion=False, **nightly)

with dag("stalled_worker"):
    trains(writes(model_path="/models/stalled"), retries=1)

with dag("stalled_triggerer"):
    trains(deferrable=True)

with dag("server_away"):
    # Airflow 3 also starts tries while its server is down: they fail before they do anything, and they count.
    trains(writes(model_path="/models/away"), retries=5, retry_delay=datetime.timedelta(seconds=10))

with dag("two_homes"):
    trains(tony_conn_id="tony_of_two_homes", retries=1)

with dag("ended_unseen"):
    trains(writes(model_path="/models/deferred"), task_id="deferred", deferrable=True)
    trains(writes(model_path="/models/running"), task_id="running", retries=1)

with dag("am_keeper_kill9"):
    trains(deferrable=True)

with dag("short_deferral"):
    short = {**JOB, "executes": "sleep 1; " + writes(model_path="/models/short"), "defer_after": 0}
    TonyOperator(task_id="train", deferrable=True, retries=2, **short)

with dag("nobody_left"):
    trains(deferrable=True, watch_timeout=10)

# The unchanged step of an Azkaban flow, with its file and its program. Azkaban itself replaces ${NAME}, so the
# properties with such a name are set again here.
with dag("properties_file"):
    preparing = f"$TRAINING_PYTHON {SAMPLES}/azkaban/src/prepare.py $AIRFLOW_HOME/digits"
    prepare = BashOperator(
        task_id="prepare",
        bash_command=preparing + " && cat $JOB_OUTPUT_PROP_FILE",
        env={"JOB_OUTPUT_PROP_FILE": os.environ["AIRFLOW_HOME"] + "/prepared.json"},
        append_env=True,
        output_processor=json.loads,
    )
    prepared = "{% set made = ti.xcom_pull('prepare') %}--data '{{ made['data.path'] }}' --rows {{ made['data.rows'] }}"
    prepare >> TonyOperator(
        task_id="train",
        directory=str(SAMPLES / "azkaban"),
        properties="flow-1.0/train.job",
        python_binary_path=os.environ["TRAINING_PYTHON"],
        task_params=prepared + " --model-dir '{{ made['data.path'] }}/model' --epochs 10",
    )

with dag("outputs_and_links"):
    trains(writes(model_path="/models/m", accuracy="0.97"), task_id="deferred", deferrable=True)
    trains(writes(model_path="/models/m", accuracy="0.97"), task_id="running")

with dag("secrets"):
    said = ['echo "signed in with $PASSWORD" >&2', 'echo "$PASSWORD" | sha256sum >&2', 'echo "$TOKEN" | sha256sum >&2', "exit 3"]
    token = {"TOKEN": FromConnection("the_token")}
    trains(*said, env={"PASSWORD": "{{ dag_run.conf['word'] }}"}, secrets=token)

with dag("submit_only"):
    trains(writes(model_path="/models/later"), wait_for_completion=False)

with dag("sensors"):
    awaited = {"request_id": "{{ dag_run.conf['request_id'] }}", "poke_interval": 1}
    TonyJobSensor(task_id="poke", **awaited)
    TonyJobSensor(task_id="deferred", deferrable=True, **awaited)

with dag("dags_test"):
    tested = {**JOB, "executes": "sleep 3; " + writes(model_path="/models/tested")}
    TonyOperator(task_id="train", deferrable=True, **tested) >> EmptyOperator(task_id="after")

with dag("stream_logs"):
    # The text is only in the log, not in the command.
    said = ["echo first' 'line", "echo to' 'the errors >&2", HELD, "echo last' 'line"]
    streaming = {**JOB, "executes": "; ".join(said), "get_logs": "stream"}
    TonyOperator(task_id="deferred", deferrable=True, **streaming)
    TonyOperator(task_id="running", **streaming)

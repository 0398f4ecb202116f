"""Two Dags: `digits` prepares data, trains, scores and deploys; `digits_from_azkaban` trains by an Azkaban step's file.

Airflow's processes import no numeric packages: each step is a program in the training environment, `params.python`.
"""

import json
from datetime import timedelta
from pathlib import Path

from tony_airflow.operators.tony import TonyOperator

try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG, Param
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.models.param import Param
    from airflow.operators.bash import BashOperator

HERE = Path(__file__).parent
HOME = Path.home() / "tony-digits"

PARAMS = {
    "epochs": Param(10, type="integer", minimum=1, description="Length of the training; 500 epochs take about 20 s."),
    "python": Param(f"{HOME}/venv/bin/python", type="string", description="The Python that has jax and scikit-learn."),
    "folder": Param(f"{HOME}", type="string", description="Folder of data and models, which all machines must see."),
}
MORE_PARAMS = {
    "workers": Param(2, type="integer", minimum=1, description="How many processes train together."),
    "least_accuracy": Param(0.9, type="number", description="A model with a lower accuracy is not deployed."),
}

# Without this each worker would use all cores of the machine that the workers share.
ONE_CORE = {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}


def program(task_id: str, bash_command: str, env: dict[str, str], **more) -> BashOperator:
    """Returns a step in the training environment. Airflow renders `env`; only the shell expands the command."""
    env = {"PYTHON": "{{ params.python }}", "PYTHONPATH": "src", **env}
    return BashOperator(task_id=task_id, bash_command=bash_command, env=env, append_env=True, cwd=str(HERE), **more)


def prepare() -> BashOperator:
    """Passes the values of prepare.py to the next steps: `data.path` and `data.rows`."""
    return program(
        "prepare",
        'mkdir -p "$RUN" && "$PYTHON" src/prepare.py "$RUN/data" && cat "$JOB_OUTPUT_PROP_FILE"',
        env={
            "RUN": "{{ params.folder }}/{{ run_id }}",
            "JOB_OUTPUT_PROP_FILE": "{{ params.folder }}/{{ run_id }}/prepared.json",
        },
        output_processor=json.loads,
    )


with DAG("digits", schedule=None, params=PARAMS | MORE_PARAMS, tags=["tony"]):
    train = TonyOperator(
        task_id="train",
        name="digits",
        framework="jax",
        tasks={"worker": {"instances": "{{ params.workers }}", "memory": "1g", "vcores": 1}},
        src_dir="src",
        executes="train.py",
        task_params="--data '{{ ti.xcom_pull('prepare')['data.path'] }}'"
        " --rows {{ ti.xcom_pull('prepare')['data.rows'] }}"
        " --model-dir '{{ params.folder }}/{{ run_id }}/model' --epochs {{ params.epochs }}",
        python_binary_path="{{ params.python }}",
        env=ONE_CORE,
        deferrable=True,
        retries=1,
        retry_delay=timedelta(seconds=10),
        execution_timeout=timedelta(minutes=10),
    )
    score = program(
        "score",
        '"$PYTHON" score.py --model "$MODEL" --data "$DATA"',
        env={
            "MODEL": "{{ ti.xcom_pull('train')['model.path'] }}",
            "DATA": "{{ ti.xcom_pull('prepare')['data.path'] }}",
        },
        output_processor=json.loads,
    )
    deploy = program(
        "deploy",
        '"$PYTHON" src/deploy.py --model "$MODEL" --data "$DATA" --accuracy "$ACCURACY"'
        ' --least-accuracy "$LEAST_ACCURACY" --to "$TO"',
        env={
            "MODEL": "{{ ti.xcom_pull('train')['model.path'] }}",
            "DATA": "{{ ti.xcom_pull('prepare')['data.path'] }}",
            "ACCURACY": "{{ ti.xcom_pull('score')['accuracy'] }}",
            "LEAST_ACCURACY": "{{ params.least_accuracy }}",
            "TO": "{{ params.folder }}/deployed/model.npz",
        },
    )
    prepare() >> train >> score >> deploy

with DAG("digits_from_azkaban", schedule=None, params=PARAMS, tags=["tony"]):
    prepare() >> TonyOperator(
        task_id="train",
        properties="train.job",
        # The values that Azkaban inserts for ${...} in that file: flow parameters, and outputs of earlier steps.
        conf={
            "python": "{{ params.python }}",
            "epochs": "{{ params.epochs }}",
            "work.dir": "{{ params.folder }}/{{ run_id }}",
            "data.path": "{{ ti.xcom_pull('prepare')['data.path'] }}",
            "data.rows": "{{ ti.xcom_pull('prepare')['data.rows'] }}",
        },
        deferrable=True,
        retries=1,
        retry_delay=timedelta(seconds=10),
        execution_timeout=timedelta(minutes=10),
    )

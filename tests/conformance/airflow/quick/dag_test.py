"""Dags with the provider: parsing, rendered fields, files next to the Dags, and their serialization."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest.mock
from typing import Any

from .case import AIRFLOW_2, QuickCase

DAG_TEXT = """
import datetime
try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG
from tony_airflow.operators.tony import TonyOperator
from tony_airflow.sensors.tony import TonyJobSensor

with DAG("flow", schedule=None, start_date=datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)) as dag:
    train = TonyOperator(task_id="train", properties="jobs/train.job", deferrable=False, get_logs="none")
    full = TonyOperator(task_id="full", spec={"framework": "jax"}, executes="a.py", tags=["a"], env={"B": "c"},
                        tasks={"worker": {"instances": 2}}, deferrable=True, retries=2,
                        execution_timeout=datetime.timedelta(hours=1), skip_on_exit_code=[3, 4], non_retryable=["oom"])
    TonyOperator.partial(task_id="many", executes="a.py").expand(env=[{"N": "1"}, {"N": "2"}])
    TonyJobSensor(task_id="sense", job_id="{{ ti.xcom_pull('train', key='job_id') }}", deferrable=True)
"""


def serialization() -> Any:
    from airflow.serialization import serialized_objects

    return getattr(serialized_objects, "DagSerialization", None) or serialized_objects.SerializedDAG  # before 3.2


def serialized(dag: Any) -> str:
    return json.dumps(serialization().to_dict(dag), sort_keys=True, default=str)


class DagCase(QuickCase):
    def write_dag(self, text: str = DAG_TEXT) -> pathlib.Path:
        return self.folder_with("flow.py", text)

    def parse(self, file: pathlib.Path) -> Any:
        """Parses the file as Airflow does: by running it."""
        spec = importlib.util.spec_from_file_location("a_dag_file", file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.dag

    def rendered(self, task: Any) -> Any:
        context = self.context(task, run_id="run-7")
        context["params"] = {"epochs": 3}
        task.render_template_fields(context)
        return task


class ParseTest(DagCase):
    def test_parsing_a_dag_opens_no_connection_and_starts_no_process(self) -> None:
        self.set_environment("AIRFLOW_CONN_TONY_DEFAULT", None)
        check = f"""
import os, socket, subprocess, sys
import airflow
def audit(event, arguments):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "socket.connect", "sqlite3.connect"):
        print("not allowed:", event, arguments[:2], flush=True)
        os._exit(3)
sys.path.insert(0, {str(self.world.folder)!r})
from airflow.models.dag import DAG
sys.addaudithook(audit)
exec(compile(open({str(self.write_dag())!r}).read(), "flow.py", "exec"))
print("parsed")
"""
        done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout.split()[-1:]), (0, ["parsed"]), done.stdout + done.stderr)

    def test_airflow_parses_a_dag_file_with_tony_operators_without_errors(self) -> None:
        file = self.write_dag()
        try:
            from airflow.dag_processing.dagbag import DagBag
        except ImportError:  # before 3.2
            from airflow.models.dagbag import DagBag
        bag = DagBag(str(file.parent), **({"include_examples": False} if AIRFLOW_2 else {}))
        self.assertEqual(bag.import_errors, {})
        self.assertEqual(sorted(bag.dags["flow"].task_ids), ["full", "many", "sense", "train"])

    def test_airflow_parses_the_example_dags_without_errors(self) -> None:
        import tony_airflow.example_dags

        folder = pathlib.Path(tony_airflow.example_dags.__file__).parent
        names = []
        for file in folder.glob("example_*.py"):
            spec = importlib.util.spec_from_file_location(file.stem, file)
            assert spec and spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            names += [module.submit.dag.dag_id, module.train.dag.dag_id]
            serialized(module.train.dag)
        self.assertEqual(names, ["example_tony_sensor", "example_tony"])

    def test_parsing_a_dag_file_twice_gives_the_same_serialization(self) -> None:
        """A difference between two parses would create a new version of the Dag every half a minute."""
        file = self.write_dag()
        first, second = serialized(self.parse(file)), serialized(self.parse(file))
        self.assertEqual(first, second)
        self.assertNotRegex(first, "object at 0x")
        self.assertNotRegex(first, "[0-9a-f]{32}")
        self.assertIn("TonyJobLink" if AIRFLOW_2 else "TonY job", first)

    def test_a_dag_can_be_restored_from_its_serialization(self) -> None:
        dag = self.parse(self.write_dag())
        kind = serialization()
        again = kind.from_dict(json.loads(json.dumps(kind.to_dict(dag), default=str)))
        task = again.get_task("full")
        self.assertEqual(task.task_type, "TonyOperator")
        self.assertEqual(tuple(task.template_fields), dag.get_task("full").template_fields)
        self.assertEqual(task.retries, 2)

    def test_a_deep_copy_of_an_operator_has_the_same_arguments(self) -> None:
        import copy

        task = self.parse(self.write_dag()).get_task("full")
        again = copy.deepcopy(task)
        self.assertEqual(
            (again.spec, again.tasks, again.skip_on_exit_code), (task.spec, task.tasks, task.skip_on_exit_code)
        )


class RenderTest(DagCase):
    def test_every_templated_field_is_rendered(self) -> None:
        from tony_airflow.operators.tony import TonyOperator

        text, want = "{{ run_id }}-{{ params.epochs }}", "run-7-3"
        nested = {"spec": {"a": {"b": [text]}}, "properties": {"tony.a": text}, "tasks": {"w": {"command": text}},
                  "tags": [text], "mounts": [text], "env": {"A": text}, "conf": {"tony.b": text}, "files": [text]}  # fmt: skip
        texts = ["name", "framework", "executes", "task_params", "src_dir", "python_venv", "python_binary_path",
                 "container", "directory", "proxy_user", "request_id"]  # fmt: skip
        self.assertEqual(sorted(TonyOperator.template_fields), sorted([*nested, *texts]))
        given = {name: nested.get(name, text) for name in TonyOperator.template_fields}
        task = self.rendered(self.operator(**given))
        for name in TonyOperator.template_fields:
            with self.subTest(name):
                self.assertEqual(getattr(task, name), json.loads(json.dumps(given[name]).replace(text, want)))

    def test_rendering_leaves_values_other_than_text_unchanged(self) -> None:
        tasks = {"w": {"instances": 4, "gpus": None, "untracked": True, "ratio": 0.5}}
        self.assertEqual(self.rendered(self.operator(tasks=tasks)).tasks, tasks)

    def test_rendering_does_not_replace_a_file_name_by_the_content_of_the_file(self) -> None:
        task = self.rendered(
            self.operator(executes="run.sh", python_venv="venv.json", files=["core-site.xml", "a.job", "x.yaml"])
        )
        self.assertEqual((task.executes, task.files), ("run.sh", ["core-site.xml", "a.job", "x.yaml"]))

    def test_the_sensor_renders_its_job_id(self) -> None:
        from tony_airflow.sensors.tony import TonyJobSensor

        with self.dag():
            sensor = TonyJobSensor(task_id="s", job_id="{{ run_id }}")
        self.assertEqual(self.rendered(sensor).job_id, "run-7")


class FileTest(DagCase):
    def submitted(self, task: Any) -> dict[str, Any]:
        context = self.context(task, run_id="run-7")
        context["params"] = {"epochs": 3}
        task.render_template_fields(context)
        task.execute(context)
        return json.loads(self.world.calls("submit")[-1]["stdin"])

    def test_properties_are_read_from_a_file_beside_the_dag_and_rendered(self) -> None:
        file = self.write_dag()
        (file.parent / "jobs").mkdir()
        (file.parent / "jobs/train.job").write_text(
            "type=TonYJob\ntony.worker.command=train --epochs {{ params.epochs }}\n"
        )
        document = self.submitted(self.parse(file).get_task("train"))
        self.assertEqual(document["properties"].strip(), "type=TonYJob\ntony.worker.command=train --epochs 3")
        self.assertEqual(self.world.calls("submit")[0]["cwd"], str(file.parent))

    def test_a_spec_may_be_a_text_or_a_file_in_json_or_yaml(self) -> None:
        folder = self.folder_with("s.tony.json", '{"framework": "{{ run_id }}"}').parent
        self.folder_with("s.tony.yaml", "framework: jax\ntasks: {worker: {instances: 2}}\n")
        cases = {
            "s.tony.json": {"framework": "run-7"},
            "s.tony.yaml": {"framework": "jax", "tasks": {"worker": {"instances": 2}}},
            '{"framework": "jax"}': {"framework": "jax"},
            "framework: jax\nname: n\n": {"framework": "jax", "name": "n"},
        }
        for given, want in cases.items():
            with self.subTest(given):
                spec = self.submitted(self.operator(spec=given, directory=str(folder)))["spec"]
                self.assertEqual(spec, {"name": spec["name"], **want})

    def test_a_missing_properties_file_is_named_in_an_error_before_the_submit(self) -> None:
        with self.assertRaisesRegex(Exception, "nothing.job"):
            self.submitted(self.operator(properties="nothing.job"))
        self.assertNotIn("submit", self.world.verbs())

    def test_a_spec_that_is_neither_json_nor_yaml_is_refused(self) -> None:
        for spec in ("{", "a: b: c"):
            with self.subTest(spec), self.assertRaisesRegex(Exception, "spec"):
                self.submitted(self.operator(spec=spec))
        self.assertNotIn("submit", self.world.verbs())


class LinkTest(DagCase):
    @unittest.skipUnless(AIRFLOW_2, "Airflow 3 asks in the task's process")
    def test_links_are_read_from_xcoms_and_are_empty_after_a_read_error(self) -> None:
        from tony_airflow.links.tony import TonyJobLink, TonyLogsLink

        def broken(*_: Any, **__: Any) -> None:
            raise RuntimeError("no database")

        with unittest.mock.patch("tony_airflow.links.tony.read_xcom", broken):
            self.assertEqual(TonyJobLink().get_link(self.operator(), ti_key=None), "")
        with unittest.mock.patch("tony_airflow.links.tony.read_xcom", lambda ti_key, key: f"{ti_key}/{key}"):
            self.assertEqual(TonyJobLink().get_link(self.operator(), ti_key="k"), "k/tracking_url")
            self.assertEqual(TonyLogsLink().get_link(self.operator(), ti_key="k"), "k/logs_url")
        with unittest.mock.patch("tony_airflow.links.tony.read_xcom", lambda ti_key, key: None):
            self.assertEqual(TonyLogsLink().get_link(self.operator(), ti_key="k"), "")

    @unittest.skipIf(AIRFLOW_2, "Airflow 2 asks in its web server")
    def test_links_are_read_from_the_task_and_not_from_xcoms_in_airflow_3(self) -> None:
        from tony_airflow.links.tony import TonyJobLink, TonyTensorBoardLink

        task = self.operator()
        with unittest.mock.patch("tony_airflow.links.tony.read_xcom", side_effect=AssertionError):
            self.assertEqual(TonyJobLink().get_link(task, ti_key="k"), "")
            task.urls = {"tracking_url": "http://host/"}
            self.assertEqual(TonyJobLink().get_link(task, ti_key="k"), "http://host/")
            self.assertEqual(TonyTensorBoardLink().get_link(task, ti_key="k"), "")

    def test_links_have_the_xcom_keys_of_airflow_3(self) -> None:
        from tony_airflow.links.tony import LINKS

        keys = ["_link_TonyJobLink", "_link_TonyLogsLink", "_link_TonyTensorBoardLink"]
        self.assertEqual([link.xcom_key for link in LINKS], keys)

    def test_only_a_job_with_a_tensorboard_task_has_a_tensorboard_link(self) -> None:
        task = self.operator()
        context = self.context(task)
        self.execute(task, context)
        self.assertNotIn("tensorboard_url", context["ti"].xcoms)
        self.world.play(beside=["tensorboard:0"])
        self.connect(history_url="http://history:7000")
        task = self.operator()
        context = self.context(task)
        self.execute(task, context)
        xcoms = context["ti"].xcoms
        self.assertEqual(xcoms["tensorboard_url"], "http://history:7000/played-2/tensorboard")
        if not AIRFLOW_2:
            self.assertEqual(xcoms["_link_TonyTensorBoardLink"], xcoms["tensorboard_url"])

    def test_the_link_of_an_ended_job_leads_to_the_history_url(self) -> None:
        self.connect(history_url="http://history:7000/")
        task = self.operator()
        context = self.context(task)
        self.execute(task, context)
        self.assertTrue(context["ti"].xcoms["tracking_url"].startswith("http://history:7000/"))
        self.assertIn("played-1", context["ti"].xcoms["tracking_url"])

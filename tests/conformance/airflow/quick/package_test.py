"""The package: its content, the parts that Airflow finds after the installation, and the modules that importing it
loads."""

import ast
import configparser
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile
from collections.abc import Iterable
from typing import Any

import airflow
import jsonschema

from . import CLIENT, HOME, PROVIDER

CHECKS = os.environ.get("TONY_CHECKS_PYTHON", "")
BUDGET = 600  # the expected lines of such a provider; more lines are only reported

# Airflow's own command line, for all queries in one process, because each start takes seconds.
ASK_AIRFLOW = """
import sys
from airflow.cli import cli_parser
for words in (["list"], ["get", "--full", "airflow-provider-tony"], ["hooks"], ["links"], ["triggers"]):
    sys.stdout.write("\\n== " + words[0] + "\\n")
    words += ["--output", "json"]
    arguments = cli_parser.get_parser().parse_args(["providers", *words])
    arguments.func(arguments)
"""
READ_LINKS = """
import datetime, json
from airflow.serialization import serialized_objects as kept
from tony_airflow.operators.tony import TonyOperator
from airflow.providers.common.compat.sdk import DAG
kind = getattr(kept, "DagSerialization", None) or kept.SerializedDAG
with DAG("flow", schedule=None, start_date=datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)) as dag:
    TonyOperator(task_id="train", executes="a.py")
again = kind.from_dict(json.loads(json.dumps(kind.to_dict(dag), default=str)))
print("links:", sorted(again.get_task("train").extra_links))
"""
IMPORT_ALL = """
import importlib, os, sys
try:  # Airflow itself is free to do so
    import airflow.sdk, airflow.triggers.base
except ImportError:
    import airflow.models.baseoperator, airflow.hooks.base, airflow.sensors.base, airflow.triggers.base
def audit(event, arguments):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.fork", "socket.connect", "sqlite3.connect"):
        print("not allowed:", event, arguments[:2], flush=True)
        os._exit(3)
sys.addaudithook(audit)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(" ".join(name for name in sys.modules if name.startswith("tony_airflow")))
"""
# Modules that Airflow provides for packages like this one.
FOR_OTHERS = {"airflow", "airflow.sdk", "airflow.sdk.log", "airflow.utils.log.secrets_masker", "airflow.triggers.base",
              "airflow.providers.common.compat.sdk"}  # fmt: skip
EXAMPLES = PROVIDER / "tony_airflow/example_dags"  # these are Dags and import what Dags import


def run(words: list[Any], path: pathlib.Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{path or ''}:{CLIENT}", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    words = [str(word) for word in words]
    done = subprocess.run(words, env=environment, cwd=HOME, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, check=False)  # fmt: skip
    if done.returncode:
        raise AssertionError(f"{words[1:4]}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def files_in(folder: pathlib.Path) -> set[str]:
    return {
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def imports(nodes: Iterable[ast.AST]) -> set[str]:
    """Returns the modules of Airflow that some statements import, including the statements of a `try`."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Try):
            found |= imports([*node.body, *(statement for handler in node.handlers for statement in handler.body)])
    return {name for name in found if name.split(".")[0] == "airflow"}


@unittest.skipUnless(CHECKS, "TONY_CHECKS_PYTHON names no environment of requirements-checks.txt")
class InstalledTest(unittest.TestCase):
    maxDiff = None
    work: pathlib.Path
    site: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        """Builds a wheel from a copy, because a build may leave files next to its sources. Installs the copy at the
        same time."""
        cls.work = HOME / "package"
        copy = cls.work / "source"
        shutil.copytree(PROVIDER, copy, ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache"))
        run([CHECKS, "-m", "build", "--wheel", "--no-isolation", "--outdir", cls.work, copy])
        (cls.wheel,) = cls.work.glob("*.whl")
        install = [
            CHECKS,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
            "--no-compile",
        ]
        cls.site = cls.work / "site"
        run([*install, "--target", cls.site, cls.wheel])
        run([*install, "--target", cls.work / "folder", copy])
        cls.answers = run([sys.executable, "-c", ASK_AIRFLOW], cls.site)

    def answer(self, question: str) -> str:
        return self.answers.split(f"\n== {question}\n")[1].split("\n== ")[0]

    def test_the_wheel_contains_exactly_the_modules_the_license_and_the_metadata(self) -> None:
        names = set(zipfile.ZipFile(self.wheel).namelist())
        ours = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
        self.assertEqual(ours, {f"tony_airflow/{name}" for name in files_in(PROVIDER / "tony_airflow")})
        self.assertLessEqual({"tony_airflow/operators/tony.py", "tony_airflow/py.typed"}, ours)
        about = {name.split("/", 1)[1] for name in names - ours}
        self.assertLessEqual({"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}, about)
        self.assertFalse([name for name in names if "test" in name])

    def test_the_wheel_and_the_source_folder_install_the_same_files(self) -> None:
        def modules(folder: pathlib.Path) -> set[str]:
            return {name for name in files_in(folder) if ".dist-info/" not in name}

        self.assertEqual(modules(self.site), modules(self.work / "folder"))

    def test_the_metadata_names_the_required_packages_without_upper_bounds(self) -> None:
        (info,) = self.site.glob("airflow_provider_tony-*.dist-info")
        text = (info / "METADATA").read_text()
        self.assertIn("Name: airflow-provider-tony", text)
        self.assertRegex(text, "Requires-Python: >=3.10")
        self.assertIn("License-Expression: Apache-2.0", text)
        self.assertIn("Requires-Dist: apache-airflow>=2.11,!=3.0.*", text)
        self.assertIn("Requires-Dist: apache-airflow-providers-common-compat>=", text)
        self.assertIn("Requires-Dist: tony-runtime>=", text)
        self.assertNotRegex(text, "Requires-Dist: .*[<=]=")  # an upper bound breaks other installations
        entry_points = configparser.ConfigParser()
        entry_points.read(info / "entry_points.txt")
        self.assertEqual(
            entry_points["apache_airflow_provider"]["provider_info"], "tony_airflow.get_provider_info:get_provider_info"
        )

    def test_the_hook_finds_the_wheels_tony_program_even_if_path_lacks_its_folder(self) -> None:
        """A service of Airflow lacks the environment's folder in its $PATH, and the connection has no `cli`."""
        ask = "import sys; sys.path.append(sys.argv[1])\nfrom tony_airflow.hooks.tony import TonyHook\nprint(TonyHook().version())"
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(HOME), "AIRFLOW_HOME": str(HOME)}
        done = subprocess.run([sys.executable, "-P", "-c", ask, self.site], env=environment, cwd="/", capture_output=True,
                              text=True, timeout=120, check=False)  # fmt: skip
        self.assertIn("'schema': 1", done.stdout, done.stderr)

    def test_airflow_lists_the_provider(self) -> None:
        self.assertIn("airflow-provider-tony", self.answer("list"))

    def test_airflow_lists_the_hook_links_and_trigger_of_the_provider(self) -> None:
        text = self.answer("get")
        self.assertIn("tony_airflow.hooks.tony.TonyHook", text)
        self.assertIn("tony_airflow.links.tony.TonyJobLink", text)
        self.assertIn("tony_airflow.hooks.tony.TonyHook", self.answer("hooks"))
        for link in ("TonyJobLink", "TonyLogsLink", "TonyTensorBoardLink"):
            self.assertIn(f"tony_airflow.links.tony.{link}", self.answer("links"))
        self.assertIn("tony_airflow.triggers.tony", self.answer("triggers"))

    def test_airflow_logs_no_warning_or_error_about_the_provider(self) -> None:
        signs = ("WARN", "ERROR", "warning  ]", "error  ", "Traceback", "Exception")
        about_us = [line for line in self.answers.splitlines() if "tony" in line.lower()]
        complaints = [line for line in about_us if any(sign in line for sign in signs)]
        self.assertEqual(complaints, [])

    def test_a_deserialized_dag_has_the_links_of_its_tasks(self) -> None:
        self.assertIn("links: ['TonY TensorBoard', 'TonY job', 'TonY logs']", run([sys.executable, "-c", READ_LINKS], self.site))


class ContentTest(unittest.TestCase):
    def modules(self) -> list[str]:
        files = [file for file in (PROVIDER / "tony_airflow").rglob("*.py") if EXAMPLES not in file.parents]
        names = [file.relative_to(PROVIDER).with_suffix("") for file in files]
        return sorted(".".join(name.parts).removesuffix(".__init__") for name in names)

    def test_the_provider_info_matches_airflows_schema(self) -> None:
        from tony_airflow.get_provider_info import get_provider_info

        info = get_provider_info()
        schema = json.loads((pathlib.Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
        jsonschema.validate(info, schema)
        self.assertEqual(info, json.loads(json.dumps(info)))
        for kind in ("operators", "sensors", "hooks", "triggers"):
            for group in info[kind]:
                self.assertLessEqual(set(group["python-modules"]), set(self.modules()))

    def test_every_extra_field_of_the_connection_is_declared_to_airflow(self) -> None:
        from tony_airflow.get_provider_info import get_provider_info

        fields = get_provider_info()["connection-types"][0]["conn-fields"]
        self.assertEqual(set(fields), {"cli", "home", "conf_dir", "proxy_user", "namespace", "history_url"})

    def test_every_source_file_starts_with_the_license_notice(self) -> None:
        for file in (PROVIDER / "tony_airflow").rglob("*.py"):
            text = file.read_text()
            self.assertTrue(not text or text.startswith("# Licensed under the Apache License, Version 2.0"), file)
        self.assertIn("Version 2.0, January 2004", (PROVIDER / "LICENSE").read_text())

    def test_no_source_file_has_an_assert_statement(self) -> None:
        for file in (PROVIDER / "tony_airflow").rglob("*.py"):
            found = [node.lineno for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Assert)]
            self.assertEqual(found, [], file)

    def test_the_changelog_has_a_section_for_the_current_version(self) -> None:
        from tony_airflow import __version__

        self.assertIn(f"\n## {__version__}\n", (PROVIDER / "CHANGELOG.md").read_text())

    def test_importing_the_modules_starts_no_process_and_opens_no_connection(self) -> None:
        loaded = run([sys.executable, "-c", IMPORT_ALL, *self.modules()], PROVIDER).splitlines()[-1].split()
        self.assertEqual(sorted(loaded), self.modules())

    def test_only_compat_py_imports_airflow_and_imports_only_public_modules(self) -> None:
        for file in (PROVIDER / "tony_airflow").rglob("*.py"):
            if EXAMPLES in file.parents:
                continue
            with self.subTest(file.name):
                tree = ast.parse(file.read_text())
                self.assertLessEqual(imports(ast.walk(tree)), FOR_OTHERS if file.name == "_compat.py" else set())

    def test_the_number_of_source_lines_is_printed(self) -> None:
        files = (PROVIDER / "tony_airflow").rglob("*.py")
        lines = sum(1 for file in files for line in file.read_text().splitlines() if line.strip())
        print(f"the provider has {lines} lines that are not empty; {BUDGET} are meant", file=sys.stderr)
        self.assertGreater(lines, 100)

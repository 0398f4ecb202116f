"""The corpus through Airflow: for each property set, the real `tony` reads the operator's document as the job of its
golden."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest
from typing import Any

from . import REPOSITORY
from .case import QuickCase

BIN = os.environ.get("TONY_BIN_DIR", "")
CORPUS = REPOSITORY / "tests/corpus"
LIMIT = 60  # seconds for one plan


def of_the_corpus() -> Any:
    """Imports the corpus's own reader in Python, so that a golden is interpreted in one place only."""
    spec = importlib.util.spec_from_file_location("tony_corpus", CORPUS / "corpus_test.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["tony_corpus"] = module
    spec.loader.exec_module(module)
    return module


@unittest.skipUnless(BIN, "TONY_BIN_DIR names no folder with tony")
class CorpusTest(QuickCase):
    def setUp(self) -> None:
        super().setUp()
        self.corpus = of_the_corpus()
        self.home = self.world.folder / "corpus"
        self.environment = self.corpus.environment_in(self.home)

    def plan(self, name: str) -> dict[str, Any]:
        folder = self.home / name
        self.corpus.copy_set(name, folder)
        task = self.operator(properties=f"{name}.properties", directory=str(folder))
        context = self.context(task)
        task.render_template_fields(context)
        document = json.dumps(task.document(context))
        done = subprocess.run([pathlib.Path(BIN) / "tony", "plan", "-", "--json"], cwd=folder, env=self.environment,
                              input=document.encode(), capture_output=True, timeout=LIMIT, check=False)  # fmt: skip
        text = done.stdout.decode().replace("the job document: ", "")  # for text that is not properties
        plan = json.loads(text.replace(str(folder), "${DIR}").replace("properties:", "${SET}:"))
        return self.corpus.told(plan)

    def test_the_operator_plans_every_properties_file_as_its_golden_file(self) -> None:
        names = sorted(file.stem for file in CORPUS.glob("*.properties"))
        self.assertGreaterEqual(len(names), 45)
        for name in names:
            with self.subTest(name):
                golden = self.corpus.whole(self.corpus.load(name))
                self.assertEqual(self.plan(name), self.corpus.masked(name, golden))

"""The corpus through the program: `tony plan --json` of each set says what its golden says, with secrets masked; as a
file, and as text in a job document on standard input."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

CORPUS = pathlib.Path(__file__).resolve().parent
TONY = pathlib.Path(os.environ["TONY_BIN_DIR"]) / "tony"
LIMIT = 60  # seconds for one plan, far above what it takes: machines that run tests are noisy
MASK = "********"
# The variables of the sets that are secrets: by their names, the only thing there is to tell by.
SECRETS = {"env-secrets": {"DB_PASSWORD", "API_TOKEN", "aws_secret_access"}}
# What nobody asks too much of, so that no set is warned of this machine.
MACHINE = {"memory_mb": 1_000_000_000, "gpus": list(range(64))}


def load(name):
    return json.loads((CORPUS / f"{name}.json").read_text(encoding="utf-8"))


def changed(base, change):
    """`base` with the members of `change`; in objects of both, those of theirs."""
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    return {**base, **{name: changed(base.get(name), value) for name, value in change.items()}}


def whole(golden):
    """What a golden means, told in full."""
    if "error" in golden:
        return golden
    return {"warnings": golden["warnings"], "spec": changed(load("minimal")["spec"], golden["spec"])}


def masked(name, answer):
    for environment in ("execution_env", "container_env"):
        variables = answer.get("spec", {}).get(environment, {})
        variables.update({variable: MASK for variable in variables if variable in SECRETS.get(name, ())})
    return answer


def environment_in(home):
    """For a `tony` that has nothing but this folder."""
    (home / "ledger").mkdir(parents=True)
    (home / "ledger/machine.json").write_text(json.dumps(MACHINE))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TONY_")}
    return {**environment, "TONY_HOME": str(home / "home"), "TONY_LEDGER": str(home / "ledger")}


def copy_set(name, folder):
    """The files that sets speak of, or nothing, and the set itself, into a folder that is not there yet."""
    if name.startswith("bare-"):
        folder.mkdir()
    else:
        shutil.copytree(CORPUS / "files", folder)
    shutil.copy(CORPUS / f"{name}.properties", folder)


def told(plan):
    """What a golden has of a plan."""
    if "error" in plan:
        return {"error": {key: plan["error"][key] for key in ("code", "message")}}
    return {"warnings": plan["warnings"], "spec": plan["spec"]}


class CorpusTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tony-corpus-")).resolve()
        self.addCleanup(shutil.rmtree, self.home)
        self.environment = environment_in(self.home)

    def folder_of(self, name):
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.home)) / "x"
        copy_set(name, folder)
        return folder

    def tony_plan(self, folder, word, document=b""):
        run = subprocess.run([TONY, "plan", "--json", word], cwd=folder, env=self.environment, input=document,
                             capture_output=True, timeout=LIMIT)  # fmt: skip
        return run.returncode, run.stdout.decode().replace(str(folder), "${DIR}")

    def plan_file(self, name, folder):
        code, text = self.tony_plan(folder, f"{name}.properties")
        return code, json.loads(text.replace(f"{name}.properties", "${SET}"))

    def plan_document(self, name, folder):
        """A text that cannot be read is an error of the document; the place in it is told behind that."""
        text = (folder / f"{name}.properties").read_bytes().decode()
        code, answer = self.tony_plan(folder, "-", json.dumps({"properties": text}).encode())
        answer = answer.replace("the job document: ", "")
        return code, json.loads(re.sub(r"\bproperties(?=:\d)", "${SET}", answer))

    def expect_plan(self, name, plan_set):
        golden = load(name)
        code, plan = plan_set(name, self.folder_of(name))
        self.assertEqual(code, golden.get("error", {"code": 0})["code"])
        self.assertEqual(told(plan), masked(name, whole(golden)))

    def test_the_plan_of_every_properties_file_equals_its_golden_file(self):
        names = sorted(file.stem for file in CORPUS.glob("*.properties"))
        self.assertGreaterEqual(len(names), 45)
        for name in names:
            for plan_set in (self.plan_file, self.plan_document):
                with self.subTest(name, door=plan_set.__name__):
                    self.expect_plan(name, plan_set)


if __name__ == "__main__":
    unittest.main()

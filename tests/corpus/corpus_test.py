"""The corpus through the program: `tony plan --json` of each set says what its golden says, with secrets masked."""

import json
import os
import pathlib
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


class CorpusTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tony-corpus-")).resolve()
        self.addCleanup(shutil.rmtree, self.home)
        (self.home / "ledger").mkdir()
        (self.home / "ledger/machine.json").write_text(json.dumps(MACHINE))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TONY_")}
        self.environment.update(TONY_HOME=str(self.home / "home"), TONY_LEDGER=str(self.home / "ledger"))

    def folder_of(self, name):
        """The files that sets speak of, or nothing, and the set itself."""
        folder = self.home / name
        if name.startswith("bare-"):
            folder.mkdir()
        else:
            shutil.copytree(CORPUS / "files", folder)
        shutil.copy(CORPUS / f"{name}.properties", folder)
        return folder

    def plan(self, name):
        folder = self.folder_of(name)
        run = subprocess.run([TONY, "plan", "--json", f"{name}.properties"], cwd=folder, env=self.environment,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)  # fmt: skip
        text = run.stdout.decode().replace(str(folder), "${DIR}").replace(f"{name}.properties", "${SET}")
        return run.returncode, json.loads(text)

    def expect_plan(self, name):
        golden = load(name)
        code, plan = self.plan(name)
        self.assertEqual(code, golden.get("error", {"code": 0})["code"])
        if "error" in golden:
            answer = {"error": {key: plan["error"][key] for key in ("code", "message")}}
        else:
            answer = {"warnings": plan["warnings"], "spec": plan["spec"]}
        self.assertEqual(answer, masked(name, whole(golden)))

    def test_every_set_is_planned_as_its_golden_says(self):
        names = sorted(file.stem for file in CORPUS.glob("*.properties"))
        self.assertGreaterEqual(len(names), 45)
        for name in names:
            with self.subTest(name):
                self.expect_plan(name)


if __name__ == "__main__":
    unittest.main()

"""The jobs that `tony init` writes, run as its output recommends."""

import json
import os
import pathlib
import subprocess
import tempfile

from samples.run import LIMIT, expect


def trains(kind, bin_folder, environment):
    tony = pathlib.Path(bin_folder).resolve() / "tony"
    with tempfile.TemporaryDirectory(prefix="tony-first-") as folder:
        variables = dict(
            os.environ,
            TONY_HOME=f"{folder}/home",
            TONY_LEDGER=f"{folder}/ledger",
            PATH=f"{pathlib.Path(environment).absolute()}/bin:{os.environ['PATH']}",
        )
        program = pathlib.Path(folder, "program")
        program.mkdir()

        def run(*words):
            ended = subprocess.run(
                [tony, *words], cwd=program, env=variables, capture_output=True, text=True, timeout=LIMIT
            )
            print(ended.stdout + ended.stderr)
            expect(ended.returncode == 0, f"tony {words[0]}: exit code {ended.returncode}")
            return ended.stdout

        run("init", kind)
        run("submit", "job.yaml")
        result = json.loads(run("outputs", "last"))
        expect(result["workers"] == 2 and 0 < result["loss"] < 0.01, result)
        expect(sorted(file.name for file in program.iterdir()) == ["job.yaml", "train.py"], "more files than before")


def pytorch(*where):
    trains("pytorch", *where)


def jax(*where):
    trains("jax", *where)


def tensorflow(*where):
    trains("tensorflow", *where)

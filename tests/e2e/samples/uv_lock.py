"""samples/uv-lock."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from samples.run import SAMPLES, Run, expect

SAMPLE = SAMPLES / "uv-lock"


def environment_is_made_once(bin_folder, environment):
    """The second job reuses the environment, so it runs without uv."""
    tools = pathlib.Path(environment).resolve() / "bin"
    work = pathlib.Path(tempfile.mkdtemp(prefix="tony-uv-"))
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    try:
        project = shutil.copytree(SAMPLE, work / "with a space")
        subprocess.run(["uv", "lock", "--quiet", "--python", "/usr/bin/python3"], cwd=project, check=True)
        submit = (project / "job.properties", "-src_dir", project, "-executes", "train.py", "-python_venv")
        with Run(bin_folder, *submit, project / "uv.lock") as run:
            run.finish()
            judge(run)
            (made,) = run.home.glob("staged/[!.]*-venv")
            expect(not list(made.glob("lib/python3*/site-packages/pytest")), "it has what is for development")
            first = made.stat().st_ctime_ns
            again = subprocess.run([run.tony, "submit", *submit, project / "uv.lock"], env=run.env, check=False)
            expect(again.returncode == 0, f"the second job: exit code {again.returncode}")
            expect([*run.home.glob("staged/[!.]*-venv")] == [made], "another environment was made")
            expect(made.stat().st_ctime_ns == first, "it was made again")
        compiled = ["uv", "pip", "compile", "--quiet", "--generate-hashes", "pyproject.toml", "-o", "requirements.txt"]
        subprocess.run(compiled, cwd=project, check=True)
        with Run(bin_folder, *submit, project / "requirements.txt") as run:
            run.finish()
            judge(run)
    finally:
        shutil.rmtree(work)


def judge(run):
    for task in ("worker-0", "worker-1"):
        text = run.stdout(task)
        expect(re.search(r"slope 3\.0\d offset 1\.0\d|slope 2\.99 offset", text), text)
        expect(re.search(rf"^numpy 2\S* of {run.home}/jobs/\S+/venv/\S* in \S*/venv$", text, re.M), text)

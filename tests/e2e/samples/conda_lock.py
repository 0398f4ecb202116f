"""samples/conda-lock, with packages that conda_packages.py makes, and with the library of pixi instead of micromamba."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from samples import conda_packages
from samples.run import SAMPLES, Run, expect

SAMPLE = SAMPLES / "conda-lock"
INSTALLER = pathlib.Path(__file__).with_name("conda_installer.py")
LOOK = "venv/bin/greet one; venv/bin/script; cat venv/share/place.txt; tr -s '\\0' '\\n' <venv/share/place.bin"


def environment_is_made_once(bin_folder, environment):
    """The second job reuses the environment, and the installer is not called again."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="tony-conda-"))
    client = work / "micromamba"
    client.write_text(f'#!/bin/sh\nexec "{pathlib.Path(environment).resolve()}/bin/python" "{INSTALLER}" "$@"\n')
    client.chmod(0o755)
    os.environ.update(MAMBA_EXE=str(client), CONDA_PKGS_DIRS=str(work / "packages"))
    try:
        lock = work / "conda-linux-64.lock"
        conda_packages.write_lock(work / "channel", lock)
        before = modes(work / "channel")
        submit = (SAMPLE / "job.properties", "-src_dir", SAMPLE, "-python_venv", lock)
        with Run(bin_folder, *submit, "-executes", "train.py") as run:
            run.finish()
            judge(run)
            look = [run.tony, "submit", *submit, "-executes", LOOK, "-conf", "tony.worker.instances=1"]
            again = subprocess.run([*look, "--logs"], env=run.env, stdout=subprocess.PIPE, text=True, check=False)
            print(again.stdout)
            expect(again.returncode == 0, f"the second job: exit code {again.returncode}")
            (made,) = run.home.glob("staged/[!.]*-venv")
            judge_look(again.stdout, made)
            asked = (work / "asked").read_text().splitlines()
            expect(len(asked) == 1, f"the client was asked {len(asked)} times")
        expect(modes(work / "channel") == before, "the channel was changed")
        read_only = [file for file, mode in modes(work / "packages").items() if not mode & 0o200]
        expect(not read_only, f"read-only in the package cache: {read_only}")
    finally:
        shutil.rmtree(work)


def modes(folder):
    return {file: file.stat().st_mode for file in folder.rglob("*") if file.is_file()}


def judge(run):
    for task in ("worker-0", "worker-1"):
        text = run.stdout(task)
        expect(re.search(r"slope (2\.99|3\.0\d) offset (0\.99|1\.0\d)\n", text), text)
        expect("\ngreeting 1.0 place 1.0 python 3." in text, text)


def judge_look(text, made):
    expect("greetings from venv/bin/greet\n" in text, text)
    expect("a script that has greeting" in text, text)
    slashes = "/" * len("/.new-.01234567")  # pads to the length of the temporary path
    place = f"{made.parent}{slashes}{made.name}/share"
    expect(len(re.findall(rf"{place}$", text, re.M)) == 2, f"not twice {place}: {text}")
    expect("the rest" in text, text)

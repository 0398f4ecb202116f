"""A wheel of the built programs, and environments with this wheel installed."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from case import ONE, PackageCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["TONY_BIN_DIR"])
TOOLS = pathlib.Path(sys.executable).parent  # programs of requirements.txt
LIMIT = 120  # seconds
# A job from submit to outputs, with the installed package. Its working folder is outside of the repository's sandboxes.
USE = f"""import tony, sys
job = tony.submit(executes='echo hi; echo {{\\\\"a\\\\":1}} > $TONY_OUTPUT_FILE', framework='standalone', tasks={ONE})
lines = [line.text for line in job.logs(follow=True)]
job.wait()
print(tony.Program().found(), lines, job.outputs)
"""


def run(*words, fails=False, **options):
    """Returns the output; with `fails` also the error output, because a failure is expected."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, check=False, **options)  # fmt: skip
    if bool(done.returncode) != fails:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr if fails else done.stdout


def build(out, *words, bin_folder=BIN, **options):
    """Builds the wheel. It contains the files for YARN's nodes if they were built."""
    without = [] if (BIN / "tony-yarn-am.tar.gz").exists() else ["--without-hadoop"]
    return pathlib.Path(run(ROOT / "scripts/wheel", bin_folder, out, *without, *words, **options).strip())


@functools.cache
def the_wheel():
    """Returns the wheel, which all tests of a process share."""
    folder = tempfile.mkdtemp(prefix="tony-wheel-")
    atexit.register(shutil.rmtree, folder)
    return build(folder)


class InstalledCase(PackageCase):
    """A test whose programs do not see the repository in their path."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = pathlib.Path(tempfile.mkdtemp(prefix="tony-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.out)
        cls.wheel = the_wheel()
        cls.plain = {"HOME": str(cls.out), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PIP_NO_INDEX": "1",
                     "TONY_HOME": os.environ["TONY_HOME"], "TONY_LEDGER": os.environ["TONY_LEDGER"],
                     "UV_OFFLINE": "1", "UV_CACHE_DIR": str(cls.out / "uv cache"), "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip

    def run_there(self, *words, **options):
        return run(*words, env=self.plain, cwd=self.out, **options)

    def environment(self, name):
        folder = self.out / name
        self.run_there(sys.executable, "-m", "venv", folder)
        return folder

    def files(self, folder):
        return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if "__pycache__" not in file.parts)

    def use(self, python, program):
        self.assertEqual(self.run_there(python, "-c", USE).strip(), f"{program} ['hi'] {{'a': 1}}")

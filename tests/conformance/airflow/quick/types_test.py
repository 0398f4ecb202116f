"""The provider's types, held against those of the Airflow that runs this."""

import atexit
import os
import pathlib
import subprocess
import sys
import unittest

import airflow

from . import CLIENT, PROVIDER

# What Airflow leaves untyped, and stubs that are not there, are no faults of the provider.
LENIENT = [
    "--allow-subclassing-any",
    "--allow-untyped-calls",
    "--ignore-missing-imports",
    "--disable-error-code=import-untyped",
]
LIMIT = 300  # seconds
CHECKS = os.environ.get("TONY_CHECKS_PYTHON", "")
# What it has found out about Airflow and all that this imports; without it, 13 s of processor time.
CACHE = str(pathlib.Path(CHECKS).parents[1] / f"mypy-of-airflow-{airflow.__version__}") if CHECKS else ""
WORDS = [CHECKS, "-m", "mypy", "--strict", *LENIENT, "--python-executable", sys.executable, "--follow-imports=silent",
         "--cache-dir", CACHE, "-p", "tony_airflow"]  # fmt: skip


def begin() -> subprocess.Popen[str]:
    """It takes long the first time, so it runs beside the other tests, as soon as they are found."""
    mypy = subprocess.Popen(
        WORDS, cwd=PROVIDER, env={**os.environ, "MYPYPATH": str(CLIENT)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    atexit.register(mypy.kill)
    return mypy


MYPY = begin() if CHECKS else None


@unittest.skipUnless(CHECKS, "TONY_CHECKS_PYTHON names no environment of requirements-checks.txt")
class TypesTest(unittest.TestCase):
    def test_mypy_finds_nothing(self) -> None:
        """But for what _compat.py imports: it has the names of both Airflows, and one of them is never there."""
        assert MYPY
        out, err = MYPY.communicate(timeout=LIMIT)
        self.assertRegex(out, "source files", err)
        found = [
            line for line in out.splitlines() if ": error:" in line and not line.startswith("tony_airflow/_compat.py:")
        ]
        self.assertEqual(found, [])

"""Checks the provider's types against the types of the installed Airflow."""

import atexit
import os
import pathlib
import subprocess
import sys
import unittest

import airflow

from . import CLIENT, PROVIDER

# Untyped parts of Airflow and missing stubs are not faults of the provider.
LENIENT = [
    "--allow-subclassing-any",
    "--allow-untyped-calls",
    "--ignore-missing-imports",
    "--disable-error-code=import-untyped",
]
LIMIT = 300  # seconds
CHECKS = os.environ.get("TONY_CHECKS_PYTHON", "")
# The cache of its analysis of Airflow and of all imports, which takes 13 s of processor time.
CACHE = str(pathlib.Path(CHECKS).parents[1] / f"mypy-of-airflow-{airflow.__version__}") if CHECKS else ""
WORDS = [CHECKS, "-m", "mypy", "--strict", *LENIENT, "--python-executable", sys.executable, "--follow-imports=silent",
         "--cache-dir", CACHE, "-p", "tony_airflow"]  # fmt: skip


def begin() -> subprocess.Popen[str]:
    """Starts the checker when the tests are discovered, because its first run takes long."""
    mypy = subprocess.Popen(
        WORDS, cwd=PROVIDER, env={**os.environ, "MYPYPATH": str(CLIENT)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    atexit.register(mypy.kill)
    return mypy


MYPY = begin() if CHECKS else None


@unittest.skipUnless(CHECKS, "TONY_CHECKS_PYTHON names no environment of requirements-checks.txt")
class TypesTest(unittest.TestCase):
    def test_mypy_finds_no_error_in_the_provider(self) -> None:
        """_compat.py is exempt for its imports: it has the names of both Airflows, and one of the two is always
        missing."""
        assert MYPY
        out, err = MYPY.communicate(timeout=LIMIT)
        self.assertRegex(out, "source files", err)
        found = [
            line for line in out.splitlines() if ": error:" in line and not line.startswith("tony_airflow/_compat.py:")
        ]
        self.assertEqual(found, [])

"""How tests in Python are run by themselves, and the suites of scripts/test."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders whose tests need an environment with packages: the suite of scripts/test that makes it.
SUITES = {"tests/python/": "python-package", "tests/conformance/airflow/": "airflow-3.3.2"}
NEED_PROGRAMS = ("tests/contract/", "tests/corpus/", "tests/e2e/")
PAGE = "tests/e2e/page/page_test.py"  # takes no names


def suite_of(file):
    return next((suite for folder, suite in SUITES.items() if file.startswith(folder)), None)


def is_suite(word, root=ROOT):
    """A sample, which may have what is done to it behind its name, or the suite of an engine."""
    if re.fullmatch(r"(azkaban|airflow|docs|hadoop|python|storm)-[\w.-]+|mutants|packaging|simulation|upgrade", word):
        return True
    names = [word.rsplit("-", count)[0] for count in range(word.count("-") + 1)]
    return bool(re.fullmatch(r"[\w-]+", word)) and any((root / "samples" / name).is_dir() for name in names)


def needs_programs(file):
    return file.startswith(NEED_PROGRAMS)


def command(file, names, bin_folder):
    """The words and the variables; no names stand for all tests of the file."""
    words = ["/usr/bin/python3", "-B", str(ROOT / file)]
    if file == PAGE:
        return [*words, str(bin_folder)], {}
    return [*words, *names], {"TONY_BIN_DIR": str(bin_folder)} if needs_programs(file) else {}

"""The command that runs a Python test alone."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders whose tests need an environment with packages, and the unit of tests/lanes/units.toml that makes it.
UNITS = {"tests/python/": "python-all", "tests/conformance/airflow/": "airflow-quick"}
NEED_PROGRAMS = ("tests/contract/", "tests/corpus/", "tests/e2e/")
PAGE = "tests/e2e/page/page_test.py"  # takes no names


def unit_of(file):
    return next((unit for folder, unit in UNITS.items() if file.startswith(folder)), None)


def needs_programs(file):
    return file.startswith(NEED_PROGRAMS)


def command(file, names, bin_folder):
    """Returns the arguments and the variables. Without names all tests of the file run."""
    words = ["/usr/bin/python3", "-B", str(ROOT / file)]
    if file == PAGE:
        return [*words, str(bin_folder)], {}
    return [*words, *names], {"TONY_BIN_DIR": str(bin_folder)} if needs_programs(file) else {}

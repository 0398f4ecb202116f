"""Finds tests by name in their sources, without a build."""

import dataclasses
import difflib
import fnmatch
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CC_TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
# A row of a table, and the macro behind the rows that names their suite (tests/support/table_test.h).
CC_ROW = re.compile(r'^    \{"([A-Z]\w+)",|^TABLE_TEST\((\w+),', re.MULTILINE)
PYTHON_TEST = re.compile(r"^class (\w+)\(|^    (?:async )?def (test\w*)\(", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Test:
    name: str  # Suite.Name, or Class.test_name in Python
    file: str  # relative to the root


class NotFound(ValueError):
    """The error message is one line for a person."""


def cc_tests(text):
    """Yields the names of the tests of a source, "Suite.Name"."""
    yield from (f"{suite}.{name}" for suite, name in CC_TEST.findall(text))
    rows = []
    for row, suite in CC_ROW.findall(text):
        if row:
            rows.append(row)
        else:
            yield from (f"{suite}.{name}" for name in rows)
            rows = []


def tests_in(file, text):
    if file.endswith(".cc"):
        return [Test(name, file) for name in cc_tests(text)]
    found, suite = [], ""
    for new_suite, name in PYTHON_TEST.findall(text):
        suite = new_suite or suite
        if name:
            found.append(Test(f"{suite}.{name}", file))
    return found


def all_tests(root=ROOT):
    files = sorted([*root.glob("tests/**/*.cc"), *root.glob("tests/**/*_test.py")])
    return [test for file in files
            for test in tests_in(str(file.relative_to(root)), file.read_text(encoding="utf-8"))]


def with_parameters(names):
    """Returns a filter for GoogleTest. The name of a test with parameters is between its instance's name and their
    number."""
    return ":".join(f"{name}:*/{name}/*" for name in names)


def find(word, tests):
    """Returns the tests that a file, a folder, a name or a pattern means, and the filter for GoogleTest."""
    path = word.removeprefix(f"{ROOT}/").removeprefix("./").rstrip("/")
    found = [test for test in tests if is_at(test.file, path)]
    if found:
        return found, with_parameters(sorted({test.name for test in found}))
    core = core_of(word)
    found = [test for test in tests if fnmatch.fnmatchcase(test.name, core)]
    if not found:
        raise NotFound(f"{word}: no test has this name{near(core, tests)}")
    return found, word if "/" in word else with_parameters([core])


def is_at(file, path):
    whole = f"/{file}"
    return whole.endswith((f"/{path}", f"/{path}.cc")) or whole.startswith(f"/{path}/")


def core_of(pattern):
    """Removes the additions of parameters: Suite.Name from Instance/Suite.Name/7, and Suite.* from Suite."""
    found = re.fullmatch(r"(?:[\w*?]*/)?([\w*?.]+)(?:/[\w*?]*)?", pattern)
    if not found:
        raise NotFound(f"{pattern}: this is neither the name of a test, Suite.Name, nor a file with tests")
    return found[1] if re.search(r"[.*?]", found[1]) else f"{found[1]}.*"


def near(core, tests):
    suite, _, name = core.partition(".")
    suites = {test.name.partition(".")[0] for test in tests}
    if suite in suites:
        close = difflib.get_close_matches(core, {test.name for test in tests if test.name.startswith(f"{suite}.")}, 3, 0)
    else:
        close = difflib.get_close_matches(f"{suite}.{name}", {test.name for test in tests}, 3) if name != "*" else []
        close = close or difflib.get_close_matches(suite, suites, 3)
    return f"; near it: {', '.join(close)}" if close else ""

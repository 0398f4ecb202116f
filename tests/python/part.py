"""Runs the tests of one module: prints a line for each, and at last "N passed, M failed"."""

import importlib
import signal
import sys
import unittest


class Printed(unittest.TestResult):
    """Prints the results. A skipped test is printed and not counted."""

    def __init__(self):
        super().__init__()
        self.bad = set()

    def addSuccess(self, test):
        print(f"ok {name_of(test)}", flush=True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped {name_of(test)}: {reason}", flush=True)

    def addFailure(self, test, err):
        self.addError(test, err)

    def addError(self, test, err):
        self.bad.add(test.id())
        first = (str(err[1]).strip().splitlines() or [type(err[1]).__name__])[0]
        print(f"FAILED {name_of(test)}: {first}\n{self._exc_info_to_string(err, test)}", flush=True)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addError(test, err)


def name_of(test):
    words = test.id().split(".")
    return f"{words[0].removesuffix('_test')}: {words[-1].removeprefix('test_').replace('_', ' ')}"


def main(name):
    result = Printed()
    unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"{name}_test")).run(result)
    # A failure before the first test of a class is not a test that ran.
    passed = max(result.testsRun - len(result.bad) - len(result.skipped), 0)
    print(f"{passed} passed, {len(result.bad)} failed", flush=True)


if __name__ == "__main__":
    # SIGINT is ignored in programs started in the background; our children would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(sys.argv[1])

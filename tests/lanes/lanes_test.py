#!/usr/bin/env python3
"""The list of units, its budget, and the code that runs them, tested with programs that lie about their results, die
and hang."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import execution  # noqa: E402
import gtest  # noqa: E402
import record  # noqa: E402
import schedule  # noqa: E402
import test_names  # noqa: E402
import units  # noqa: E402

BUDGET = 1500  # CPU seconds of the default lane on a fast machine; the README has it in minutes
QUICK = 3.6  # seconds in which a fast machine compiles tests/lanes/calibration.cc

# A program like those of GoogleTest. The name of a test says what it does.
PROGRAM = r'''#!/usr/bin/env python3
import json, os, sys, time
tests = %r
options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
if "gtest_list_tests" in options:
    print("Suite.")
    print("\n".join("  " + test for test in tests + ["DISABLED_Test"]))
    sys.exit(0)
chosen = [name.split(".")[1] for name in options["gtest_filter"].split(":")]
cases, code = [], 0
for test in chosen:
    print(f"[ RUN      ] Suite.{test}", flush=True)
    if test == "Lies":
        print("[       OK ] Suite.Lies (0 ms)\n[  PASSED  ] 1 test.", flush=True)
        os._exit(0)
    if test == "Dies" or (test == "DiesBesideOthers" and len(chosen) > 1):
        os.abort()
    if test == "Hangs":
        time.sleep(60)
    case = {"name": test, "status": "RUN", "result": "COMPLETED", "time": "0.01s"}
    if test.startswith("Skips"):
        case["result"] = "SKIPPED"
    if test == "Fails":
        print("[  FAILED  ] Suite.Fails (0 ms)", flush=True)
        case["failures"], code = [{"failure": "x"}], 1
    if test != "IsSilent":
        cases.append(case)
with open(options["gtest_output"].removeprefix("json:"), "w") as out:
    json.dump({"testsuites": [{"name": "Suite", "testsuite": cases}]}, out)
sys.exit(code)
'''


def unit(name, **fields):
    return units.Unit(**{"name": name, "text": "", "lane": "default", "run": "true", **fields})


class TestPrograms(unittest.TestCase):
    def run_tests(self, *tests, may_skip=""):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            program.write_text(PROGRAM % (list(tests),))
            program.chmod(0o755)
            run = gtest.Run(unit("x", limits={"*Hangs": 1}, workers=2), dict(os.environ), may_skip, {})
            with contextlib.redirect_stdout(io.StringIO()) as out:
                run.all({str(program): gtest.listed(program, dict(os.environ))})
            run.shown = out.getvalue()
            return run

    def test_passed_tests_are_counted_by_their_results(self):
        run = self.run_tests("One", "Two")
        self.assertEqual((2, []), (run.passed, run.failed))

    def test_a_failed_test_is_listed_by_name(self):
        run = self.run_tests("One", "Fails", "Two")
        self.assertEqual((2, ["Suite.Fails"]), (run.passed, run.failed))

    def test_only_the_output_of_a_failed_test_is_shown(self):
        self.assertEqual(["Suite.Fails"], re.findall(r"RUN +\] (.+)", self.run_tests("One", "Fails", "Two").shown))

    def test_a_test_that_prints_ok_but_writes_no_result_is_a_failure(self):
        run = self.run_tests("One", "Lies")
        self.assertEqual((1, ["Suite.Lies: no result, exit 0"]), (run.passed, run.failed))

    def test_a_test_that_crashes_is_listed_and_the_other_tests_run(self):
        run = self.run_tests("One", "Dies", "Two")
        self.assertEqual((2, ["Suite.Dies: no result, exit -6"]), (run.passed, run.failed))

    def test_a_test_that_hangs_is_listed_and_the_other_tests_run(self):
        run = self.run_tests("One", "Hangs", "Two")
        self.assertEqual((2, ["Suite.Hangs: no result, Suite.Hangs ran longer than 1 s"]), (run.passed, run.failed))

    def test_a_test_without_a_result_is_a_failure(self):
        run = self.run_tests("One", "IsSilent")
        self.assertEqual((1, ["Suite.IsSilent: no result, exit 0"]), (run.passed, run.failed))

    def test_a_crash_that_does_not_repeat_is_a_failure(self):
        run = self.run_tests("One", "DiesBesideOthers")
        self.assertEqual(2, run.passed)
        self.assertEqual(1, len(run.failed), run.failed)
        self.assertIn("each of its tests passes alone", run.failed[0])

    def test_a_skipped_test_is_a_failure_if_the_machine_has_what_the_test_needs(self):
        run = self.run_tests("SkipsOne", "SkipsTwo", may_skip="SkipsOne")
        self.assertEqual((0, 2), (run.passed, len(run.skipped)))
        self.assertEqual(["Suite.SkipsTwo: skipped, although this machine has what it needs"], run.failed)

    def test_a_long_test_runs_in_its_own_process(self):
        self.assertEqual([["a", "c"], ["b"]], sorted(tests for _, tests in gtest.cut("abc", {"b": 9.0}, ())))
        self.assertEqual([["a", "c"], ["b"]], sorted(tests for _, tests in gtest.cut("abc", {}, (("b", 9.0),))))


class SuitesTest(unittest.TestCase):
    def test_the_last_total_line_of_a_suite_is_used(self):
        result = execution.read_lines("1 passed, 0 failed\nok a\nok b\nskipped c: no root\n2 passed, 0 failed\n", 0)
        self.assertEqual((2, [], ["c: no root"]), (result.passed, result.failed, result.skipped))

    def test_a_skipped_test_is_neither_passed_nor_failed(self):
        result = execution.read_lines("skipped packaging: needs root\n0 passed, 0 failed\n", 0)
        self.assertEqual((0, [], ["packaging: needs root"]), (result.passed, result.failed, result.skipped))

    def test_failures_are_listed_with_their_reason(self):
        self.assertEqual(["a: why"], execution.read_lines("FAILED a: why\n0 passed, 1 failed\n", 1).failed)

    def test_a_suite_whose_total_contradicts_its_lines_or_exit_code_is_a_failure(self):
        for text, code in (("ok a\n", 0), ("ok a\n1 passed, 0 failed\n", 1), ("0 passed, 0 failed\n", 0),
                           ("FAILED a: b\n0 passed, 1 failed\n", 0)):  # fmt: skip
            self.assertTrue(execution.read_lines(text, code).failed, text)


class ScheduleTest(unittest.TestCase):
    def schedule(self, *listed, cores=2):
        seconds = {each.name: {"cpu": 10.0, "wall": 40.0} for each in listed}
        return schedule.Schedule(listed, seconds, cores)

    def started(self, plan):
        names = []
        while each := plan.next():
            plan.started(each.name)
            names.append(each.name)
        return names

    def test_only_one_build_runs_at_a_time_beside_suites_that_do_not_build(self):
        plan = self.schedule(unit("a", builds=True), unit("b", builds=True), unit("x"), unit("y"))
        self.assertEqual(["a", "x", "y"], self.started(plan))

    def test_at_most_8_suites_that_mostly_wait_run_on_two_cores(self):
        plan = self.schedule(*(unit(str(i)) for i in range(20)))
        self.assertEqual(8, len(self.started(plan)))

    def test_the_unit_with_the_longest_chain_of_dependents_starts_first(self):
        plan = self.schedule(unit("short", alone=True), unit("long", alone=True), unit("end", needs=("long",)))
        self.assertEqual(["long"], self.started(plan))

    def test_a_unit_starts_after_the_units_that_it_needs(self):
        plan = self.schedule(unit("a"), unit("b", needs=("a",)))
        self.assertEqual(["a"], self.started(plan))
        plan.ended("a", True)
        self.assertEqual(["b"], self.started(plan))

    def test_units_that_need_a_failed_unit_are_reported_as_blocked(self):
        plan = self.schedule(unit("a"), unit("b", needs=("a",)), unit("c", needs=("b",)))
        self.started(plan)
        plan.ended("a", False)
        self.assertEqual([("b", "a"), ("c", "b")], plan.blocked())
        self.assertTrue(plan.over())


class ListTest(unittest.TestCase):
    def setUp(self):
        self.listed, _ = units.read()

    def test_an_invalid_entry_of_the_unit_list_is_refused(self):
        for entry, said in (('lane = "x"', "lane is x"), ('needs = ["b"]', "needs b"), ('covers = ["a"]', "covers a"), ('colour = "red"', "unknown field")):
            text = f'[inputs]\n[[unit]]\nname = "a"\ntext = ""\nrun = "true"\n{entry}\n'
            text += "" if "lane" in entry else 'lane = "default"\n'
            with self.assertRaisesRegex(units.BadList, said):
                units.parse(text)

    def test_a_unit_is_left_out_if_a_larger_one_covers_it(self):
        two = {"a": unit("a"), "b": unit("b", lane="ci", covers=("a",))}
        self.assertEqual(["a"], [each.name for each in units.of_lane(two, "default")])
        self.assertEqual(["b"], [each.name for each in units.of_lane(two, "ci")])

    def test_every_test_belongs_to_a_unit(self):
        sources = [units.ROOT / source for each in self.listed.values() for source in each.sources]
        for file in sorted((units.ROOT / "tests").rglob("*_test.cc")):
            if re.search(r"^TEST|^TABLE_TEST", file.read_text(), re.M):
                self.assertTrue(any(file == source or source in file.parents for source in sources), file)

    def test_every_part_and_page_that_a_unit_names_exists(self):
        """CI does not run a unit that a larger one covers, so it would not notice such a name."""
        for each in self.listed.values():
            _, runs_parts, words = each.run.partition("/tests/python/run")
            named = [f"tests/python/{part}_test.py" for part in re.findall(r" ([a-z]+)\b", words)] if runs_parts else []
            named += re.findall(r" ([\w/-]+\.md)\b", each.run)
            self.assertEqual([], [name for name in named if not (units.ROOT / name).exists()], each.name)

    def test_every_pattern_of_test_names_matches_a_test(self):
        sources = sorted((units.ROOT / "tests").rglob("*_test.cc"))
        names = [name for file in sources for name in test_names.cc_tests(file.read_text())]
        skipped = re.findall(r"\b\w+Test[.][(]?\w+[^\s'\"]*", (units.ROOT / "tests/lanes/tasks.sh").read_text())
        for pattern in [part for each in self.listed.values() for part in each.only.split("|") if part] + skipped:
            self.assertTrue(any(re.search(pattern.split("/")[0], name) for name in names), pattern)

    def test_every_sample_is_run_by_a_unit(self):
        commands = " ".join(each.run for each in self.listed.values())
        names = subprocess.run([units.ROOT / "tests/e2e/sample_run", "--list"], check=True, capture_output=True, text=True).stdout
        for name in names.split():
            self.assertRegex(commands, rf"(^|[\s(]){re.escape(name)}($|[\s)])")
        for folder in (units.ROOT / "samples").iterdir():
            if folder.is_dir() and folder.name not in ("azkaban", "airflow", "yarn"):
                self.assertTrue(any(name.startswith(folder.name) for name in names.split()), folder)

    def test_no_unit_takes_half_an_hour(self):
        for name, entry in record.seconds()["units"].items():
            self.assertLess(entry.get("wall", 0), 1800, name)
        self.assertLessEqual(max(each.limit for each in self.listed.values()), 1800)

    def test_every_unit_with_recorded_seconds_is_in_the_unit_list(self):
        self.assertLessEqual(set(record.seconds()["units"]), set(self.listed))

    def test_the_cpu_time_of_the_default_lane_is_within_its_budget(self):
        """A new part of the default lane needs a saving elsewhere: another part becomes cheaper or moves to another
        lane."""
        recorded = record.seconds()
        names = {each.name for each in units.of_lane(self.listed, "default")}
        if missing := names - {name for name, entry in recorded["units"].items() if "cpu" in entry}:
            self.fail(f"no recorded seconds of {', '.join(sorted(missing))}: scripts/test, then scripts/test --record cold")
        cpu = sum(recorded["units"][name]["cpu"] for name in names)
        self.assertLessEqual(cpu * QUICK / recorded["calibration"], BUDGET)


if __name__ == "__main__":
    unittest.main()

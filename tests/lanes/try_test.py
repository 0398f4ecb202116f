#!/usr/bin/env python3
"""Tests scripts/try and changed.py with invented sources, targets and programs; nothing is built."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import changed  # noqa: E402
import choice  # noqa: E402
import dev_tree  # noqa: E402
import git_files  # noqa: E402
import gtest_until  # noqa: E402
import test_names  # noqa: E402
import units  # noqa: E402

FILES = {
    "am/core/job.h": "",
    "am/core/job.cc": '#include "am/core/job.h"\n',
    "am/clock.cc": "",
    "runtime/cli/commands.cc": 'return {"kill", };\n',
    "runtime/cli/kill.cc": "",
    "tests/unit/am/job_test.cc": '#include "am/core/job.h"\nTEST(JobTest, Starts) {}\nTEST_F(JobTest, Ends) {}\n',
    "tests/unit/am/shell_test.cc": '#include "tests/support/box.h"\nTEST_P(ShellTest, Waits) {}\n',
    "tests/unit/cli/kill_test.cc": 'const TestRow kKills[] = {\n    {"Kills", {{"now", ""}}},\n};\nTABLE_TEST(KillTest, kKills, Check);\n',
    "tests/unit/layering/layering_test.cc": "TEST(LayeringTest, Holds) {}\n",
    "tests/faults/disk_test.cc": "TEST(DiskTest, Fills) { Read(\"tests/disks/small\"); }\n",
    "tests/e2e/stop_test.cc": 'TEST(StopTest, Signals) {}\nTEST(StopTest, Kills) { Tony({"kill"}); }\n',
    "tests/support/box.h": '#include "am/core/job.h"\n',
    "tests/disks/small": "",
    "tests/contract/reader.py": "",
    "tests/contract/verbs_test.py": "import reader\n\n\nclass VerbsTest(Case):\n    def test_list(self):\n        pass\n",
    "README.md": "",
    "scripts/pack": "#!/bin/sh\n",
    "LICENSE": "",
}
# By name: the sources and the dependencies of a target.
TARGETS = {
    "am_core": (["am/core/job.cc", "am/clock.cc"], []),
    "client": (["runtime/cli/commands.cc", "runtime/cli/kill.cc"], []),
    "am": ([], ["am_core"]),
    "am_core_test": (["tests/unit/am/job_test.cc"], ["am_core"]),
    "am_shell_test": (["tests/unit/am/shell_test.cc"], ["am_core", "am"]),
    "client_test": (["tests/unit/cli/kill_test.cc", "tests/unit/layering/layering_test.cc"], ["client"]),
    "faults_test": (["tests/faults/disk_test.cc"], ["am_core", "am"]),
    "e2e_test": (["tests/e2e/stop_test.cc"], []),
    "tony-sim": ([], ["am_core"]),
}


def fake_tree(root):
    tree = dev_tree.Tree(root=root)
    tree.take([{"id": f"{name}::@1", "name": name, "type": "EXECUTABLE", "sources": [{"path": path} for path in sources],
                "dependencies": [{"id": f"{need}::@1"} for need in needs]} for name, (sources, needs) in TARGETS.items()])
    tree.made_of = lambda file: set()
    return tree


class MadeUpSources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self.tests = test_names.all_tests(self.root)


class NamesTest(MadeUpSources):
    def find(self, word):
        tests, gtest_filter = test_names.find(word, self.tests)
        return sorted(test.name for test in tests), gtest_filter

    def test_tests_are_found_by_name_suite_and_pattern(self):
        self.assertEqual((["JobTest.Ends"], "JobTest.Ends:*/JobTest.Ends/*"), self.find("JobTest.Ends"))
        self.assertEqual(["JobTest.Ends", "JobTest.Starts"], self.find("JobTest")[0])
        self.assertEqual(["JobTest.Starts", "StopTest.Signals"], self.find("*.S*")[0])

    def test_a_parameterized_test_is_found_by_its_name(self):
        self.assertEqual((["ShellTest.Waits"], "All/ShellTest.Waits/3"), self.find("All/ShellTest.Waits/3"))
        self.assertIn("*/ShellTest.Waits/*", self.find("ShellTest.Waits")[1])

    def test_a_table_row_is_found_by_its_suite(self):
        self.assertEqual(["KillTest.Kills"], self.find("KillTest")[0])

    def test_tests_are_found_by_file_and_folder(self):
        self.assertEqual(["JobTest.Ends", "JobTest.Starts"], self.find("job_test.cc")[0])
        self.assertEqual(["JobTest.Ends", "JobTest.Starts", "ShellTest.Waits"], self.find("tests/unit/am/")[0])

    def test_the_tests_of_a_python_file_are_found(self):
        self.assertEqual(["VerbsTest.test_list"], self.find("verbs_test.py")[0])

    def test_an_unknown_name_gets_a_suggestion(self):
        for word, said in (("JobTest.Strats", "near it: JobTest.Starts"), ("JobTset", "near it: JobTest"), ("a b", "neither"),
                           ("JobTest.[x]", "neither"), ("--x", "neither")):
            with self.assertRaisesRegex(test_names.NotFound, said):
                self.find(word)

    def test_the_tests_of_this_file_are_found(self):
        found, _ = test_names.find("tests/lanes/try_test.py", test_names.all_tests())
        self.assertIn("NamesTest.test_the_tests_of_a_python_file_are_found", [test.name for test in found])


class ChoiceTest(MadeUpSources):
    def setUp(self):
        super().setUp()
        self.choice = choice.Choice(fake_tree(self.root), self.tests, dev_tree.Includes(FILES, self.root), self.root)

    def parts(self, file):
        found = [*self.choice.parts(file), *(self.choice.end_to_end(file) if choice.is_cc(file) else [])]
        return [(part.stage, part.target) for part in changed.merged(found)]

    def test_the_own_tests_of_a_source_file_are_chosen_before_dependent_tests(self):
        self.assertEqual([(choice.OWN, "am_core_test"), (choice.OWN, "am_shell_test"), (choice.DEPENDENT, "faults_test")],
                         self.parts("am/core/job.cc"))

    def test_the_tests_of_all_files_that_include_a_header_are_chosen(self):
        reached = dev_tree.Includes(FILES, self.root).all("am/core/job.h")
        self.assertEqual({"am/core/job.cc", "tests/unit/am/job_test.cc", "tests/unit/am/shell_test.cc"},
                         {file for file in reached if file.endswith(".cc")})
        self.assertEqual((choice.OWN, "am_core_test"), self.parts("am/core/job.h")[0])
        self.assertEqual([(choice.OWN, "am_shell_test")], self.parts("tests/support/box.h"))

    def test_only_the_tests_of_a_changed_verb_are_chosen_from_its_test_program(self):
        own = [part for part in self.choice.parts("runtime/cli/kill.cc") if part.stage == choice.OWN]
        self.assertEqual([("client_test", ("KillTest.Kills",))], [(part.target, part.names) for part in own])

    def test_end_to_end_tests_are_chosen_by_the_changed_verb(self):
        parts = self.choice.end_to_end("runtime/cli/kill.cc")
        self.assertEqual(["StopTest.Kills"], [name for part in parts for name in part.names])
        self.assertEqual([], list(self.choice.end_to_end("am/core/job.cc")))

    def test_for_a_removed_file_the_tests_of_its_folder_are_chosen(self):
        self.assertEqual({"am_core_test", "am_shell_test"}, {target for _, target in self.parts("am/gone.cc")})

    def test_a_smaller_test_program_is_compiled_if_only_tests_changed(self):
        tree = fake_tree(self.root)
        tree.targets["try_am_core_test"] = tree.targets["am_core_test"]
        tree.steps_left = lambda targets: ["Building CXX object tests/unit/am/CMakeFiles/am_core_test.dir/Unity/unity_0_cxx.o"]
        self.assertEqual("try_am_core_test", tree.program_for("am_core_test"))
        self.assertEqual("client_test", tree.program_for("client_test"))
        tree.steps_left = lambda targets: ["Building CXX object am/CMakeFiles/tony_am_core.dir/job.cc.o"]
        self.assertEqual("am_core_test", tree.program_for("am_core_test"))

    def test_simulations_are_chosen_only_for_a_change_of_the_core(self):
        self.assertEqual([""], self.choice.simulations("am/core/job.cc"))
        self.assertEqual([], self.choice.simulations("runtime/cli/kill.cc"))

    def test_the_tests_that_name_a_data_file_are_chosen(self):
        self.assertEqual(["faults_test"], [part.target for part in self.choice.by_name("tests/disks/small")[0]])
        self.assertEqual(([], []), self.choice.by_name("LICENSE"))

    def test_pages_python_files_and_scripts_have_check_commands(self):
        for file, said in (("README.md", ["tests/docs/docs_test.py"]), ("LICENSE", []),
                           ("tests/contract/reader.py", ["tests/contract/verbs_test.py"])):
            self.assertEqual(said, [command.text for command in choice.commands(file, self.root)])
        self.assertEqual("bash -n scripts/pack", next(choice.commands("scripts/pack", self.root)).text)

    def test_the_unit_of_a_file_without_a_quick_test_is_chosen(self):
        for file, unit in (("samples/hello/job.xml", "samples"), ("runtime/python/tony/api.py", "python-all"),
                           ("tests/conformance/azkaban/common.py", "azkaban-server"), ("packaging/deb/postrm", "packages"),
                           ("scripts/setup", None)):
            self.assertEqual(unit, choice.unit_of(file), file)


PROGRAM = r"""#!/usr/bin/python3
import json, sys
options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
names = options["gtest_filter"].split(":")
for name in names:
    print(f"[ RUN      ] {name}\nwords of {name}\n[  FAILED  ] {name} (0 ms)")
def test(name):
    return {"name": name, "status": "RUN", "result": "COMPLETED", "time": "0s", "failures": [1]}
suites = [{"name": name.split(".")[0], "testsuite": [test(name.split(".")[1])]} for name in names]
open(options["gtest_output"].removeprefix("json:"), "w").write(json.dumps({"testsuites": suites}))
sys.exit(1)
"""


class DeadlineTest(MadeUpSources):
    def run_until(self, seconds):
        program = self.root / "program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        run = gtest_until.Run(units.Unit("x", "", "default"), {}, {}, gtest_until.Deadline(seconds))
        run.run(program, ["A.b", "A.c"])
        return run

    def test_the_output_of_each_failed_test_is_stored_separately(self):
        run = self.run_until(60)
        self.assertEqual(["A.b", "A.c"], run.failed)
        self.assertIn("words of A.c", run.said["A.c"])
        self.assertNotIn("words of A.b", run.said["A.c"])

    def test_a_test_that_runs_past_the_deadline_is_stopped(self):
        program = self.root / "program"
        program.write_text("#!/bin/sh\nsleep 60\n")
        program.chmod(0o755)
        deadline = gtest_until.Deadline(0.2)
        deadline.is_long_past = lambda: not deadline.left()
        run = gtest_until.Run(units.Unit("x", "", "default"), {}, {}, deadline)
        run.run(program, ["A.b"])
        self.assertEqual(([], ["A.b"]), (run.failed, run.left))

    def test_no_test_starts_after_the_deadline(self):
        run = self.run_until(0)
        self.assertEqual(([], ["A.b", "A.c"]), (run.failed, run.left))


class CommandLineTest(unittest.TestCase):
    def test_an_invalid_command_line_exits_with_64(self):
        for words in ([], ["--repeat", "0", "JobTest"], ["NoSuchTest.AtAll"], ["--unknown"]):
            done = subprocess.run([HERE.parents[1] / "scripts/try", *words], capture_output=True, text=True, check=False)
            self.assertEqual(64, done.returncode, words)
            self.assertTrue(done.stderr.startswith("scripts/try: "), done.stderr)

    def test_a_file_or_unit_without_quick_tests_exits_with_69_and_names_the_unit(self):
        for word, unit in (("tests/python/job_test.py", "python-all"), ("azkaban-server", "azkaban-server")):
            done = subprocess.run([HERE.parents[1] / "scripts/try", word], capture_output=True, text=True, check=False)
            self.assertEqual(69, done.returncode, word)
            self.assertIn(f"scripts/test --only {unit}\n", done.stderr)

    def test_an_unknown_base_commit_or_invalid_seconds_exits_with_64(self):
        for words in (["no-such-commit"], ["--seconds", "soon"]):
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
                changed.main(words)
            self.assertEqual(64, ended.exception.code)

    def test_files_changed_since_a_commit_are_listed(self):
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(setattr, git_files, "ROOT", git_files.ROOT)
            git_files.ROOT = pathlib.Path(folder)
            git = ["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@x"]
            subprocess.run([*git, "init", "-q"], check=True)
            for name in ("one", "two"):
                (git_files.ROOT / name).write_text("")
                subprocess.run([*git, "add", "."], check=True)
                subprocess.run([*git, "commit", "-q", "-m", name], check=True)
            (git_files.ROOT / "three").write_text("")
            self.assertEqual(["three"], git_files.changed_since("HEAD"))
            self.assertEqual(["three", "two"], git_files.changed_since("HEAD~1"))


if __name__ == "__main__":
    unittest.main()

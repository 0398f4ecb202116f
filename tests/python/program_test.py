"""Finding and calling the program: which program is called, how its faults are handled, and which variables it gets."""

import os
import pathlib
import pickle
import threading
import time

import tony
from case import ONE, PackageCase


class ProgramTest(PackageCase):
    def test_a_wait_succeeds_although_the_program_is_replaced_during_the_call(self):
        """An upgrade puts another file under the same name. A copy of the program waits."""
        for name in ("tony", "tony-am", "tony-keeper", "tony-executor"):
            copy = self.folder / "bin" / name
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes((self.box.tony.parent / name).read_bytes())
            copy.chmod(0o755)
        program = tony.Program(str(self.folder / "bin/tony"))
        job = self.submit(self.hold(), program=program)
        self.running(job)
        thread = threading.Thread(target=job.wait)
        thread.start()
        self.box.wait_for("the wait", self.calls)
        new = self.folder / "bin/new"
        new.write_bytes(pathlib.Path(program.path).read_bytes())
        new.chmod(0o755)
        new.rename(program.path)
        self.assertEqual(job.status().state, "RUNNING")
        self.release()
        thread.join(30)
        self.assertTrue(job.wait().succeeded)

    def test_a_program_with_an_unknown_schema_version_raises_a_one_line_error(self):
        program = self.script("later", """echo '{"schema":2,"version":"9.9","schemas":[2]}'""")
        for call in (lambda: tony.version(program=program), lambda: list(tony.Job("j", program).changes())):
            self.one_line(tony.VersionMismatch, call, program.path, "schema 2", "reads schema 1")

    def test_the_error_of_a_program_without_an_answer_shows_its_exit_code_and_last_output(self):
        for text, words in (("echo no lib >&2; exit 127", ("127", "no lib")), ("kill -9 $$", ("-9",)), ("echo 7", ("exit 0",)),
                            ("echo '{}'", ("exit 0",)), ("printf '\\377'", ("exit 0",))):  # fmt: skip
            with self.subTest(text):
                program = self.script("broken", text)
                self.one_line(tony.Unavailable, lambda program=program: tony.version(program=program), *words)

    def test_a_program_that_cannot_be_started_is_reported_with_its_path_and_machine(self):
        (self.folder / "not").write_text("")
        for path in ("/nowhere/tony", str(self.folder / "not"), str(self.folder)):
            with self.subTest(path):
                call = lambda path=path: tony.version(program=tony.Program(path))  # noqa: E731
                self.one_line(tony.NoProgram, call, path, os.uname().nodename)

    def test_the_program_comes_from_an_explicit_path_the_variable_tony_program_or_path(self):
        self.assertEqual(tony.Program("/x/tony").found(), "/x/tony")
        self.assertEqual(tony.Program().found(), str(self.box.tony))
        self.set_environment("TONY_PROGRAM", None)
        self.set_environment("PATH", f"/nowhere:{self.box.tony.parent}")
        self.assertEqual(tony.Program().found(), str(self.box.tony))
        self.set_environment("PATH", "/nowhere")
        self.one_line(tony.NoProgram, tony.version, "pip install tony-runtime")

    def test_a_job_runs_without_python_in_path(self):
        self.set_environment("PATH", "/nowhere")
        self.assertTrue(self.submit("echo hi").wait().succeeded)

    def test_a_submit_with_an_unwritable_home_raises_an_error_that_names_the_home(self):
        for home, word in (("/proc/tony", "/proc/tony"), ("/dev/null/x", "/dev/null: ")):
            with self.subTest(home):
                program = tony.Program(home=home)
                error = self.one_line(tony.TonyError, lambda program=program: tony.submit(
                    executes="true", framework="standalone", tasks=ONE, program=program), word)  # fmt: skip
                self.assertIn(error.code, (69, 73, 77))

    def test_withheld_variables_are_not_passed_to_a_job(self):
        self.set_environment("HIDDEN_TOKEN", "hush")
        program = tony.Program(withheld=("HIDDEN_",))
        job = self.submit('echo "[$HIDDEN_TOKEN]"', program=program)
        job.wait()
        self.assertEqual([line.text for line in job.logs()], ["[]"])

    def test_jobs_and_errors_can_be_pickled(self):
        job = self.submit("exit 1")
        self.assertEqual(pickle.loads(pickle.dumps(job)), job)
        error = self.one_line(tony.JobFailed, job.wait)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.status), (type(error), str(error), error.status))

    def test_a_call_of_tony_is_ended_at_its_time_limit(self):
        from tony.program import Ask

        program = self.script("hangs", "exec sleep 600")
        began = time.monotonic()
        self.one_line(tony.Unavailable, lambda: program.call(Ask(("status", "j"), limit=0.2)), "0.2 s")
        self.assertLess(time.monotonic() - began, 20)

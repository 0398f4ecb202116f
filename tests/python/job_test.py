"""Jobs that are submitted, awaited, read and ended with the built programs."""

import datetime
import json
import os
import signal
import subprocess
import sys
import threading

import tony
from case import ONE, PackageCase

OUTPUT = """echo '{"accuracy": 0.5}' > $TONY_OUTPUT_FILE"""


class SubmitTest(PackageCase):
    def test_a_job_is_submitted_from_keyword_arguments_alone(self):
        job = self.submit(f"echo $A; {OUTPUT}", env={"A": "x,B=2"}, name="by keywords")
        status = job.wait()
        self.assertTrue(status.succeeded)
        self.assertEqual((status.job, status.name), (job.id, "by keywords"))
        self.assertEqual(job.outputs, {"accuracy": 0.5})
        self.assertEqual([line.text for line in job.logs()], ["x,B=2"])

    def test_a_spec_in_json_yaml_properties_or_xml_gives_the_same_plan(self):
        document = {"executes": "echo hi", "name": "n", "framework": "standalone",
                    "tasks": {"worker": {"instances": 1, "memory": "1g"}}}  # fmt: skip
        texts = {
            "j.json": json.dumps(document),
            "j.yaml": "executes: echo hi\nname: n\nframework: standalone\ntasks: {worker: {instances: 1, memory: 1g}}\n",
            "j.properties": "executes=echo hi\ntony.application.name=n\ntony.application.framework=standalone\n"
            "tony.worker.instances=1\ntony.worker.memory=1g\n",
            "j.xml": "<configuration>" + "".join(
                f"<property><name>{key}</name><value>{value}</value></property>"
                for key, value in {"tony.containers.command": "echo hi", "tony.application.name": "n",
                                   "tony.application.framework": "standalone", "tony.worker.instances": 1,
                                   "tony.worker.memory": "1g"}.items()) + "</configuration>",
        }  # fmt: skip
        expected = tony.plan(document).spec
        self.assertEqual(expected.roles[0].memory_mb, 1024)
        for name, text in texts.items():
            (self.folder / name).write_text(text)
            for path in (self.folder / name, str(self.folder / name)):
                with self.subTest(path):
                    self.assertEqual(tony.plan(path).spec, expected)
        self.assertEqual(tony.plan("j.json", directory=self.folder).spec, expected)

    def test_keyword_arguments_override_the_spec(self):
        file = self.folder / "k.properties"
        file.write_text("executes=echo file\ntony.application.framework=standalone\ntony.worker.instances=1\n")
        document = {"executes": "echo file", "framework": "standalone", "tasks": ONE}
        keywords = {"executes": "echo key", "env": {"A": "1,B=2", "NONE": None}, "conf": {"tony.worker.memory": "3g"},
                    "name": "other", "tags": ["a", "b"]}  # fmt: skip
        for spec in (file, document):
            with self.subTest(spec):
                plan = tony.plan(spec, **keywords).spec
                self.assertEqual((plan.roles[0].command, plan.roles[0].memory_mb), ("echo key", 3072))
                self.assertEqual((plan.name, plan.tags, plan.execution_env), ("other", ("a", "b"), {"A": "1,B=2"}))

    def test_a_secret_reaches_the_task_without_appearing_on_a_command_line(self):
        seen = self.folder / "seen"
        program = self.script("spy", f'{{ echo "$@"; env; }} >>{seen}; exec $REAL "$@"')
        file = self.folder / "s.properties"
        file.write_text('executes=echo "$PASSWORD" | tr a-z A-Z\ntony.application.framework=standalone\n'
                        "tony.worker.instances=1\n")  # fmt: skip
        document = {"executes": 'echo "$PASSWORD" | tr a-z A-Z', "framework": "standalone", "tasks": ONE}
        secrets = {"PASSWORD": "hush-7"}
        jobs = [tony.submit(spec, secrets=secrets, program=program) for spec in (file, document)]
        jobs.append(tony.run('echo "$PASSWORD" | tr a-z A-Z', secrets=secrets, program=program))
        for job in jobs:
            job.wait()
            self.assertEqual([line.text for line in job.logs()], ["HUSH-7"])
        self.assertIn("--secrets-fd 0", seen.read_text())
        self.assertFalse("hush-7" in seen.read_text())

    def test_invalid_input_raises_the_exception_of_its_exit_code_with_a_one_line_message(self):
        cases = [
            (tony.SpecInvalid, lambda: tony.submit({"nmae": 1}), "nmae"),
            (tony.SpecInvalid, lambda: tony.submit(executes="true", tasks={"worker": {"instances": 1, "memory": "x"}}),
             "memory"),
            (tony.SpecInvalid, lambda: tony.submit("/nowhere/job.yaml"), "/nowhere/job.yaml"),
            (tony.SpecInvalid, lambda: tony.submit(executes="true", directory="/nowhere"), "/nowhere"),
            (tony.SpecInvalid, lambda: tony.submit({"env": {1, 2}}), "JSON"),
            (tony.SpecInvalid, lambda: tony.submit({"env": {"A": float("nan")}}), "JSON"),
            (tony.UsageError, lambda: tony.submit("python train.py"), "python train.py"),
            (tony.UsageError, lambda: tony.submit(7), "int"),
            (tony.UsageError, lambda: tony.submit("x.yaml", tasks=ONE), "tasks"),
            (tony.UsageError, lambda: tony.run([]), "expected a command"),
            (tony.UsageError, lambda: tony.run("true", 0), "0 instances"),
            (tony.UsageError, lambda: tony.job("--help"), "--help"),
            (tony.NotFound, lambda: tony.job("nowhere"), "nowhere"),
        ]  # fmt: skip
        for kind, call, word in cases:
            with self.subTest(word):
                error = self.one_line(kind, call, word)
                self.assertEqual((error.code, error.retryable), (kind.code, False))
        self.assertEqual([status.name for status in tony.jobs() if status.name == "nmae"], [])

    def test_strict_turns_warnings_into_errors(self):
        conf = {"tony.worker.memroy": "1g"}
        with self.said() as text:
            self.submit(conf=conf)
        self.assertIn("tony.worker.memroy", text.getvalue())
        with self.assertRaisesRegex(tony.SpecInvalid, "memroy"):
            tony.submit(executes="true", tasks=ONE, conf=conf, strict=True)

    def test_a_second_submit_with_the_same_request_id_attaches_to_the_job(self):
        first = self.submit(self.hold("never"), request_id="r1")
        second = self.submit(self.hold("never"), request_id="r1")
        self.assertEqual(second, first)
        self.assertEqual((first.submitted.decision, second.submitted.decision), ("created", "attached"))

    def test_run_needs_no_spec_file_and_starts_the_command_in_copies_of_the_current_folder(self):
        source = self.folder / "program of mine"
        source.mkdir()
        (source / "train.sh").write_text('echo "$RANK $1"')
        job = tony.run(["sh", "train.sh", "a 'b'"], instances=2, directory=source, memory="100m")
        job.wait()
        self.assertEqual(sorted(line.text for line in job.logs()), ["0 a 'b'", "1 a 'b'"])

    def test_a_job_is_found_by_id_prefix_name_or_the_word_last(self):
        job = self.submit(name="of-this-name")
        for name in (job.id, job.id[:-1], "of-this-name", "last"):
            self.assertEqual(tony.job(name), job)
        self.assertIn(job.id, [status.job for status in tony.jobs()])


class EndTest(PackageCase):
    def test_a_wait_returns_when_the_job_ends(self):
        job = self.submit(self.hold())
        self.running(job)
        found = []
        thread = threading.Thread(target=lambda: found.append(job.wait()))
        thread.start()
        self.box.wait_for("the wait", self.calls)
        self.release()
        thread.join(30)
        self.assertEqual([status.state for status in found], ["SUCCEEDED"])

    def test_waiting_for_a_failed_job_raises_an_exception_with_the_first_cause(self):
        job = self.submit("echo no luck >&2; exit 3")
        error = self.one_line(tony.JobFailed, job.wait, job.id, "FAILED", "user_error", "exit code 3")
        self.assertEqual(error.status.verdict.exit_code, 3)
        self.assertEqual(job.wait(check=False).verdict.outcome_class, "user_error")
        self.assertEqual(job.outputs, {})

    def test_the_timeout_of_a_wait_ends_the_wait_and_not_the_job(self):
        job = self.submit(self.hold("never"))
        with self.assertRaises(TimeoutError):
            job.wait(0.2)
        error = self.one_line(tony.WaitTimeout, lambda: job.wait(0), job.id)
        self.assertTrue(error.retryable)
        self.assertFalse(job.status().has_ended)
        self.one_line(tony.Unavailable, lambda: job.outputs, "has not ended")

    def test_a_kill_records_its_reason_and_may_be_repeated(self):
        job = self.submit(self.hold("never"))
        self.assertEqual(job.kill("enough").verdict.message, "enough")
        self.assertEqual(job.kill().state, "KILLED")
        self.one_line(tony.JobFailed, job.wait, "KILLED", "enough")

    def test_the_method_changes_yields_each_status_until_the_job_has_ended(self):
        job = self.submit(self.hold())
        states = []
        for status in job.changes():
            if status.state == "RUNNING" and "RUNNING" not in states:
                self.release()
            states.append(status.state)
        self.assertIn("RUNNING", states)
        self.assertEqual(states[-1], "SUCCEEDED")

    def test_ctrl_c_in_a_wait_leaves_the_job_running_and_reports_its_id(self):
        job = self.submit(self.hold())
        self.running(job)
        code = f'import tony; tony.Job("{job.id}").wait()'
        waiting = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.box.wait_for("the wait", self.calls)
        os.killpg(waiting.pid, signal.SIGINT)  # as a terminal does, to the program and to its child
        _, err = waiting.communicate(timeout=30)
        self.assertIn(f"interrupted; job {job.id} continues", err)
        self.assertIn("KeyboardInterrupt", err)
        self.assertEqual(job.status().state, "RUNNING")

    def test_ctrl_c_in_a_submit_reports_the_job_that_was_submitted(self):
        program = self.script("slow", '$REAL "$@"; echo >$TONY_HOME/submitted; exec sleep 600')
        code = (f"import tony; tony.submit(executes='sleep 600', tasks={ONE}, framework='standalone', "
                f"program=tony.Program('{program.path}'))")  # fmt: skip
        submitting = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, start_new_session=True)
        mark = self.folder / "home/submitted"
        self.box.wait_for("the submit", mark.exists)
        os.kill(submitting.pid, signal.SIGINT)
        _, err = submitting.communicate(timeout=30)
        job = tony.job("last")
        self.addCleanup(job.kill)
        self.assertIn(f"job {job.id} was submitted and continues", err)

    def test_four_threads_submit_and_wait_for_jobs_at_the_same_time(self):
        jobs = [None] * 4

        def one(number):
            jobs[number] = tony.submit(executes=f"echo {number}", framework="standalone", tasks=ONE)
            jobs[number].wait()

        threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual([[line.text for line in job.logs()] for job in jobs], [["0"], ["1"], ["2"], ["3"]])

    def test_the_method_stop_ends_the_call_of_another_thread_and_refuses_later_calls(self):
        from tony.program import Ask, Calls

        job, calls, found = self.submit(self.hold("never")), Calls(), []

        def wait():
            try:
                job.program.call(Ask(("wait", job.id), limit=None), calls=calls)
            except tony.TonyError as error:
                found.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        self.box.wait_for("the wait", self.calls)
        calls.stop()
        thread.join(30)
        self.assertIsInstance(found[0], tony.Unavailable)
        with self.assertRaises(tony.Unavailable):
            job.program.call(Ask(("wait", job.id), limit=None), calls=calls)
        self.assertFalse(job.status().has_ended)


class LogsTest(PackageCase):
    def test_log_lines_arrive_while_the_job_runs_and_name_their_task(self):
        job = self.submit(f"echo out; echo err >&2; {self.hold()}; printf 'no end'", tasks={"worker": {"instances": 2}},
                          framework="pytorch")  # fmt: skip
        lines = []
        for line in job.logs(follow=True):
            lines.append(str(line))
            if len(lines) == 4:
                self.assertFalse(job.status().has_ended)
                self.release()
        self.assertEqual(sorted(lines[:4]), ["worker:0 ! err", "worker:0 | out", "worker:1 ! err", "worker:1 | out"])
        self.assertEqual(sorted(lines[4:]), ["worker:0 | no end", "worker:1 | no end"])
        self.assertEqual([line.text for line in job.logs("worker:1", stream="stderr")], ["err"])
        self.assertEqual([line.text for line in job.logs("worker:1", stream="stdout", tail=1)], ["no end"])

    def test_a_log_reader_continues_from_its_cursor(self):
        job = self.submit("for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done")
        reading = job.logs(follow=True)
        first = [next(reading) for _ in range(3)]
        reading.close()
        self.box.wait_for("the end of the call", lambda: not self.calls())
        rest = list(job.logs(follow=True, cursor=first[-1].cursor))
        job.wait()
        self.assertEqual([line.text for line in first + rest], ["1", "2", "3", "4", "5", "6"])
        self.assertEqual([line.text for line in job.logs(cursor=rest[-1].cursor)], [])

    def test_logs_larger_than_one_answer_are_read_completely(self):
        job = self.submit("seq 400000")
        job.wait()
        lines = [line.text for line in job.logs()]
        self.assertEqual((len(lines), lines[0], lines[-1]), (400000, "1", "400000"))
        self.assertEqual([line.text for line in job.logs(tail=2)], ["399999", "400000"])
        self.assertEqual([line.text for line in job.logs(grep="^399999$")], ["399999"])
        self.assertEqual(len(list(job.logs(since="1h"))), 400000)

    def test_reading_logs_without_follow_ends_while_the_job_runs(self):
        job = self.submit(f"seq 400000; touch {self.folder}/written; {self.hold('never')}")
        self.box.wait_for("the lines", (self.folder / "written").exists)
        for more in ({}, {"since": "1h"}):
            self.assertEqual(len(list(job.logs(**more))), 400000)
        self.assertEqual([line.text for line in job.logs(grep="^399999$")], ["399999"])
        self.assertEqual([line.text for line in job.logs(grep="^no")], [])

    def test_log_lines_are_selected_by_task_text_and_time(self):
        before = datetime.datetime.now()
        job = self.submit("echo one $RANK; echo two $RANK", tasks={"worker": {"instances": 3}}, framework="pytorch")
        job.wait()
        chosen = [line.text for line in job.logs(["worker:0", "worker:2"], grep="^one|2$")]
        self.assertEqual(sorted(chosen), ["one 0", "one 2", "two 2"])
        self.assertEqual(len(list(job.logs("worker", grep="-x|two"))), 3)
        for line in job.logs(timestamps=True):
            self.assertLess(abs((line.time - job.status().submitted).total_seconds()), 60)
        for since, count in ((before - datetime.timedelta(hours=1), 6), (datetime.timedelta(hours=1), 6), ("1h", 6),
                             (before + datetime.timedelta(hours=1), 0)):  # fmt: skip
            with self.subTest(since):
                self.assertEqual(len(list(job.logs(since=since))), count)
        self.one_line(tony.UsageError, lambda: list(job.logs(grep="(")), "grep")

    def test_reading_logs_of_an_unknown_task_raises_not_found(self):
        job = self.submit()
        for follow in (False, True):
            with self.subTest(follow):
                self.one_line(tony.NotFound, lambda follow=follow: list(job.logs("ps:3", follow=follow)), "ps:3")

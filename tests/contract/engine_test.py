"""The verbs with which a workflow engine runs a job: submit, wait, watch, kill, ack, find, recover, outputs."""

import json
import signal
import unittest

import reader
from contract_case import UNKNOWN, ContractCase, of
from reader import task


class EngineTest(ContractCase):
    @of("wait")
    def test_wait_exits_with_0_for_a_successful_job_and_1_for_a_failed_job(self):
        self.expect("wait", self.jobs["good"])
        for fate in ("bad", "shot", "killed"):
            self.expect("wait", self.jobs[fate], code=1)

    @of("wait")
    def test_wait_since_returns_at_the_next_status_change_or_at_its_timeout(self):
        seq = self.expect("status", self.jobs["running"])["seq"]
        self.assertGreaterEqual(self.expect("wait", self.jobs["running"], "--since", str(seq - 1))["seq"], seq)
        self.assertTrue(self.expect("wait", self.jobs["running"], "--since", str(seq), "--timeout", "1")["timed_out"])

    @of("wait")
    def test_a_timed_out_wait_exits_with_69_and_is_retryable(self):
        document = self.expect("wait", self.jobs["running"], "--timeout", "1", code=69)
        self.assertTrue(document["error"]["retryable"])

    @of("wait")
    def test_wait_follow_prints_one_json_object_per_line(self):
        documents = self.expect_lines("wait", self.jobs["good"], "--follow")
        self.assertEqual(documents[-1]["state"], "SUCCEEDED")
        self.assertEqual(self.expect_lines("wait", self.jobs["bad"], "--follow", code=1)[-1]["state"], "FAILED")

    @of("wait")
    def test_a_timed_out_wait_follow_prints_one_error_object(self):
        documents = self.expect_lines("wait", self.jobs["running"], "--follow", "--timeout", "1", code=69)
        self.assertEqual(["error" in document for document in documents].count(True), 1)

    @of("wait")
    def test_an_interrupted_wait_prints_the_last_status_and_the_job_continues(self):
        process = self.box.start("wait", self.jobs["running"], "--json")
        self.assertTrue(any(b"running" in line for line in process.stderr))
        process.send_signal(signal.SIGTERM)
        answer = self.box.finish(process, "wait", self.jobs["running"], "--json")
        self.assertEqual((answer.exit, reader.complaints("wait", answer.document())), (143, []), str(answer))
        self.assertEqual(self.state(self.jobs["running"]), "RUNNING")

    @of("submit")
    def test_a_submit_that_waits_prints_the_verdict_and_exits_with_its_code(self):
        self.assertEqual(self.expect("submit", *task("true"))["state"], "SUCCEEDED")
        self.assertEqual(self.expect("submit", *task("exit 7"), code=1)["verdict"]["exit_code"], 7)
        self.expect("submit", *task("true"), "-conf", "tony.worker.instances=many", code=65)
        self.expect("submit", *task("true"), "-conf", "tony.worker.memory=1100000g", code=65)

    @of("kill")
    def test_a_repeated_kill_succeeds_and_a_kill_of_an_ended_job_changes_nothing(self):
        job = self.own(*task("sleep 600"))
        self.expect("kill", job, "--no-wait", "--reason", "a test's")
        self.expect("wait", job, code=1)
        again = self.expect("kill", job)
        self.assertEqual((again["killed"], again["state"]), (True, "KILLED"))
        self.assertFalse(self.expect("kill", self.jobs["good"])["killed"])
        self.assertEqual(self.state(self.jobs["good"]), "SUCCEEDED")

    @of("outputs")
    def test_outputs_prints_the_values_that_the_chief_wrote(self):
        self.assertEqual(self.expect("outputs", self.jobs["good"])["outputs"], {"accuracy": 0.5, "model": "m"})
        self.assertEqual(self.expect("outputs", self.jobs["silent"])["outputs"], {})
        self.expect("outputs", self.jobs["bad"])
        self.expect("outputs", self.jobs["running"], code=69)

    @of("outputs", "status")
    def test_an_invalid_output_value_does_not_affect_the_other_outputs(self):
        job = self.own(*task("""printf '{"a":NaN,"b":1e400,"c":1}' > $TONY_OUTPUT_FILE"""))
        self.expect("wait", job)
        answer = self.expect("outputs", job)
        self.assertEqual(answer["outputs"], {"a": "NaN", "c": 1})
        self.assertEqual([(p["name"], p["left_out"]) for p in answer["problems"]], [("a", False), ("b", True)])
        self.assertIn('"b" is left out', self.expect("status", job)["outputs_problem"])

    @of("outputs", "status")
    def test_outputs_exits_with_65_if_the_outputs_are_not_a_json_object(self):
        for text in ("[1]", "{", '{\\"a\\":}'):
            job = self.own(*task(f'printf "{text}" > $TONY_OUTPUT_FILE'))
            self.expect("wait", job)
            self.expect("outputs", job, code=65)
            self.expect("status", job)

    @of("watch")
    def test_watch_prints_one_json_object_per_line_and_reports_each_end_once(self):
        documents = self.expect_lines("watch", self.jobs["good"], self.jobs["bad"], UNKNOWN)
        ended = [document["job"] for document in documents if "verdict" in document]
        self.assertEqual(sorted(ended), sorted([self.jobs["good"], self.jobs["bad"]]))
        self.assertEqual([d["job"] for d in documents if "error" in d], [UNKNOWN])

    @of("submit", "find", "ack")
    def test_submits_with_the_same_request_id_share_one_job(self):
        request = ("--request-id", "airflow://dag/run/task/-1", "--owner", "o1")
        self.expect("find", *request[:2], code=66)
        created = self.expect("submit", "--detach", *request, "--submission", "2", *task("true"))
        self.assertEqual((created["decision"], created["spec_differs"], created["submission"]), ("created", False, 2))
        self.assertEqual(self.expect("find", *request[:2])["job"], created["job"])
        self.expect("wait", created["job"])
        adopted = self.expect("submit", *request[:2], "--owner", "o2", "--submission", "2", *task("echo other"))
        self.assertEqual((adopted["decision"], adopted["job"]), ("adopted", created["job"]))
        self.assertTrue(adopted["spec_differs"])
        self.expect("submit", *request, "--submission", "1", *task("true"), code=77)
        self.assertFalse(self.expect("ack", created["job"], "--owner", "o1")["acked"])
        for _ in range(2):
            self.assertTrue(self.expect("ack", created["job"], "--owner", "o2")["acked"])
        self.assertTrue(self.expect("status", created["job"])["acked"])

    @of("credentials")
    def test_a_job_of_this_machine_gets_no_tokens(self):
        pushed = self.expect("credentials", "push", self.jobs["good"])
        self.assertEqual((pushed["pushed"], pushed["tokens_until"]), (False, None))
        self.expect("credentials", "push", UNKNOWN, code=66)
        self.expect("credentials", "pull", self.jobs["good"], code=64)

    @of("submit", "kill")
    def test_a_kill_with_an_outdated_owner_is_fenced(self):
        request = ("--request-id", "azkaban://h/7/flow/job")
        job = self.own(*request, "--owner", "o1", *task("sleep 600"))
        attached = self.expect("submit", "--detach", *request, "--owner", "o2", *task("sleep 600"))
        self.assertEqual((attached["decision"], attached["job"]), ("attached", job))
        late = self.expect("kill", *request, "--if-owner", "o1")
        self.assertEqual((late["killed"], late["fenced"]), (False, True))
        planned = self.expect("kill", job, "--if-owner", "o2", "--delay", "600")
        self.assertEqual((planned["killed"], planned["planned"]), (False, True))
        self.assertIn("planned_kill", self.expect("status", job))
        killed = self.expect("kill", *request, "--if-owner", "o2")
        self.assertEqual((killed["killed"], killed["state"]), (True, "KILLED"))

    @of("kill", "submit")
    def test_a_submit_of_a_request_that_was_already_killed_is_refused(self):
        request = ("--request-id", "airflow://dag/run/late/-1")
        remembered = self.expect("kill", *request, "--if-owner", "o1")
        self.assertEqual((remembered["job"], remembered["killed"], remembered["remembered"]), (None, False, True))
        self.expect("submit", "--detach", *request, "--owner", "o1", *task("true"), code=77)
        self.expect("kill", "--request-id", "airflow://dag/run/never/-1", code=66)

    @of("submit", "wait")
    def test_a_job_without_a_client_is_killed_as_abandoned_after_its_watch_timeout(self):
        job = self.own("--watch-timeout", "1", *task("sleep 600"))
        states = lambda: {listed["job"]: listed["state"] for listed in self.expect("list")["jobs"]}
        # `list` does not query the job, so it does not count as client activity
        self.box.wait_for("the end", lambda: states()[job] == "KILLED")
        verdict = self.expect("status", job)["verdict"]
        self.assertEqual((verdict["class"], verdict["retryable"]), ("abandoned", True))

    @of("status", "wait")
    def test_status_and_wait_for_a_job_of_another_machine_name_that_machine(self):
        job = self.own(*task("sleep 600"))
        file = self.box.folder / "home/jobs" / job / "submission.json"
        ours = file.read_text()

        def write(text):  # replaces the file at once, because the job's master may read it at any moment
            new = file.with_suffix(".new")
            new.write_text(text)
            new.rename(file)

        self.addCleanup(write, ours)
        write(json.dumps({**json.loads(ours), "host": "worker-7"}))
        for verb in ("status", "wait"):
            error = self.expect(verb, job, code=69)["error"]
            self.assertIn(f"job {job} belongs to the local scheduler of worker-7, but this is ", error["message"])

    @of("recover")
    def test_recover_restarts_the_master_of_a_job(self):
        job = self.own(*task("sleep 600"))
        self.box.wait_for("its start", lambda: self.state(job) == "RUNNING")
        self.assertEqual(self.expect("recover", job)["jobs"][0]["recovery"], "none")
        self.box.strike("tony-keeper", "tony-am", job=job)
        self.assertEqual(self.expect("recover", job)["jobs"][0]["recovery"], "brought_back")
        self.expect("recover")
        self.expect("recover", UNKNOWN, code=66)
        self.assertEqual(self.state(job), "RUNNING")


if __name__ == "__main__":
    unittest.main()

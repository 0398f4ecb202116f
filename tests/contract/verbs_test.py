"""The verbs of `tony` that report something, run with --json on jobs with every kind of end, and read with the schemas
only."""

import os
import re
import signal
import unittest

import engine_test
import reader
import schemas_test
from contract_case import UNKNOWN, ContractCase, of
from reader import Sandbox, strict, task


class VerbsTest(ContractCase):
    @of("version")
    def test_version_lists_the_schema_versions(self):
        self.assertIn(1, self.expect("version")["schemas"])

    @of("init")
    def test_init_lists_the_files_that_it_wrote(self):
        self.assertEqual(self.expect("init", "batch")["files"], ["job.yaml", "work.py"])
        self.expect("init", "batch", code=73)
        self.expect("init", "keras", code=64)

    @of("run")
    def test_run_prints_the_final_state_and_exits_with_its_code(self):
        for command, code, state in (("true", 0, "SUCCEEDED"), ("exit 3", 1, "FAILED")):
            answer = self.box.run("run", "--json", "--", command)
            self.judge(answer, answer.document(), "run", code)
            self.assertEqual(answer.document()["state"], state)

    @of("sweep")
    def test_sweep_prints_the_trials_with_their_outputs(self):
        command = 'echo "{\\"loss\\":{x}}" > $TONY_OUTPUT_FILE'
        answer = self.box.run("sweep", "--json", "-p", "x=2,1", "--metric", "loss", "--", command)
        self.judge(answer, answer.document(), "sweep", 0)
        self.assertEqual(answer.document()["sweep"]["best"], "trial:1")

    @of("status")
    def test_status_shows_the_verdict_of_successful_failed_and_killed_jobs(self):
        for fate, state, cls in [("good", "SUCCEEDED", "success"), ("bad", "FAILED", "user_error"),
                                 ("shot", "FAILED", "user_error"), ("killed", "KILLED", "killed")]:  # fmt: skip
            verdict = self.expect("status", self.jobs[fate])["verdict"]
            self.assertEqual((verdict["state"], verdict["class"]), (state, cls), fate)
        self.assertEqual(self.expect("status", self.jobs["bad"])["verdict"]["exit_code"], 3)
        self.assertEqual(self.expect("status", self.jobs["shot"])["verdict"]["signal"], 9)
        self.assertEqual(self.expect("status", self.jobs["killed"])["verdict"]["message"].count("enough"), 1)

    @of("status")
    def test_status_of_a_running_job_shows_its_tasks_and_restarts(self):
        running = self.expect("status", self.jobs["running"])
        self.assertEqual((running["am_reachable"], running["unruled"]), (True, False))
        self.assertGreater(running["tasks"][0]["pid"], 0)
        restarted = self.expect("status", self.jobs["restarted"])
        self.assertEqual((restarted["restart_count"], len(restarted["restarts"])), (1, 1))
        self.assertEqual(restarted["tasks"][0]["attempt"], 2)

    @of("status")
    def test_status_of_several_jobs_is_one_json_object(self):
        jobs = [self.jobs["good"], self.jobs["running"], self.jobs["killed"]]
        document = self.expect("status", *jobs)
        self.assertEqual([job["job"] for job in document["jobs"]], jobs)

    @of("list")
    def test_list_includes_every_job(self):
        listed = {job["job"] for job in self.expect("list")["jobs"]}
        self.assertLessEqual(set(self.jobs.values()), listed)

    @of("list")
    def test_list_queue_includes_running_jobs(self):
        queue = self.expect("list", "--queue")
        self.assertIn(self.jobs["running"], [job["job"] for job in queue["jobs"] if job["state"] == "running"])

    @of("logs")
    def test_logs_are_read_in_parts_by_their_cursor(self):
        whole = self.expect("logs", self.jobs["good"])
        texts = {entry["stream"]: entry["text"] for entry in whole["entries"]}
        self.assertEqual(texts, {"stdout": "one\n", "stderr": "two\n"})
        self.assertTrue(whole["eof"])
        self.assertEqual(self.expect("logs", self.jobs["good"], "--cursor", whole["cursor"])["entries"], [])
        cursor, texts = "", {"stdout": "", "stderr": ""}
        while True:
            part = self.expect("logs", self.jobs["good"], "worker:0", "--max-bytes", "3", "--cursor", cursor)
            for entry in part["entries"]:
                texts[entry["stream"]] += entry["text"]
            cursor = part["cursor"]
            if part["eof"]:
                break
        self.assertEqual(texts, {"stdout": "one\n", "stderr": "two\n"})
        self.assertFalse(self.expect("logs", self.jobs["running"])["eof"])

    @of("logs")
    def test_logs_tail_prints_the_last_lines_of_each_stream(self):
        job = self.expect("submit", *task("seq 9; echo two >&2"))["job"]
        tail = self.expect("logs", job, "worker:0", "--tail", "2")
        self.assertEqual([entry["text"] for entry in tail["entries"]], ["8\n9\n", "two\n"])
        self.assertTrue(tail["eof"])
        self.assertEqual(self.expect("logs", job, "--cursor", tail["cursor"])["entries"], [])
        bounded = self.expect("logs", job, "--tail", "9", "--max-bytes", "9")["entries"]
        self.assertEqual([entry["text"] for entry in bounded], ["8\n9\n", "two\n"])
        self.assertEqual(self.expect("logs", job, "--tail", "0")["entries"], [])
        self.expect("logs", job, "--tail", "2", "--cursor", tail["cursor"], code=64)
        followed = self.expect_lines("logs", job, "-f", "--tail", "1", schema="log-line")
        self.assertEqual(sorted(document["text"] for document in followed), ["9\n", "two\n"])

    @of("logs")
    def test_logs_are_filtered_by_grep_and_since_and_have_timestamps_on_request(self):
        job = self.jobs["good"]
        found = self.expect("logs", job, "worker", "--grep", "^o.e$", "--timestamps", "--since", "1d")["entries"]
        self.assertEqual([entry["text"] for entry in found], ["one\n"])
        self.assertRegex(found[0]["time"], r"^20\d\d-.*Z$")
        self.assertEqual(self.expect("logs", job, "--since", "0s")["entries"], [])
        self.assertNotIn("time", self.expect("logs", job)["entries"][0])
        followed = self.expect_lines("logs", job, "-f", "-t", "--grep", "t", schema="log-line")
        self.assertEqual([document["text"] for document in followed], ["two\n"])
        self.assertIn("time", followed[0])
        for words in (["--grep", "("], ["--since", "then"], ["--since", "1d", "--cursor", "x"]):
            self.expect("logs", job, *words, code=64)
        self.expect("logs", job, "evaluator", code=66)

    @of("logs")
    def test_logs_follow_prints_one_json_entry_per_line(self):
        documents = self.expect_lines("logs", self.jobs["good"], "-f", schema="log-line")
        self.assertEqual(sorted(document["text"] for document in documents), ["one\n", "two\n"])
        self.assertEqual(self.expect_lines("logs", UNKNOWN, "-f", code=66)[-1]["error"]["class"], "not_found")

    @of("history")
    def test_the_parts_of_a_jobs_time_in_the_history_add_up_to_its_total(self):
        for fate, job in self.jobs.items():
            document = self.expect("history", job, "--events")
            parts = [value for name, value in document["time"].items() if name != "total_ms"]
            self.assertEqual(sum(parts), document["time"]["total_ms"], fate)
        attempts = self.expect("history", self.jobs["restarted"])["attempts"]
        self.assertEqual([attempt["attempt"] for attempt in attempts], [1, 2])

    @of("plan")
    def test_plan_starts_nothing(self):
        before = len(self.expect("list")["jobs"])
        self.expect("plan", *task("true"))
        self.assertTrue(self.expect("plan", "--explain", *task("true"))["configuration"])
        self.expect("plan", *task("true"), "-conf", "tony.worker.memory=2x", code=65)
        self.assertEqual(len(self.expect("list")["jobs"]), before)

    @of("explain-exit")
    def test_explain_exit_and_the_manual_agree_on_every_outcome_class(self):
        classes = self.expect("explain-exit")["classes"]
        told = [(c["class"], "yes" if c["retryable"] else "no", c["restart"], c["meaning"]) for c in classes]
        self.assertEqual(sorted(told), sorted(schemas_test.outcome_rows(schemas_test.ManualTest.manual)))
        self.assertEqual(sorted(c["class"] for c in classes), sorted(reader.load("outcome-class")["enum"]))

    @of("explain-exit")
    def test_explain_exit_explains_an_exit_code_or_a_signal(self):
        for word in ("0", "1", "137", "SIGKILL", "-100"):
            self.assertEqual(self.expect("explain-exit", word)["asked"], word)
        self.expect("explain-exit", "3", "--job", self.jobs["bad"])
        self.expect("explain-exit", "300", code=64)

    @of("doctor")
    def test_doctor_exits_with_0_exactly_if_it_reports_healthy(self):
        answer = self.box.run("doctor", "--json")
        document = answer.document()
        self.judge(answer, document, "doctor", 0 if document["healthy"] else 1)

    @of("gc")
    def test_gc_dry_run_lists_ended_jobs_and_no_running_job(self):
        gone = self.expect("gc", "--older-than", "0m", "--dry-run")["jobs"]
        self.assertIn(self.jobs["bad"], gone)
        self.assertNotIn(self.jobs["running"], gone)

    @of("status", "wait", "kill", "logs", "history", "explain-exit")
    def test_every_verb_exits_with_66_for_an_unknown_job(self):
        for words in (["status"], ["wait"], ["kill"], ["logs"], ["history"], ["explain-exit", "1", "--job"]):
            document = self.expect(*words, UNKNOWN, code=66)
            self.assertEqual(document["error"]["class"], "not_found")
            self.assertIn(UNKNOWN, document["error"]["message"])

    @of("status")
    def test_status_shows_known_jobs_despite_an_unknown_one_and_exits_with_66(self):
        answer = self.box.run("status", self.jobs["good"], UNKNOWN, "--json")
        document = answer.document()
        self.assertEqual((answer.exit, reader.complaints("status", document)), (66, []), str(answer))
        self.assertEqual([job["job"] for job in document["jobs"]], [self.jobs["good"], UNKNOWN])
        self.assertEqual(document["jobs"][1]["error"]["code"], 66)

    @of("history")
    def test_history_export_writes_to_the_history_location_of_the_job(self):
        job = self.expect("submit", *task("true", "-conf", f"tony.history.location={self.box.folder}/portal"))["job"]
        exported = self.expect("history", job, "--export", schema="history-export")
        self.assertTrue(os.path.isdir(exported["folder"]))
        self.expect("history", self.jobs["good"], "--export", code=65)

    @of("history")
    def test_history_lists_only_ended_jobs_and_filters_by_state(self):
        listed = {job["job"]: job for job in self.expect("history", schema="history-list")["jobs"]}
        self.assertEqual(listed[self.jobs["bad"]]["class"], "user_error")
        self.assertNotIn(self.jobs["running"], listed)
        failed = self.expect("history", "--state", "FAILED", "--limit", "1", schema="history-list")
        self.assertEqual((len(failed["jobs"]), failed["complete"]), (1, False))
        self.expect("history", "--class", "bad_luck", code=64)

    @of("history")
    def test_history_stats_are_the_same_after_a_reindex(self):
        before = self.expect("history", "--stats", "--class", "killed", schema="history-stats")["stats"]
        self.assertEqual(before["by_state"], {"KILLED": before["jobs"]})
        again = self.expect("history", "--reindex", schema="history-reindex")
        self.assertGreaterEqual(again["jobs"], again["from_folders"])
        after = self.expect("history", "--stats", "--class", "killed", schema="history-stats")["stats"]
        self.assertEqual(before, after)
        self.expect("history", "--stats", "--name", "none such", schema="history-stats")

    @of("history")
    def test_history_conf_shows_the_configuration_of_the_job(self):
        keys = [entry["key"] for entry in self.expect("history", self.jobs["bad"], "--conf")["configuration"]]
        self.assertIn("tony.worker.instances", keys)

    @of("history", "portal")
    def test_the_portal_runs_until_sigterm_and_exits_with_0(self):
        for words in (("history", "--serve", "--json"), ("portal", "--json")):
            process = self.box.start(*words)
            told = strict(process.stdout.readline().decode())
            self.assertEqual(reader.complaints("portal", told), [])
            process.send_signal(signal.SIGTERM)
            answer = self.box.finish(process, *words)
            self.assertEqual((answer.exit, answer.raw), (0, b""), str(answer))

    def test_every_verb_exits_with_64_for_a_bad_command_line(self):
        for verb in self.verbs():
            self.expect(verb, "--no-such-option", code=64)
        self.expect("no-such-verb", code=64)
        self.expect("status", code=64)
        self.expect("wait", self.jobs["good"], "--timeout", "soon", code=64)

    def test_the_json_option_is_accepted_before_the_verb(self):
        for words, code in [(("version",), 0), (("status", self.jobs["good"]), 0), (("wait", self.jobs["bad"]), 1),
                            (("status", UNKNOWN), 66), (("sttus",), 64)]:  # fmt: skip
            before = self.box.run("--json", *words)
            after = self.box.run(*words, "--json")
            self.assertEqual((before.exit, before.raw), (code, after.raw), str(before))
            before.document()

    def test_without_json_an_error_leaves_standard_output_empty(self):
        bad_spec = ("plan", *task("true"), "-conf", "tony.worker.memory=2x")
        for words in (("status", UNKNOWN), ("no-such-verb",), bad_spec):
            self.assertEqual(self.box.run(*words).raw, b"", words)

    def test_a_submit_with_an_unwritable_home_exits_with_73_or_69(self):
        for home in ("/proc/none", str(self.box.tony)):
            answer = self.box.run("submit", *task("true"), "--json", TONY_HOME=home)
            self.judge(answer, answer.document(), "error", answer.exit)
            self.assertIn(answer.exit, (69, 73))

    def test_logs_and_names_that_are_not_utf8_do_not_break_the_json_answer(self):
        command = "printf 'caf\\351 \\001\\n'; printf 'b\\377d' >&2; exit 1"
        self.expect("submit", *task("true"), "-conf", os.fsdecode(b"tony.application.name=caf\xe9"), code=64)
        job = self.own(*task(command, "-conf", 'tony.application.name=caf\u00e9 "\u2603"'))
        self.expect("wait", job, code=1)
        for verb in ("status", "logs", "history"):
            self.expect(verb, job)

    def test_answers_without_a_required_field_or_with_a_wrong_type_violate_their_schema(self):
        for words, schema in [(("version",), "version"), (("logs", self.jobs["good"]), "log-answer"),
                              (("history", self.jobs["bad"]), "history"), (("plan", *task("true")), "plan"),
                              (("gc", "--dry-run"), "gc"), (("doctor",), "doctor"), (("list", "--queue"), "queue"),
                              (("explain-exit",), "explain-exit"), (("status", self.jobs["bad"]), "job-status"),
                              (("outputs", self.jobs["good"]), "outputs"), (("recover",), "recover")]:  # fmt: skip
            document = self.box.run(*words, "--json").document()
            self.assertEqual(reader.complaints(schema, document), [])
            for field in reader.load(schema)["required"]:
                without = {name: value for name, value in document.items() if name != field}
                self.assertTrue(reader.complaints(schema, without), f"{schema} without {field}")
                other = {**document, field: 3.5}
                self.assertTrue(reader.complaints(schema, other), f"{schema} with another {field}")

    def verbs(self):
        """Returns the verbs that answer programs. The others answer people and their shells, or print a program's output."""
        lines = self.box.run("help").raw.decode().split("\n")
        named = [match[1] for line in lines if (match := re.match(r"  ([a-z-]+) ", line))]
        return [verb for verb in named
                if verb not in ("help", "completion", "complete", "notebook", "reproduce", "shell")]

    def test_every_verb_of_the_help_has_a_schema_a_row_of_the_manual_and_a_test(self):
        classes = (VerbsTest, engine_test.EngineTest)
        tests = [getattr(cls, name) for cls in classes for name in dir(cls) if name.startswith("test")]
        tested = {verb for test in tests for verb in getattr(test, "verbs", ())}
        rows = set(re.findall(r"^\| `([a-z-]+)", schemas_test.ManualTest.manual, re.M))
        self.assertGreater(len(self.verbs()), 10)
        for verb in self.verbs():
            self.assertIn(verb, reader.names())
            self.assertIn(verb, rows)
            self.assertIn(verb, tested)


class NothingLeftTest(unittest.TestCase):
    def test_no_tony_process_runs_after_the_kill_of_the_last_job(self):
        box = Sandbox()
        self.addCleanup(box.close)
        box.run("submit", *task("true"), "--json")
        job = strict(box.run("submit", "--detach", *task("sleep 600"), "--json").raw.decode())["job"]
        self.assertNotEqual(box.processes(), [])
        box.run("kill", job, "--json")
        self.assertEqual(box.processes(), [])


if __name__ == "__main__":
    unittest.main()

"""Checks that the stand-in answers as the real program does: every verb, in every state, against the schemas."""

import json
import signal
import subprocess
import unittest
from typing import Any

from .world import World, validate, wait_until

ID = ["--request-id", "airflow://flow/run/train/-1"]


class FakeTonyTest(unittest.TestCase):
    def setUp(self) -> None:
        self.world = World()
        self.addCleanup(self.world.remove)

    def run_tony(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [self.world.cli, *words, "--json"]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=20, check=False)

    def tony(self, *words: str, stdin: str = "", code: int = 0) -> dict[str, Any]:
        done = self.run_tony(*words, stdin=stdin)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def submit(self, owner: str = "a", submission: int = 0, policy: str = "adopt", code: int = 0) -> dict[str, Any]:
        options = ["--owner", owner, "--submission", str(submission), "--on-existing", policy]
        return self.tony("submit", "-", "--detach", *ID, *options, stdin='{"name":"x"}', code=code)

    def test_every_answer_of_the_fake_tony_matches_its_schema(self) -> None:
        for state in ("RUNNING", "SUCCEEDED", "FAILED", "KILLED"):
            with self.subTest(state):
                self.world.play(
                    timeline=[[0, state]],
                    logs=[{"task": "worker:0", "attempt": 1, "stream": "stderr", "text": "a\nb\n"}],
                )
                job = self.submit(policy="never")["job"]
                final = state != "RUNNING"
                self.assertEqual(self.tony("status", job)["state"], state)
                self.tony(
                    "wait", job, "--since", "0", "--timeout", "1", code=0 if state in ("RUNNING", "SUCCEEDED") else 1
                )
                self.tony("outputs", job, code=0 if final else 69)
                self.tony("ack", job, "--owner", "a", code=0 if final else 65)
                self.tony("logs", job, "worker:0", "--tail", "1")
                self.tony("find", *ID)
                self.tony("kill", *ID, "--if-owner", "a", "--reason", "enough", "--no-wait")
                watched = self.run_tony("watch", "-", stdin=f"{job}\nnobody\n").stdout.splitlines()
                self.assertIn("not_found", [json.loads(line).get("error", {}).get("class") for line in watched])
        self.tony("version")
        self.tony("plan", "-", stdin="{}")
        self.world.check_answers()

    def test_an_answer_that_violates_its_schema_is_refused(self) -> None:
        with self.assertRaisesRegex(Exception, "'job' is a required property"):
            validate("submit", {"schema": 1})

    def test_a_repeated_submit_attaches_to_or_adopts_or_replaces_the_job(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"]])
        first = self.submit("a")
        self.assertEqual(first["decision"], "created")
        self.assertEqual(self.submit("b"), {**first, "decision": "attached"})
        self.assertEqual(self.submit("c", submission=1)["decision"], "created")
        self.assertEqual(self.submit("d", submission=0, code=77)["error"]["class"], "auth")
        self.world.end()
        self.assertEqual(self.submit("e", submission=1)["decision"], "adopted")
        self.assertEqual(self.submit("f", submission=1, policy="attach")["decision"], "created")
        self.world.check_answers()

    def test_the_answer_to_a_kill_says_remembered_fenced_planned_or_killed(self) -> None:
        self.assertTrue(self.tony("kill", *ID, "--if-owner", "a", "--no-wait")["remembered"])
        self.submit("a", code=77)
        self.world.play(timeline=[[0, "RUNNING"]])
        job = self.submit("b")["job"]
        self.tony("wait", job, "--since", "0", "--watcher", "w")
        self.assertTrue(self.tony("kill", *ID, "--if-owner", "a", "--no-wait")["fenced"])
        self.assertTrue(self.tony("kill", *ID, "--if-owner", "b", "--if-watcher", "v", "--no-wait")["fenced"])
        self.assertTrue(self.tony("kill", *ID, "--if-owner", "b", "--if-watcher", "w", "--delay", "15")["planned"])
        self.assertTrue(self.tony("kill", *ID, "--if-owner", "b", "--no-wait")["killed"])
        self.assertEqual(self.tony("wait", job, code=1)["verdict"]["class"], "killed")
        self.world.check_answers()

    def test_scripted_faults_of_the_fake_tony_occur_in_order(self) -> None:
        trouble = [{"error": 69}, {"stdout": "what?"}, {"signal": 9}, {"signal": 9, "after": True}, {"exit": 3}]
        self.world.play(timeline=[[0, "RUNNING"]], mischief={"submit": trouble})
        options = ["submit", "-", *ID, "--owner", "a", "--submission", "0"]
        done = [self.run_tony(*options, stdin="{}") for _ in range(6)]
        self.assertEqual([run.returncode for run in done], [69, 0, -signal.SIGKILL, -signal.SIGKILL, 3, 0])
        self.assertEqual(len(self.world.jobs), 1)
        self.assertEqual(json.loads(done[-1].stdout)["decision"], "attached")
        self.world.check_answers()

    def test_a_watch_reports_changes_until_its_input_and_its_jobs_have_ended(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"]])
        job = self.submit()["job"]
        with subprocess.Popen(
            [self.world.cli, "watch", "-", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as watch:
            assert watch.stdin and watch.stdout
            watch.stdin.write(f"{job}\n".encode())
            watch.stdin.flush()
            self.assertEqual(json.loads(watch.stdout.readline())["state"], "RUNNING")
            self.world.end("FAILED")
            self.assertEqual(json.loads(watch.stdout.readline())["verdict"]["exit_code"], 3)
            self.assertIsNone(watch.poll())
            watch.stdin.close()
            self.assertEqual(watch.wait(10), 0)
        wait_until("the watch is gone", lambda: not self.world.running())
        self.world.check_answers()

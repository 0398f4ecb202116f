"""Airflow ends the task's process, by either version's way: 2 raises out of its signal handler, 3 goes on after it."""

import os
import time
from collections.abc import Callable
from typing import Any

from .case import AirflowTaskTerminated, QuickCase
from .world import wait_until

ENDLESS = [[0, "RUNNING"]]


class KilledTest(QuickCase):
    def setUp(self) -> None:
        super().setUp()
        self.world.play(timeline=ENDLESS)

    def operator(self, **arguments: Any) -> Any:
        """It looks up often: in Airflow 3's way a task only notices between looks that it was killed."""
        return super().operator(**{"poll_interval": 1.0, **arguments})

    def terminate(self, task: Any, raises: bool, when: Callable[[], Any]) -> BaseException:
        """What execute() ends with when the process is told to stop at that moment; by no means a result."""

        def on_term() -> None:
            task.on_kill()
            if raises:
                raise AirflowTaskTerminated("Task received SIGTERM signal")

        context = self.context(task)
        with self.terminated(when, on_term), self.assertRaises(BaseException) as raised:
            self.execute(task, context)
        if raises:
            self.assertIsInstance(raised.exception, AirflowTaskTerminated)
        self.assertNotIsInstance(raised.exception, AssertionError)
        self.assertNotIn("final_state", context["ti"].xcoms)
        self.assertNotIn("ack", self.world.verbs())
        return raised.exception

    def both_ways(self, check: Callable[[bool], None]) -> None:
        for raises in (True, False):
            with self.subTest("Airflow 2" if raises else "Airflow 3"):
                check(raises)

    def states(self) -> list[str]:
        from . import fake_tony

        return [fake_tony.state(job) for job in self.world.jobs]

    def test_during_the_wait_the_job_is_ended_by_its_owner(self) -> None:
        def check(raises: bool) -> None:
            before = len(self.world.calls("wait"))
            task = self.operator(request_id=f"r{raises}")
            self.terminate(task, raises, when=lambda: len(self.world.calls("wait")) > before)
            call = self.world.calls("kill")[-1]
            submit = self.world.calls("submit")[-1]
            self.assertEqual(call["options"]["--if-owner"], submit["options"]["--owner"])
            self.assertEqual(call["options"]["--request-id"], f"r{raises}")
            self.assertTrue(call["options"]["--no-wait"])
            self.assertEqual(call["session"], call["pid"])
            wait_until("the job is killed", lambda: self.states()[-1] == "KILLED")
            wait_until("no call is left", lambda: not self.world.running())

        self.both_ways(check)

    def test_while_a_submit_has_not_recorded_its_job_there_is_never_one(self) -> None:
        def check(raises: bool) -> None:
            before = len(self.world.calls("submit"))
            self.world.play(timeline=ENDLESS, mischief={"submit": [{"delay": 1.0, "always": True}]})
            task = self.operator(request_id=f"r{raises}")
            self.terminate(task, raises, when=lambda: len(self.world.calls("submit")) > before)
            self.assertEqual(
                self.world.calls("kill")[-1]["options"]["--if-owner"],
                self.world.calls("submit")[-1]["options"]["--owner"],
            )
            wait_until("no call is left", lambda: not self.world.running())
            self.assertEqual(self.world.jobs, [])

        self.both_ways(check)

    def test_while_a_submit_has_recorded_its_job_and_not_answered_the_job_is_ended(self) -> None:
        def check(raises: bool) -> None:
            before = len(self.world.jobs)
            self.world.play(timeline=ENDLESS, mischief={"submit": [{"delay": 1.0, "after": True, "always": True}]})
            task = self.operator(request_id=f"r{raises}")
            self.terminate(task, raises, when=lambda: len(self.world.jobs) > before)
            wait_until("the job is killed", lambda: self.states()[-1] == "KILLED")

        self.both_ways(check)

    def test_before_the_submit_no_job_is_left_running(self) -> None:
        task = self.operator()
        task.on_kill()
        with self.assertRaises(Exception):
            self.execute(task)
        if self.world.jobs:
            wait_until("the job is killed", lambda: self.states()[-1] == "KILLED", limit=2.0)

    def test_on_kill_of_a_task_that_has_not_begun_is_nothing(self) -> None:
        self.operator().on_kill()
        self.assertEqual(self.world.calls(), [])

    def test_a_kill_that_hangs_does_not_keep_airflow(self) -> None:
        self.world.play(timeline=ENDLESS, mischief={"kill": [{"hang": True, "deaf": True}]})
        task = self.operator()
        began: list[float] = []

        def on_term() -> None:
            began.append(time.monotonic())
            task.on_kill()

        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertLess(time.monotonic() - began[0], 3.0)

    def test_a_look_that_takes_long_does_not_keep_the_kill(self) -> None:
        task = self.operator(poll_interval=60.0)
        began: list[float] = []

        def on_term() -> None:
            began.append(time.monotonic())
            task.on_kill()

        with self.terminated(lambda: len(self.world.calls("wait")) > 1, on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertLess(time.monotonic() - began[0], 3.0)
        self.assertIn("kill", self.world.verbs())

    def test_detach_leaves_the_job(self) -> None:
        def check(raises: bool) -> None:
            before = len(self.world.calls("wait"))
            task = self.operator(on_kill_action="detach")
            self.terminate(task, raises, when=lambda: len(self.world.calls("wait")) > before)
            self.assertEqual(self.states(), ["RUNNING"])
            self.assertNotIn("kill", self.world.verbs())

        self.both_ways(check)

    def test_cancel_unless_reattached_is_a_kill_with_a_delay(self) -> None:
        def check(raises: bool) -> None:
            before = len(self.world.calls("wait"))
            task = self.operator(on_kill_action="cancel_unless_reattached")
            self.terminate(task, raises, when=lambda: len(self.world.calls("wait")) > before)
            self.assertGreaterEqual(float(self.world.calls("kill")[-1]["options"]["--delay"]), 30)
            self.assertEqual(self.states(), ["RUNNING"])

        self.both_ways(check)

    def test_a_job_that_succeeds_all_the_same_is_no_success_of_the_killed_task(self) -> None:
        task = self.operator(on_kill_action="detach")

        def on_term() -> None:
            task.on_kill()
            self.world.end("SUCCEEDED")

        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertNotIn("ack", self.world.verbs())

    def test_a_zombies_kill_does_not_end_the_job_of_its_successor(self) -> None:
        task = self.operator()

        def on_term() -> None:
            self.world.take_over()
            task.on_kill()

        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertEqual([call["options"]["--if-owner"] for call in self.world.calls("kill")],
                         [self.world.calls("submit")[0]["options"]["--owner"]])  # fmt: skip
        self.assertEqual(self.states(), ["RUNNING"])

    def test_execution_timeout_ends_the_job_whatever_becomes_of_it_on_kill(self) -> None:
        from tony_airflow._compat import AirflowTaskTimeout

        def on_term() -> None:
            raise AirflowTaskTimeout("Timeout, PID: 7")

        for action in ("cancel", "detach"):
            with self.subTest(action):
                before = len(self.world.calls("wait"))
                task = self.operator(on_kill_action=action, request_id=action)
                with (
                    self.terminated(lambda: len(self.world.calls("wait")) > before, on_term),
                    self.assertRaises(AirflowTaskTimeout),
                ):
                    self.execute(task)
                wait_until("the job is killed", lambda: self.states()[-1] == "KILLED")
                wait_until("no call is left", lambda: not self.world.running())

    def test_an_interrupted_dags_test_ends_its_job(self) -> None:
        def on_term() -> None:
            raise KeyboardInterrupt

        task = self.operator(retries=1)
        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(KeyboardInterrupt):
            self.execute(task)
        wait_until("the job is killed", lambda: self.states() == ["KILLED"])

    def test_a_kill_uses_what_was_known_before(self) -> None:
        """While Airflow 3 ends a task it may not answer any more, not even for the connection."""
        task = self.operator()

        def on_term() -> None:
            os.environ.pop("AIRFLOW_CONN_TONY_DEFAULT")
            task.on_kill()

        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertEqual(self.world.verbs()[-1], "kill")

    def test_after_its_end_a_task_ends_no_job(self) -> None:
        task = self.operator(wait_for_completion=False)
        self.execute(task)
        task.on_kill()
        self.assertEqual(self.states(), ["RUNNING"])


class AskedForTest(QuickCase):
    """Who wants the end: the state that Airflow has of the task tells a person's click from all else."""

    def stopped(self, state: Any, **arguments: Any) -> str:
        """The state of the job after its task's process was told to stop, in the first of two tries."""
        self.world.remove_jobs()
        self.world.play(timeline=ENDLESS)
        before = len(self.world.calls("wait"))
        task = self.operator(**{"retries": 1, "poll_interval": 1.0, **arguments})
        context = self.context(task)
        context["ti"].airflows_state = state
        with self.terminated(lambda: len(self.world.calls("wait")) > before, task.on_kill):
            with self.assertRaises(Exception):
                self.execute(task, context)
        from . import fake_tony

        return fake_tony.state(self.world.jobs[0]).replace("STOPPING", "KILLED")

    def test_a_persons_mark_or_clear_ends_the_job_at_once(self) -> None:
        for state in ("failed", "success", "skipped", "restarting", "removed", None):
            with self.subTest(state):
                self.assertEqual(self.stopped(state), "KILLED")
                self.assertNotIn("--delay", self.world.calls("kill")[-1]["options"])

    def test_a_stop_that_nobody_asked_for_leaves_the_job_to_the_next_try(self) -> None:
        for state in ("running", "up_for_retry", "scheduled", "queued"):
            with self.subTest(state), self.logged() as lines:
                self.assertEqual(self.stopped(state), "RUNNING")
            self.assertIn("the job goes on for the next try", "\n".join(lines))
        self.assertNotIn("kill", self.world.verbs())

    def test_so_does_an_airflow_that_cannot_be_asked(self) -> None:
        with self.logged() as lines:
            self.assertEqual(self.stopped(ConnectionError("no route")), "RUNNING")
        self.assertIn("no route", "\n".join(lines))

    def test_the_next_try_goes_on_with_that_job(self) -> None:
        self.stopped("running")
        self.world.end()
        task = self.operator(retries=1)
        self.execute(task, self.context(task, try_number=2))
        self.assertEqual(len(self.world.jobs), 1)

    def test_without_a_next_try_the_job_ends_whoever_asked(self) -> None:
        for state in ("running", ConnectionError("no route")):
            self.assertEqual(self.stopped(state, retries=0), "KILLED")

    def test_two_minutes_are_given_where_the_dag_says_so(self) -> None:
        for state in ("running", "failed"):
            self.assertEqual(self.stopped(state, on_kill_action="cancel_unless_reattached"), "RUNNING")
            self.assertEqual(self.world.calls("kill")[-1]["options"]["--delay"], "120")

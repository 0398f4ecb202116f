"""Airflow ends the task's process in either version's way: Airflow 2 raises from its signal handler, Airflow 3
continues after it."""

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
        """Makes an operator that queries often. In Airflow 3 a task notices a kill only between two queries."""
        return super().operator(**{"poll_interval": 1.0, **arguments})

    def terminate(self, task: Any, raises: bool, when: Callable[[], Any]) -> BaseException:
        """Returns the exception with which execute() ends when the process is stopped at that moment. execute() must
        not return a result."""

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

    def test_killing_a_waiting_task_kills_its_job_with_the_owner_of_the_submit(self) -> None:
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

    def test_killing_a_task_before_its_submit_records_the_job_leaves_no_job(self) -> None:
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

    def test_killing_a_task_after_its_submit_recorded_the_job_ends_the_job(self) -> None:
        def check(raises: bool) -> None:
            before = len(self.world.jobs)
            self.world.play(timeline=ENDLESS, mischief={"submit": [{"delay": 1.0, "after": True, "always": True}]})
            task = self.operator(request_id=f"r{raises}")
            self.terminate(task, raises, when=lambda: len(self.world.jobs) > before)
            wait_until("the job is killed", lambda: self.states()[-1] == "KILLED")

        self.both_ways(check)

    def test_killing_a_task_before_its_submit_leaves_no_job_running(self) -> None:
        task = self.operator()
        task.on_kill()
        with self.assertRaises(Exception):
            self.execute(task)
        if self.world.jobs:
            wait_until("the job is killed", lambda: self.states()[-1] == "KILLED", limit=2.0)

    def test_on_kill_before_the_task_starts_does_not_call_tony(self) -> None:
        self.operator().on_kill()
        self.assertEqual(self.world.calls(), [])

    def test_a_kill_command_that_hangs_delays_the_task_by_less_than_3_seconds(self) -> None:
        self.world.play(timeline=ENDLESS, mischief={"kill": [{"hang": True, "deaf": True}]})
        task = self.operator()
        began: list[float] = []

        def on_term() -> None:
            began.append(time.monotonic())
            task.on_kill()

        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertLess(time.monotonic() - began[0], 3.0)

    def test_a_poll_interval_of_60_seconds_does_not_delay_the_kill(self) -> None:
        task = self.operator(poll_interval=60.0)
        began: list[float] = []

        def on_term() -> None:
            began.append(time.monotonic())
            task.on_kill()

        with self.terminated(lambda: len(self.world.calls("wait")) > 1, on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertLess(time.monotonic() - began[0], 3.0)
        self.assertIn("kill", self.world.verbs())

    def test_killing_a_task_with_on_kill_action_detach_leaves_its_job_running(self) -> None:
        def check(raises: bool) -> None:
            before = len(self.world.calls("wait"))
            task = self.operator(on_kill_action="detach")
            self.terminate(task, raises, when=lambda: len(self.world.calls("wait")) > before)
            self.assertEqual(self.states(), ["RUNNING"])
            self.assertNotIn("kill", self.world.verbs())

        self.both_ways(check)

    def test_cancel_unless_reattached_delays_the_kill_by_at_least_30_seconds(self) -> None:
        def check(raises: bool) -> None:
            before = len(self.world.calls("wait"))
            task = self.operator(on_kill_action="cancel_unless_reattached")
            self.terminate(task, raises, when=lambda: len(self.world.calls("wait")) > before)
            self.assertGreaterEqual(float(self.world.calls("kill")[-1]["options"]["--delay"]), 30)
            self.assertEqual(self.states(), ["RUNNING"])

        self.both_ways(check)

    def test_a_killed_task_fails_even_if_its_job_succeeds(self) -> None:
        task = self.operator(on_kill_action="detach")

        def on_term() -> None:
            task.on_kill()
            self.world.end("SUCCEEDED")

        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertNotIn("ack", self.world.verbs())

    def test_the_kill_of_an_earlier_try_does_not_end_the_job_of_the_next_try(self) -> None:
        task = self.operator()

        def on_term() -> None:
            self.world.take_over()
            task.on_kill()

        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertEqual([call["options"]["--if-owner"] for call in self.world.calls("kill")],
                         [self.world.calls("submit")[0]["options"]["--owner"]])  # fmt: skip
        self.assertEqual(self.states(), ["RUNNING"])

    def test_execution_timeout_ends_the_job_with_every_on_kill_action(self) -> None:
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

    def test_ctrl_c_in_airflow_dags_test_ends_the_job(self) -> None:
        def on_term() -> None:
            raise KeyboardInterrupt

        task = self.operator(retries=1, proxy_user="eve")
        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(KeyboardInterrupt):
            self.execute(task)
        wait_until("the job is killed", lambda: self.states() == ["KILLED"])
        self.assertEqual(self.world.calls("kill")[0]["environment"].get("HADOOP_PROXY_USER"), "eve")

    def test_a_kill_is_sent_even_if_airflow_does_not_answer(self) -> None:
        """While Airflow 3 ends a task it may not answer any more, not even a request for the connection."""
        task = self.operator()

        def on_term() -> None:
            os.environ.pop("AIRFLOW_CONN_TONY_DEFAULT")
            task.on_kill()

        with self.terminated(lambda: self.world.calls("wait"), on_term), self.assertRaises(Exception):
            self.execute(task)
        self.assertEqual(self.world.verbs()[-1], "kill")

    def test_on_kill_after_the_tasks_end_ends_no_job(self) -> None:
        task = self.operator(wait_for_completion=False)
        self.execute(task)
        task.on_kill()
        self.assertEqual(self.states(), ["RUNNING"])


class AskedForTest(QuickCase):
    """The provider finds out who wants the end: the task's state in Airflow distinguishes a user's click from all other
    causes."""

    def stopped(self, state: Any, **arguments: Any) -> str:
        """Returns the state of the job after its task's process was stopped, in the first of two tries."""
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

    def test_a_user_who_marks_or_clears_a_task_ends_its_job_at_once(self) -> None:
        for state in ("failed", "success", "skipped", "restarting", "removed", None):
            with self.subTest(state):
                self.assertEqual(self.stopped(state), "KILLED")
                self.assertNotIn("--delay", self.world.calls("kill")[-1]["options"])

    def test_a_stop_that_no_user_requested_leaves_the_job_running_for_the_next_try(self) -> None:
        for state in ("running", "up_for_retry", "scheduled", "queued"):
            with self.subTest(state), self.logged() as lines:
                self.assertEqual(self.stopped(state), "RUNNING")
            self.assertIn("the job continues for the next try", "\n".join(lines))
        self.assertNotIn("kill", self.world.verbs())

    def test_the_job_continues_for_the_next_try_if_airflow_does_not_answer(self) -> None:
        with self.logged() as lines:
            self.assertEqual(self.stopped(ConnectionError("no route")), "RUNNING")
        self.assertIn("no route", "\n".join(lines))

    def test_the_try_after_a_stopped_try_submits_no_second_job(self) -> None:
        self.stopped("running")
        self.world.end()
        task = self.operator(retries=1)
        self.execute(task, self.context(task, try_number=2))
        self.assertEqual(len(self.world.jobs), 1)

    def test_a_stop_of_the_last_try_always_ends_the_job(self) -> None:
        for state in ("running", ConnectionError("no route")):
            self.assertEqual(self.stopped(state, retries=0), "KILLED")

    def test_cancel_unless_reattached_delays_the_kill_by_120_seconds(self) -> None:
        for state in ("running", "failed"):
            self.assertEqual(self.stopped(state, on_kill_action="cancel_unless_reattached"), "RUNNING")
            self.assertEqual(self.world.calls("kill")[-1]["options"]["--delay"], "120")

"""The operator that releases its worker: when it defers, what the deferral holds, and how it continues."""

import datetime
import socket
import time
from typing import Any

from .case import AIRFLOW_2, AirflowFailException, AirflowSkipException, QuickCase

ENDLESS = [[0, "RUNNING"]]


class DeferrableCase(QuickCase):
    def deferring(self, **arguments: Any) -> Any:
        return self.operator(**{"deferrable": True, "defer_after": 0.0, **arguments})

    def deferred(self, **arguments: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Returns a deferral of an endless job, a new operator to continue with, and its context."""
        self.world.play(timeline=ENDLESS, **arguments.pop("world", {}))
        task = self.deferring(**arguments)
        context = self.context(task)
        deferral = self.deferral(task, context)
        again = self.deferring(**arguments)
        return deferral, again, {**context, "task": again}


class DeferTest(DeferrableCase):
    def test_a_task_does_not_defer_if_its_job_succeeds_within_defer_after(self) -> None:
        self.world.play(outputs={"a": 1})
        self.assertEqual(self.run_operator(deferrable=True, defer_after=5.0), {"a": 1})
        self.assertIn("ack", self.world.verbs())

    def test_a_task_does_not_defer_if_its_job_fails_within_defer_after(self) -> None:
        from tony_airflow.exceptions import TonyJobFailed

        self.world.play(timeline=[[0, "FAILED"]])
        with self.assertRaises(TonyJobFailed):
            self.run_operator(deferrable=True, defer_after=5.0)

    def test_a_task_defers_if_its_job_runs_longer_than_defer_after(self) -> None:
        began = time.monotonic()
        self.deferred(defer_after=1.0, poll_interval=60.0)
        self.assertGreater(time.monotonic() - began, 0.9)
        self.assertLess(time.monotonic() - began, 4.0)

    def test_job_id_and_links_are_in_the_xcoms_of_a_deferred_task(self) -> None:
        from tony_airflow.links.tony import TonyJobLink, TonyLogsLink

        _, _, context = self.deferred(defer_after=0.3)
        xcoms = context["ti"].xcoms
        self.assertEqual((xcoms["job_id"], xcoms["tracking_url"]), ("played-1", "http://127.0.0.1:1/played-1/"))
        self.assertIn("logs_url", xcoms)
        if not AIRFLOW_2:
            self.assertEqual(xcoms[TonyJobLink().xcom_key], xcoms["tracking_url"])
            self.assertEqual(xcoms[TonyLogsLink().xcom_key], xcoms["logs_url"])
        self.assertNotIn("ack", self.world.verbs())

    def test_links_are_in_the_xcoms_even_if_the_submit_took_longer_than_defer_after(self) -> None:
        _, _, context = self.deferred(defer_after=0.3, world={"mischief": {"submit": [{"delay": 0.5}]}})
        self.assertIn("tracking_url", context["ti"].xcoms)

    def test_the_deferral_is_plain_json_without_secrets(self) -> None:
        import json

        self.set_environment("AIRFLOW_CONN_TONY_DEFAULT", None)
        self.connect(password="sesame", home="/h")
        deferral, _, _ = self.deferred(env={"TOKEN": "sesame"})
        text = json.dumps([self.stored(deferral.trigger).serialize(), deferral.kwargs])
        self.assertNotIn("sesame", text)
        self.assertIn('"/h"', text)

    def test_in_airflow_3_the_trigger_sends_no_event_in_the_first_8_seconds(self) -> None:
        from tony_airflow.operators import tony

        self.patches["operators.tony.SHORTEST_DEFERRAL"].stop()
        self.addCleanup(self.patches["operators.tony.SHORTEST_DEFERRAL"].start)
        if AIRFLOW_2:
            self.assertEqual(tony.SHORTEST_DEFERRAL, 0.0)
            return
        deferral, _, _ = self.deferred()
        self.assertGreater(deferral.trigger.serialize()[1]["not_before"], time.time() + 8)

    def test_a_killed_task_does_not_defer(self) -> None:
        self.world.play(timeline=ENDLESS)
        task = self.deferring(defer_after=2.0, poll_interval=1.0)
        with self.terminated(lambda: self.world.calls("wait"), task.on_kill), self.assertRaises(Exception):
            self.execute(task)
        self.assertIn("kill", self.world.verbs())


class ResumeTest(DeferrableCase):
    def event(self, deferral: Any) -> dict[str, Any]:
        events = self.events(self.stored(deferral.trigger))
        self.assertEqual(len(events), 1)
        return events[0]

    def test_a_resumed_operator_returns_the_outputs_and_acknowledges_the_job(self) -> None:
        deferral, again, context = self.deferred(world={"outputs": {"a": 1}})
        self.world.end()
        self.assertEqual(self.resume(again, context, deferral, self.event(deferral)), {"a": 1})
        self.assertEqual(context["ti"].xcoms["final_state"], "SUCCEEDED")
        ack, submit = self.world.calls("ack")[0], self.world.calls("submit")[0]
        self.assertEqual(ack["options"]["--owner"], submit["options"]["--owner"])
        self.assertTrue(self.world.jobs[0]["acked"])
        self.assertEqual(len(self.world.calls("submit")), 1)

    def test_a_resumed_operator_identifies_the_job_by_the_event_alone(self) -> None:
        """`airflow dags test` runs the trigger itself and loses the other arguments of the deferral."""
        deferral, again, context = self.deferred(world={"outputs": {"a": 1}})
        self.world.end()
        self.assertEqual(again.execute_complete(context, self.event(deferral)), {"a": 1})
        self.assertTrue(self.world.jobs[0]["acked"])

    def test_the_error_for_an_unreachable_job_names_the_machine_that_submitted_it(self) -> None:
        deferral, again, context = self.deferred()
        deferral.kwargs["host"] = "worker-7"
        self.world.play(mischief={"wait": [{"error": 66, "message": "no such job", "always": True}]})
        event = {"kind": "unreachable", "message": "no such job", "job": {}}
        where = r"no such job; the job was submitted on worker-7 \(home .*\), but this task runs on "
        with self.assertRaisesRegex(Exception, where):
            self.resume(again, context, deferral, event)
        deferral.kwargs["host"], home = socket.gethostname(), deferral.kwargs["home"]
        deferral.kwargs["home"] = "/elsewhere"
        where = rf"\(home /elsewhere\), but this task runs on .* \(home {home}\); run the tasks"
        with self.assertRaisesRegex(Exception, where):
            self.resume(again, context, deferral, event)
        for known in (home, None):  # 0.1.0 did not store it
            deferral.kwargs["home"] = known
            with self.assertRaisesRegex(Exception, "no such job$"):
                self.resume(again, context, deferral, event)

    def test_the_log_stream_continues_at_its_cursor_after_a_deferral(self) -> None:
        deferral, again, context = self.deferred(get_logs="stream", defer_after=0.3)
        read = [call["options"].get("--cursor") for call in self.world.calls("logs")]
        self.assertTrue(deferral.kwargs["log_cursor"])
        self.world.end()
        self.resume(again, context, deferral, self.event(deferral))
        after = [call["options"].get("--cursor") for call in self.world.calls("logs")][len(read) :]
        self.assertEqual((read[0], after[0]), (None, deferral.kwargs["log_cursor"]))

    def test_a_failed_job_raises_the_same_exception_before_and_after_a_deferral(self) -> None:
        verdicts: list[tuple[dict[str, Any], dict[str, Any], type, str]] = [
            ({}, {}, Exception, "^played-[0-9] FAILED user_error: worker:0 failed"),
            (
                {"class": "oom", "retryable": False, "message": "m"},
                {},
                AirflowFailException,
                "^played-[0-9] FAILED oom: m",
            ),
            ({}, {"skip_on_exit_code": 3}, AirflowSkipException, "user_error"),
            ({}, {"non_retryable": ["user_error"]}, AirflowFailException, "user_error"),
        ]
        for verdict, arguments, kind, text in verdicts:
            with self.subTest(**verdict, **arguments):
                deferral, again, context = self.deferred(reattach="never", **arguments)
                self.world.end("FAILED", **verdict)
                with self.assertRaisesRegex(kind, text):
                    self.resume(again, context, deferral, self.event(deferral))
                self.assertNotIn("ack", self.world.verbs())

    def test_a_resumed_operator_queries_the_job_again_for_every_kind_of_event(self) -> None:
        deferral, again, context = self.deferred(world={"outputs": {"a": 1}})
        self.world.end()
        for kind in ("unreachable", "timeout", "ended"):
            with self.subTest(kind):
                event = {"kind": kind, "job_id": "played-1", "message": "it is said"}
                self.assertEqual(self.resume(again, context, deferral, event), {"a": 1})

    def test_a_failed_job_fails_the_task_even_if_the_event_says_succeeded(self) -> None:
        deferral, again, context = self.deferred()
        self.world.end("FAILED")
        event = {"kind": "ended", "job_id": "played-1", "message": "all is well", "state": "SUCCEEDED"}
        with self.assertRaisesRegex(Exception, "user_error"):
            self.resume(again, context, deferral, event)

    def test_a_timeout_event_ends_the_job_and_fails_the_task(self) -> None:
        deferral, again, context = self.deferred()
        with self.assertRaisesRegex(Exception, "timeout"):
            self.resume(again, context, deferral, {"kind": "timeout", "job_id": "played-1", "message": "late"})
        self.assertNotIn("ack", self.world.verbs())
        self.assertIn("kill", self.world.verbs())
        self.assertNotEqual(context["ti"].xcoms.get("final_state"), "SUCCEEDED")

    def test_killing_a_resumed_task_ends_its_job(self) -> None:
        deferral, again, context = self.deferred()
        before = len(self.world.calls("wait"))
        event = {"kind": "unreachable", "job_id": "played-1", "message": "m"}
        with self.terminated(lambda: len(self.world.calls("wait")) > before, again.on_kill):
            with self.assertRaises(Exception) as raised:
                self.resume(again, context, deferral, event)
        self.assertNotIsInstance(raised.exception, AssertionError)
        kill, submit = self.world.calls("kill")[0], self.world.calls("submit")[0]
        self.assertEqual(kill["options"]["--if-owner"], submit["options"]["--owner"])

    def test_the_deadline_of_the_trigger_is_execution_timeout_minus_a_margin(self) -> None:
        for seconds, margin in ((60, 5), (3600, 72)):
            with self.subTest(seconds):
                limit = datetime.timedelta(seconds=seconds)
                deferral, _, context = self.deferred(execution_timeout=limit)
                due = context["ti"].start_date.timestamp() + seconds - margin
                self.assertAlmostEqual(deferral.trigger.serialize()[1]["deadline"], due, delta=0.1)
                self.assertIsNone(deferral.timeout)

    def test_without_execution_timeout_the_trigger_has_no_deadline(self) -> None:
        self.assertIsNone(self.deferred()[0].trigger.serialize()[1]["deadline"])

    def test_the_argument_on_kill_action_sets_the_kill_delay_of_the_trigger(self) -> None:
        delays = {action: self.deferred(on_kill_action=action)[0].trigger.serialize()[1]["kill_delay"]
                  for action in ("cancel", "cancel_unless_reattached", "detach")}  # fmt: skip
        self.assertEqual(delays["cancel"], 15)
        self.assertGreater(delays["cancel_unless_reattached"], 30)
        self.assertIsNone(delays["detach"])

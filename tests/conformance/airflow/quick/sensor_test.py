"""The sensor: its three ways of waiting, and its end."""

import asyncio
import threading
from typing import Any

from .case import AIRFLOW_2, AirflowSkipException, QuickCase

ENDLESS = [[0, "RUNNING"]]

try:
    from airflow.sdk.exceptions import AirflowRescheduleException
except ImportError:  # before 3.2
    from airflow.exceptions import AirflowRescheduleException


class SensorTest(QuickCase):
    def sensor(self, **arguments: Any) -> Any:
        from tony_airflow.sensors.tony import TonyJobSensor

        with self.dag():
            return TonyJobSensor(
                **{"task_id": "sense", "deferrable": False, "poke_interval": 0.1, "timeout": 20, **arguments}
            )

    def submit(self, **world: Any) -> str:
        """Makes a new job of the request `r`."""
        from tony_airflow.hooks.tony import Order, TonyHook

        self.world.play(**world)
        return TonyHook().submit({"name": "x"}, Order("r", "o"), on_existing="never")["job"]

    def submit_soon(self) -> None:
        timer = threading.Timer(0.3, lambda: self.submit(outputs={"a": 1}))
        timer.start()
        self.addCleanup(timer.join)

    def test_the_sensor_pokes_until_the_job_has_succeeded_and_returns_its_outputs(self) -> None:
        job = self.submit(timeline=[[0, "RUNNING"]], outputs={"a": 1})
        with self.ended_after("status", 2):
            self.assertEqual(self.execute(self.sensor(job_id=job)), {"a": 1})
        self.assertFalse({"ack", "kill"} & set(self.world.verbs()))

    def test_the_sensor_waits_as_its_proxy_user(self) -> None:
        job = self.submit(outputs={"a": 1})
        self.execute(self.sensor(job_id=job, proxy_user="eve"))
        users = [call["environment"].get("HADOOP_PROXY_USER") for call in self.world.calls()]
        self.assertEqual(set(users[1:]), {"eve"})
        deferral = self.deferral(self.sensor(job_id=self.submit(timeline=ENDLESS), proxy_user="eve", deferrable=True))
        self.assertEqual(deferral.trigger.serialize()[1]["cli"]["proxy_user"], "eve")

    def test_the_sensor_acknowledges_a_job_only_if_no_task_waits_for_the_job(self) -> None:
        self.world.play(outputs={"a": 1})
        for waits, acknowledges in ((False, 1), (True, 0)):
            with self.subTest(waits=waits):
                task = self.operator(request_id=f"r{waits}", wait_for_completion=waits)
                self.execute(task)
                before = len(self.world.calls("ack"))
                self.execute(self.sensor(request_id=f"r{waits}"))
                self.assertEqual(len(self.world.calls("ack")) - before, acknowledges)
                self.assertTrue(self.world.jobs[-1]["acked"])

    def test_the_sensor_succeeds_with_a_warning_if_its_acknowledgement_fails(self) -> None:
        self.world.play(outputs={"a": 1}, mischief={"ack": [{"error": 69, "message": "no store", "always": True}]})
        self.execute(self.operator(request_id="r", wait_for_completion=False))
        with self.logged() as lines:
            self.assertEqual(self.execute(self.sensor(request_id="r")), {"a": 1})
        self.assertIn("no store", "\n".join(lines))

    def test_the_sensor_waits_for_a_job_that_is_submitted_later(self) -> None:
        self.submit_soon()
        self.assertEqual(self.execute(self.sensor(request_id="r")), {"a": 1})

    def test_the_sensor_fails_if_the_job_failed_or_was_killed(self) -> None:
        for state in ("FAILED", "KILLED"):
            with self.subTest(state):
                job = self.submit(timeline=[[0, state]])
                with self.assertRaisesRegex(Exception, f"{job} {state}"):
                    self.execute(self.sensor(job_id=job))

    def test_soft_fail_skips_the_sensor_of_a_failed_job(self) -> None:
        job = self.submit(timeline=[[0, "FAILED"]])
        for deferrable in (False, True):
            with self.subTest(deferrable=deferrable), self.assertRaises(AirflowSkipException):
                self.execute(self.sensor(job_id=job, soft_fail=True, deferrable=deferrable))

    def test_the_sensor_succeeds_after_a_short_outage_of_the_runtime(self) -> None:
        job = self.submit(mischief={"status": [{"error": 69}, {"error": 69}]}, outputs={"a": 1})
        self.assertEqual(self.execute(self.sensor(job_id=job)), {"a": 1})

    def test_the_sensor_fails_for_an_unknown_job_id(self) -> None:
        with self.assertRaisesRegex(Exception, "nobody"):
            self.execute(self.sensor(job_id="nobody"))

    def test_the_sensor_requires_either_job_id_or_request_id(self) -> None:
        for names in ({}, {"job_id": "j", "request_id": "r"}):
            with self.subTest(**names), self.assertRaisesRegex(Exception, "job_id"):
                self.execute(self.sensor(**names))

    def test_a_sensor_in_reschedule_mode_releases_the_worker_between_pokes(self) -> None:
        job = self.submit(timeline=ENDLESS, outputs={"a": 1})
        sensor = self.sensor(job_id=job, mode="reschedule", poke_interval=60)
        context = self.context(sensor)
        if AIRFLOW_2:
            # Airflow 2 queries its database for the time of the first poke.
            self.assertFalse(sensor.poke(context).is_done)
        else:
            context["ti"].get_first_reschedule_date = lambda *_, **__: None
            with self.assertRaises(AirflowRescheduleException):
                self.execute(sensor, context)
        self.world.end()
        self.assertTrue(sensor.poke(context).is_done)

    def test_a_deferred_sensor_returns_the_outputs_after_its_triggers_event(self) -> None:
        job = self.submit(timeline=ENDLESS, outputs={"a": 1})
        for names in ({"job_id": job}, {"request_id": "r"}):
            with self.subTest(**names):
                sensor = self.sensor(deferrable=True, timeout=77, **names)
                context = self.context(sensor)
                deferral = self.deferral(sensor, context)
                self.assertEqual(deferral.timeout.total_seconds(), 77)
                trigger = self.stored(deferral.trigger)
                self.world.end()
                event = self.events(trigger)[0]
                self.assertEqual(event["kind"], "ended")
                again = self.sensor(deferrable=True, **names)
                self.assertEqual(self.resume(again, context, deferral, event), {"a": 1})
                job = self.submit(timeline=ENDLESS, outputs={"a": 1})
        self.assertNotIn("kill", self.world.verbs())

    def test_a_deferred_sensor_waits_for_a_job_that_is_submitted_later(self) -> None:
        sensor = self.sensor(deferrable=True, request_id="r", poke_interval=0.1)
        deferral = self.deferral(sensor)
        self.submit_soon()
        self.assertEqual(self.events(self.stored(deferral.trigger))[0]["kind"], "ended")

    def test_a_deferred_sensor_never_ends_the_job(self) -> None:
        job = self.submit(timeline=ENDLESS)
        for names in ({"job_id": job}, {"request_id": "r"}):
            trigger = self.deferral(self.sensor(deferrable=True, **names)).trigger
            self.assertIsNone(trigger.serialize()[1]["deadline"])
            asyncio.run(trigger.on_kill())
        self.assertNotIn("kill", self.world.verbs())

    def test_a_deferrable_sensor_returns_at_once_for_an_ended_job(self) -> None:
        job = self.submit(timeline=[[0, "SUCCEEDED"]], outputs={"a": 1})
        self.assertEqual(self.execute(self.sensor(job_id=job, deferrable=True)), {"a": 1})

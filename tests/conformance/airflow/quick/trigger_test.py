"""The trigger: it fires once, leaves no process, shares one process with other triggers, and ends jobs only on
request."""

import asyncio
import contextlib
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from .case import QuickCase
from .world import wait_until

ENDLESS = [[0, "RUNNING"]]
END = "2026-11-22T02:00:00.000Z"  # of tokens


class TriggerCase(QuickCase):
    def setUp(self) -> None:
        super().setUp()
        self.world.play(timeline=ENDLESS)

    def submit(self, request_id: str = "r") -> str:
        from tony_airflow.hooks.tony import Order, TonyHook

        return TonyHook().submit({"name": "x"}, Order(request_id, f"owner-{request_id}", 0))["job"]

    def trigger(self, request_id: str = "r", **arguments: Any) -> Any:
        from tony_airflow.triggers.tony import TonyJobTrigger

        if "job_id" not in arguments:
            arguments["job_id"] = self.submit(request_id)
        cli = {"program": str(self.world.cli), "home": None, "conf_dir": None}
        return TonyJobTrigger(**{"cli": cli, "request_id": request_id, "owner": f"owner-{request_id}", **arguments})

    async def until(self, what: str, look: Callable[[], Any], limit: float = 10.0) -> None:
        until = time.monotonic() + limit
        while not look():
            self.assertLess(time.monotonic(), until, what)
            await asyncio.sleep(0.01)

    async def first(self, trigger: Any) -> dict[str, Any]:
        return [event.payload async for event in trigger.run()][0]

    def in_loop(self, work: Callable[[], Awaitable[Any]], limit: float = 20.0) -> Any:
        return asyncio.run(asyncio.wait_for(work(), limit))

    def expect_nothing_left(self) -> None:
        wait_until("no process is left", lambda: not self.world.running())


class SerializeTest(TriggerCase):
    def test_all_parameters_of_a_trigger_survive_serialization_to_json(self) -> None:
        from tony_airflow.triggers.tony import TonyJobTrigger

        names = set(inspect.signature(TonyJobTrigger.__init__).parameters) - {"self"}
        trigger = self.trigger(
            job_id="j", deadline=17.5, not_before=3.0, kill_delay=15, poll_interval=2.0, max_unreachable=9.0
        )
        arguments = self.stored(trigger).serialize()[1]
        self.assertEqual(set(arguments), names)
        self.assertEqual((arguments["deadline"], arguments["kill_delay"], arguments["job_id"]), (17.5, 15, "j"))

    def test_airflow_can_store_and_restore_the_parameters_of_a_trigger(self) -> None:
        """Stores it with Airflow's own code, in the format of the database."""
        from .case import AIRFLOW_2

        arguments = self.trigger(job_id="j").serialize()[1]
        if AIRFLOW_2:
            from airflow.serialization.serialized_objects import BaseSerialization

            stored = BaseSerialization.deserialize(json.loads(json.dumps(BaseSerialization.serialize(arguments))))
        else:
            try:
                from airflow.sdk.serde import deserialize, serialize
            except ImportError:  # before 3.2
                from airflow.serialization.serde import deserialize, serialize

            stored = deserialize(json.loads(json.dumps(serialize(arguments))))
        self.assertEqual(stored, arguments)


class EventTest(TriggerCase):
    def test_the_trigger_yields_one_event_when_the_job_ends(self) -> None:
        for state in ("SUCCEEDED", "FAILED", "KILLED"):
            with self.subTest(state):
                trigger = self.stored(self.trigger(f"r-{state}"))
                timer = threading.Timer(0.2, self.world.end, [state])
                timer.start()
                events = self.events(trigger)
                timer.join()
                self.assertEqual([event["kind"] for event in events], ["ended"])
                self.assertEqual(json.loads(json.dumps(events)), events)
                self.expect_nothing_left()

    def test_the_trigger_of_an_ended_job_yields_its_event_at_once(self) -> None:
        trigger = self.trigger()
        self.world.end()
        began = time.monotonic()
        self.assertEqual(self.events(trigger)[0]["kind"], "ended")
        self.assertLess(time.monotonic() - began, 5.0)

    def test_the_log_of_the_trigger_names_the_job_and_the_event(self) -> None:
        trigger = self.trigger()
        self.world.end("FAILED")
        with self.logged() as lines:
            self.events(trigger)
        text = "\n".join(lines)
        self.assertIn(f"waiting for job {trigger.job_id}", text)
        self.assertIn(f"job {trigger.job_id}: ended: worker:0 failed", text)

    def test_the_log_of_the_trigger_says_until_when_the_job_can_use_the_cluster(self) -> None:
        why = f"job played-1 gets no fresh tokens, so it can use the cluster only until {END}: run kinit"
        self.world.play(
            timeline=ENDLESS, more={"tokens_until": END},
            mischief={"watch": [{"stderr": f"{why}\njob played-2 gets no fresh tokens: {END}\n", "always": True}]},
        )  # fmt: skip
        trigger = self.trigger()
        threading.Timer(1.0, self.world.end).start()
        with self.logged() as lines:
            self.events(trigger)
        self.assertEqual(
            sorted(line for line in lines if END in line),
            [f"job played-1 can use the cluster until {END}; fresh tokens will extend this time", why],
        )

    def test_the_trigger_watches_the_job_as_the_proxy_user_of_its_task(self) -> None:
        cli = {"program": str(self.world.cli), "home": None, "conf_dir": None, "proxy_user": "eve"}
        trigger = self.trigger(cli=cli)
        self.world.end()
        self.events(self.stored(trigger))
        self.assertEqual(self.world.calls("watch")[0]["environment"].get("HADOOP_PROXY_USER"), "eve")

    def test_the_trigger_yields_no_event_before_the_time_not_before(self) -> None:
        not_before = time.time() + 1.0
        trigger = self.trigger(not_before=not_before)
        self.world.end()
        self.assertEqual(self.events(trigger)[0]["kind"], "ended")
        self.assertGreater(time.time(), not_before - 0.1)

    def test_the_trigger_does_not_kill_acknowledge_or_submit_a_job(self) -> None:
        trigger = self.trigger()
        self.world.end()
        self.events(trigger)
        self.assertFalse({"kill", "ack", "outputs", "submit"} & set(self.world.verbs()[1:]))

    def test_the_trigger_of_an_unknown_job_yields_an_event_and_raises_no_exception(self) -> None:
        events = self.events(self.trigger(job_id="nobody"))
        self.assertEqual(len(events), 1)
        self.assertNotEqual(events[0]["kind"], "ended")
        self.assertIn("nobody", events[0]["message"])

    def test_at_the_deadline_the_trigger_kills_the_job_and_yields_a_timeout_event(self) -> None:
        events = self.events(self.trigger(deadline=time.time() + 0.5))
        self.assertEqual([event["kind"] for event in events], ["timeout"])
        options = self.world.calls("kill")[0]["options"]
        self.assertEqual((options["--request-id"], options["--if-owner"]), ("r", "owner-r"))
        self.assertNotIn("--delay", options)
        self.expect_nothing_left()

    def test_a_trigger_started_after_its_deadline_kills_the_job_and_yields_a_timeout_event(self) -> None:
        self.assertEqual(self.events(self.trigger(deadline=time.time() - 100))[0]["kind"], "timeout")
        self.assertEqual(len(self.world.calls("kill")), 1)

    def test_a_failed_kill_at_the_deadline_does_not_block_the_event(self) -> None:
        self.world.play(timeline=ENDLESS, mischief={"kill": [{"error": 69}]})
        self.assertEqual(self.events(self.trigger(deadline=time.time() + 0.2))[0]["kind"], "timeout")


class CancelTest(TriggerCase):
    def test_a_cancelled_trigger_leaves_no_process_and_ends_no_job(self) -> None:
        async def work() -> None:
            task = asyncio.create_task(self.first(self.trigger()))
            await self.until("the job is watched", lambda: self.world.calls("watch"))
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await self.until("no process is left", lambda: not self.world.running())

        self.in_loop(work)
        self.assertNotIn("kill", self.world.verbs())

    def test_an_event_loop_that_ends_with_running_triggers_leaves_no_process(self) -> None:
        async def work() -> None:
            self.tasks = [asyncio.create_task(self.first(self.trigger(f"r{n}"))) for n in range(3)]
            await self.until("the jobs are watched", lambda: len(self.watched()) == 3)

        self.in_loop(work)
        self.expect_nothing_left()
        self.assertNotIn("kill", self.world.verbs())

    def watched(self) -> set[str]:
        return {note["line"] for note in self.world.notes() if note.get("verb") == "watch input"}

    def test_a_watch_process_that_ignores_the_end_of_its_input_is_killed(self) -> None:
        self.world.play(timeline=ENDLESS, mischief={"watch": [{"hang": True, "deaf": True}]})

        async def work() -> None:
            task = asyncio.create_task(self.first(self.trigger()))
            await self.until("the job is watched", lambda: self.world.calls("watch"))
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        self.in_loop(work)
        self.expect_nothing_left()

    def test_on_kill_of_a_trigger_passes_owner_watcher_and_delay_to_tony_kill(self) -> None:
        async def work() -> None:
            trigger = self.trigger(kill_delay=15)
            task = asyncio.create_task(self.first(trigger))
            await self.until("the job is looked at", lambda: self.world.jobs and self.world.jobs[0]["watcher"])
            await trigger.on_kill()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        self.in_loop(work)
        options = self.world.calls("kill")[0]["options"]
        watcher = self.world.calls("watch")[0]["options"]["--watcher"]
        self.assertEqual(
            (options["--if-owner"], options["--if-watcher"], options["--delay"]), ("owner-r", watcher, "15")
        )
        self.assertTrue(options["--no-wait"])
        self.assertEqual(self.world.jobs[0]["watcher"], watcher)

    def test_on_kill_of_a_trigger_without_a_kill_delay_kills_no_job(self) -> None:
        self.in_loop(self.trigger(kill_delay=None).on_kill)
        self.assertNotIn("kill", self.world.verbs())

    def test_the_trigger_can_be_cancelled_after_a_failed_on_kill(self) -> None:
        trigger = self.trigger(kill_delay=15)
        self.world.play(timeline=ENDLESS, mischief={"kill": [{"error": 69, "always": True}]})

        async def work() -> None:
            task = asyncio.create_task(self.first(trigger))
            await self.until("the job is watched", lambda: self.world.calls("watch"))
            with contextlib.suppress(Exception):
                await trigger.on_kill()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        self.in_loop(work)


class SharedWatchTest(TriggerCase):
    def test_20_triggers_of_one_event_loop_share_one_watch_process(self) -> None:
        async def work() -> list[dict[str, Any]]:
            triggers = [self.trigger(f"r{n}") for n in range(20)]
            events = [asyncio.create_task(self.first(trigger)) for trigger in triggers]
            await self.until("all are watched", lambda: len(self.lines()) == 20)
            self.world.end()
            return await asyncio.gather(*events)

        events = self.in_loop(work)
        self.assertEqual({event["kind"] for event in events}, {"ended"})
        self.assertEqual(len({event["job"]["job_id"] for event in events}), 20)
        self.assertEqual(len(self.world.calls("watch")), 1)
        self.expect_nothing_left()

    def lines(self) -> set[str]:
        return {note["line"] for note in self.world.notes() if note.get("verb") == "watch input"}

    def test_two_triggers_of_the_same_job_both_yield_the_event(self) -> None:
        async def work() -> list[dict[str, Any]]:
            job = self.submit()
            events = [asyncio.create_task(self.first(self.trigger(job_id=job))) for _ in range(2)]
            await self.until("it is watched", self.lines)
            self.world.end()
            return await asyncio.gather(*events)

        self.assertEqual([event["kind"] for event in self.in_loop(work)], ["ended", "ended"])

    def test_a_cancelled_trigger_does_not_stop_the_other_triggers(self) -> None:
        async def work() -> dict[str, Any]:
            job = self.submit()
            tasks = [asyncio.create_task(self.first(self.trigger(job_id=job))) for _ in range(2)]
            tasks.append(asyncio.create_task(self.first(self.trigger("other"))))
            await self.until("they are watched", lambda: len(self.lines()) == 2)
            for task in (tasks[0], tasks[2]):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            self.world.end()
            return await tasks[1]

        self.assertEqual(self.in_loop(work)["kind"], "ended")
        self.assertEqual(len(self.world.calls("watch")), 1)

    def test_triggers_of_different_connections_have_separate_watch_processes(self) -> None:
        async def work() -> None:
            there = {"program": str(self.world.cli), "home": "/elsewhere", "conf_dir": None}
            events = [
                asyncio.create_task(self.first(self.trigger("a"))),
                asyncio.create_task(self.first(self.trigger("b", cli=there))),
            ]
            await self.until("both are watched", lambda: len(self.lines()) == 2)
            self.world.end()
            await asyncio.gather(*events)

        self.in_loop(work)
        homes = {call["environment"].get("TONY_HOME") for call in self.world.calls("watch")}
        self.assertEqual(len(homes), 2)

    def test_triggers_yield_events_in_consecutive_and_concurrent_event_loops(self) -> None:
        kinds: list[str] = []

        def loop(name: str) -> None:
            trigger = self.trigger(name)
            timer = threading.Timer(0.2, self.world.end)
            timer.start()
            kinds.extend(event["kind"] for event in self.events(trigger))
            timer.join()  # the other loop's timer may have ended both jobs

        loop("a")
        threads = [threading.Thread(target=loop, args=[name]) for name in "bc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        self.assertEqual(kinds, ["ended"] * 3)
        self.expect_nothing_left()


class TroubleTest(TriggerCase):
    def outlive(self, end_after: float, **watch: Any) -> list[dict[str, Any]]:
        """Returns the events of a trigger whose first watch has the given fault and whose next watch has none. The job
        ends after a while."""
        self.patches["triggers.tony.FIRST_CONTACT"].stop()
        self.addCleanup(self.patches["triggers.tony.FIRST_CONTACT"].start)
        trigger = self.trigger(max_unreachable=watch.pop("max_unreachable", 600.0))
        self.world.play(timeline=ENDLESS, watch=watch)

        def mend() -> None:
            wait_until("the first watch has begun", lambda: self.world.calls("watch"))
            time.sleep(end_after)
            self.world.play(timeline=ENDLESS)
            self.world.end()

        thread = threading.Thread(target=mend)
        thread.start()
        events = self.events(trigger)
        thread.join()
        self.expect_nothing_left()
        return events

    def test_a_watch_process_that_exited_is_restarted(self) -> None:
        events = self.outlive(0.6, life=0.2)
        self.assertEqual([event["kind"] for event in events], ["ended"])
        self.assertGreater(len(self.world.calls("watch")), 1)

    def test_a_watch_process_with_invalid_output_is_restarted(self) -> None:
        events = self.outlive(0.6, life=0.2, garbage=True)
        self.assertEqual([event["kind"] for event in events], ["ended"])

    def test_a_temporarily_unreachable_job_is_queried_again(self) -> None:
        self.assertEqual([event["kind"] for event in self.outlive(0.5, unreachable=True)], ["ended"])

    def test_a_long_time_without_status_changes_does_not_count_as_unreachable(self) -> None:
        """The job has not changed for hours, and then one watch dies."""
        events = self.outlive(2.0, life=1.3, max_unreachable=1.0)
        self.assertEqual([event["kind"] for event in events], ["ended"])

    def test_an_event_is_sent_if_the_job_is_unreachable_for_too_long(self) -> None:
        trigger = self.trigger(max_unreachable=0.5)
        self.world.play(timeline=ENDLESS, watch={"unreachable": True})
        events = self.events(trigger)
        self.assertEqual([event["kind"] for event in events], ["unreachable"])
        self.assertIn("does not answer", events[0]["message"])
        self.assertNotIn("kill", self.world.verbs())
        self.expect_nothing_left()

    def test_a_triggerer_without_the_tony_program_yields_an_unreachable_event(self) -> None:
        cli = {"program": "/nowhere/tony", "home": None, "conf_dir": None}
        events = self.events(self.trigger(cli=cli, max_unreachable=0.2))
        self.assertEqual([event["kind"] for event in events], ["unreachable"])
        self.assertIn("/nowhere/tony", events[0]["message"])

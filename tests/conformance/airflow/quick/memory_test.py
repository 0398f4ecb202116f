"""The data that is stored between tries, and a try on another machine."""

import unittest.mock
from typing import Any

from .case import AIRFLOW_2, QuickCase


class Store(dict[str, Any]):
    """The part of Airflow 3.3's task state store that the provider uses. It records the calls to the runtime that came
    before each write."""

    def __init__(self, case: QuickCase) -> None:
        super().__init__()
        self.case, self.writes = case, []

    def set(self, key: str, value: Any, *, retention: Any = None) -> None:
        self[key] = value
        self.writes.append((value, self.case.world.verbs()))


class Broken:
    def get(self, key: str) -> Any:
        raise ConnectionError("no server")

    def set(self, key: str, value: Any) -> None:
        raise ConnectionError("no server")


class MemoryCase(QuickCase):
    def run_try(self, store: Any = None, number: int = 1, host: str = "here", **arguments: Any) -> list[str]:
        """Runs one try of a task with one retry on a machine; returns the logged lines."""
        task = self.operator(**{"retries": 1, **arguments})
        context = self.context(task, try_number=number)
        if store is not None:
            context["task_state_store"] = store
        with unittest.mock.patch("socket.gethostname", lambda: host), self.logged() as lines:
            self.execute(task, context)
        return lines


class MemoryTest(MemoryCase):
    def test_the_request_is_stored_before_the_submit_and_the_job_before_the_wait(self) -> None:
        store = Store(self)
        self.connect(home="/h")
        self.run_try(store)
        request_id = self.world.calls("submit")[0]["options"]["--request-id"]
        record = {"request_id": request_id, "submission": 0, "host": "here", "home": "/h"}
        (first, before), (second, between), (third, _) = store.writes
        self.assertEqual((first, before), (record, []))
        self.assertEqual((second, between), ({**record, "job_id": "played-1"}, ["submit"]))
        self.assertEqual(third, {**record, "job_id": "played-1", "state": "SUCCEEDED"})

    def test_an_unreachable_store_causes_a_warning_and_does_not_change_the_result(self) -> None:
        lines = "\n".join([*self.run_try(Broken()), *self.run_try(Broken(), number=2)])
        self.assertIn("no server", lines)
        self.assertEqual([job["acked"] for job in self.world.jobs], [True])

    def test_durable_false_stores_nothing(self) -> None:
        store = Store(self)
        self.run_try(store, durable=False)
        self.assertEqual(store.writes, [])

    def test_the_argument_durable_without_a_store_causes_only_a_warning(self) -> None:
        self.assertIn("durable has no effect before Airflow 3.3", "\n".join(self.run_try(durable=True)))
        self.assertNotIn("durable", "\n".join(self.run_try(Store(self), durable=True)))

    def test_airflows_task_state_store_has_the_methods_of_the_fake_store(self) -> None:
        try:
            from airflow.sdk.execution_time.context import TaskStateStoreAccessor
        except ImportError:
            self.skipTest("no task state store in this Airflow")
        self.assertLessEqual({"get", "set"}, set(vars(TaskStateStoreAccessor)))

    def test_a_try_that_fails_before_it_stores_its_job_id_causes_no_second_job(self) -> None:
        """The request id is chosen before the submit, so no job can be made that a later try cannot find."""
        store = Store(self)
        self.world.play(timeline=[[0, "RUNNING"]], mischief={"submit": [{"delay": 0.3, "after": True}]})
        task = self.operator(retries=1, submit_timeout=0.2, submit_patience=0.0)
        with self.assertRaises(Exception):
            self.execute(task, {**self.context(task), "task_state_store": store})
        self.assertNotIn("job_id", store["tony"])
        self.assertEqual(len(self.world.jobs), 1)
        self.world.end()
        self.run_try(store, number=2)
        self.assertEqual(len(self.world.jobs), 1)


class ElsewhereTest(MemoryCase):
    """Two machines, each with a home of its own: `remove_jobs` turns this world into the other machine."""

    def begun_elsewhere(self, store: Any) -> None:
        self.world.play(timeline=[[0, "RUNNING"]])
        self.run_try(store, host="worker-1", wait_for_completion=False)
        self.world.remove_jobs()

    def test_a_retry_on_another_machine_fails_and_names_the_machine_of_the_job(self) -> None:
        from tony_airflow.exceptions import TonyElsewhere, TonyTransportError

        store = Store(self)
        self.begun_elsewhere(store)
        with self.assertRaises(TonyElsewhere) as raised:
            self.run_try(store, number=2, host="worker-2")
        for part in ("played-1", "worker-1", "worker-2", "queue that only one machine serves"):
            self.assertIn(part, str(raised.exception))
        self.assertIsInstance(raised.exception, TonyTransportError)  # a third try may run on the first machine again
        self.assertEqual(len(self.world.calls("submit")), 1)

    def test_a_retry_on_the_jobs_machine_continues_with_the_job(self) -> None:
        store = Store(self)
        self.world.play(timeline=[[0, "RUNNING"]])
        self.run_try(store, host="worker-1", wait_for_completion=False)
        self.world.end()
        self.run_try(store, number=2, host="worker-1")
        self.assertEqual(len(self.world.jobs), 1)

    def test_a_retry_on_a_machine_with_the_same_home_continues_with_the_job(self) -> None:
        store = Store(self)
        self.world.play(timeline=[[0, "RUNNING"]])
        self.run_try(store, host="worker-1", wait_for_completion=False)
        self.world.end()
        self.assertNotIn("another machine", "\n".join(self.run_try(store, number=2, host="worker-2")))
        self.assertEqual(len(self.world.jobs), 1)

    def test_a_retry_after_a_failed_job_may_run_on_another_machine(self) -> None:
        store = Store(self)
        self.world.play(timeline=[[0, "FAILED"]])
        with self.assertRaises(Exception):
            self.run_try(store, host="worker-1")
        self.world.remove_jobs()
        self.world.play()
        self.run_try(store, number=2, host="worker-2")
        self.assertEqual(len(self.world.jobs), 1)

    def test_a_cleared_task_submits_a_new_job_and_names_the_job_on_the_other_machine(self) -> None:
        store = Store(self)
        self.begun_elsewhere(store)
        self.world.play()
        task = self.operator(retries=1)
        context = {**self.context(task, try_number=2, max_tries=2), "task_state_store": store}
        with self.logged() as lines:
            self.execute(task, context)
        self.assertIn("played-1 was submitted on worker-1", "\n".join(lines))

    def test_a_later_try_without_a_store_reports_the_machine_that_it_searched(self) -> None:
        self.connect(home="/h")
        self.assertNotIn("earlier try", "\n".join(self.run_try()))
        self.world.remove_jobs()
        lines = "\n".join(self.run_try(number=2, host="worker-2"))
        self.assertIn("no job of an earlier try is known on worker-2 (home /h)", lines)
        self.assertIn("queue that only one machine serves", lines)

    def test_a_retry_on_the_same_machine_after_a_failed_job_reports_no_missing_job(self) -> None:
        self.world.play(timeline=[[0, "FAILED"]])
        with self.assertRaises(Exception):
            self.run_try()
        self.world.play()
        self.assertNotIn("earlier try", "\n".join(self.run_try(number=2)))


class XComTest(QuickCase):
    def test_airflow_clears_the_xcoms_before_each_try(self) -> None:
        """XComs cannot store where the earlier try ran, because both Airflows remove them before execute()."""
        import inspect

        if AIRFLOW_2:
            from airflow.models.taskinstance import TaskInstance

            source = inspect.getsource(TaskInstance._execute_task_with_callbacks)
            self.assertIn("clear_xcom_data", source)
        else:
            from airflow.sdk.execution_time import task_runner

            self.assertIn("xcom_keys_to_clear", inspect.getsource(task_runner))

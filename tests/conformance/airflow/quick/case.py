"""Helpers that the tests of operators share: a world, a Dag, a context as Airflow makes it, and deferrals."""

import asyncio
import contextlib
import datetime
import json
import logging
import os
import pathlib
import signal
import threading
import types
import unittest
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import airflow
from airflow.providers.common.compat.sdk import DAG, AirflowFailException, AirflowSkipException, TaskDeferred

from .world import World, wait_until

AIRFLOW_2 = airflow.__version__.startswith("2.")
if AIRFLOW_2:
    from airflow.exceptions import AirflowTaskTerminated
else:

    class AirflowTaskTerminated(BaseException):  # type: ignore[no-redef]
        """The exception that Airflow 2 raises from a signal's handler."""


if AIRFLOW_2:

    def structured_logs() -> contextlib.AbstractContextManager[list[Any]]:
        return contextlib.nullcontext([])

else:
    from structlog.testing import capture_logs as structured_logs

__all__ = ["AIRFLOW_2", "DAG", "AirflowFailException", "AirflowSkipException", "AirflowTaskTerminated", "QuickCase",
           "StandInTaskInstance", "TaskDeferred"]  # fmt: skip

# Pauses that exist for daemons and slow jobs. Tests shorten them.
QUICKER = {"task_try.PAUSE": 0.02, "operators.tony.SHORTEST_DEFERRAL": 0.0, "triggers.tony.FIRST_PAUSE": 0.2,
           "triggers.tony.FIRST_CONTACT": 0.5, "hooks.tony.KILL_LIMIT": 1.0}  # fmt: skip
TEST_LIMIT = 40  # seconds for one test; a hanging test is reported with its stack
RUN_ID = "manual__2026-11-22T01:02:03.4+00:00"
RUN_BEGAN = datetime.datetime(2026, 11, 22, 1, 2, 5, 600_000, datetime.timezone.utc)


def supervisor() -> list[Any]:
    """Before 3.2 every task of Airflow 3 needs a supervisor, which answers what the environment does not define."""
    if not airflow.__version__.startswith(("3.0.", "3.1.")):
        return []
    from airflow.sdk.exceptions import ErrorType
    from airflow.sdk.execution_time import comms

    def send(msg: Any) -> Any:
        what = "CONNECTION" if isinstance(msg, comms.GetConnection) else "VARIABLE"
        return comms.ErrorResponse(error=ErrorType[f"{what}_NOT_FOUND"])

    runner = "airflow.sdk.execution_time.task_runner.SUPERVISOR_COMMS"
    return [unittest.mock.patch(runner, types.SimpleNamespace(send=send), create=True)]


class StandInTaskInstance:
    """The part of Airflow's task instance that the provider uses. It records the calls to the runtime that were made
    before each XCom."""

    def __init__(self, world: World, task: Any, **values: Any) -> None:
        self.world, self.task = world, task
        self.dag_id, self.task_id, self.run_id = "flow", task.task_id, RUN_ID
        self.map_index, self.try_number, self.max_tries = -1, 1, task.retries
        self.start_date = datetime.datetime.now(datetime.timezone.utc)
        self.xcoms: dict[str, Any] = {}
        self.airflows_state: str | None | Exception = "failed"  # the task's state according to Airflow
        if AIRFLOW_2:
            self.job_id = None  # as in `airflow dags test`: no process of Airflow runs this task
        self.asked_before: dict[str, list[str]] = {}
        vars(self).update(values)

    def xcom_push(self, key: str, value: Any, **_: Any) -> None:
        self.xcoms[key] = json.loads(json.dumps(value))
        self.asked_before[key] = self.world.verbs()

    def current_state(self) -> str | None:
        """The query of Airflow 2."""
        if isinstance(self.airflows_state, Exception):
            raise self.airflows_state
        return self.airflows_state

    def get_task_states(self, dag_id: str, map_index: Any, task_ids: list[str], run_ids: list[str]) -> dict[str, Any]:
        """The query of Airflow 3."""
        assert (dag_id, task_ids, run_ids) == (self.dag_id, [self.task_id], [self.run_id])
        state = self.current_state()
        return {self.run_id: {self.task_id: state}} if state else {}

    def xcom_pull(self, task_ids: Any = None, key: str = "return_value", **_: Any) -> Any:
        return self.xcoms.get(key)


class QuickCase(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        signal.signal(signal.SIGALRM, self.too_long)
        signal.alarm(TEST_LIMIT)
        self.addCleanup(signal.alarm, 0)
        self.world = World()
        self.addCleanup(self.leave)
        self.connect()
        self.patches = {name: unittest.mock.patch(f"tony_airflow.{name}", value) for name, value in QUICKER.items()}
        self.patches["leave"] = unittest.mock.patch("tony.watch.LEAVE_LIMIT", 0.5)
        for patch in [*self.patches.values(), *supervisor()]:
            patch.start()
            self.addCleanup(patch.stop)

    def too_long(self, *_: Any) -> None:
        raise AssertionError(f"the test takes longer than {TEST_LIMIT} s; asked so far: {self.world.verbs()}")

    def leave(self) -> None:
        for pid in self.world.running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until("no call is left", lambda: not self.world.running())
        self.world.check_answers()
        self.world.remove()

    def connect(self, **extra: Any) -> None:
        """Connects tony_default to this test's world."""
        connection = {"conn_type": "tony", "extra": {"cli": str(self.world.cli), **extra}}
        self.set_environment("AIRFLOW_CONN_TONY_DEFAULT", json.dumps(connection))

    def set_environment(self, name: str, value: str | None) -> None:
        before = os.environ.get(name)
        self.addCleanup(self.put_environment, name, before)
        self.put_environment(name, value)

    @staticmethod
    def put_environment(name: str, value: str | None) -> None:
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value

    # ---- operators

    def dag(self) -> Any:
        return DAG("flow", schedule=None, start_date=datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc))

    def operator(self, **arguments: Any) -> Any:
        """Makes an operator, by default one that waits in the worker, in a Dag of its own."""
        from tony_airflow.operators.tony import TonyOperator

        arguments = {"task_id": "train", "deferrable": False, "poll_interval": 5.0, "get_logs": "none",
                     "submit_patience": 2.0, **arguments}  # fmt: skip
        if "properties" not in arguments and "spec" not in arguments:
            arguments.setdefault("executes", "train.py")
        with self.dag():
            return TonyOperator(**arguments)

    def context(
        self, task: Any, began: datetime.datetime | None = RUN_BEGAN, iteration: int | None = None, **values: Any
    ) -> dict[str, Any]:
        """`began` is the start of the Dag run, which distinguishes runs with the same id; `iteration` is the index in a
        loop."""
        instance = StandInTaskInstance(self.world, task, **values)
        run = types.SimpleNamespace(
            run_id=instance.run_id, dag_id=instance.dag_id, logical_date=None, start_date=began
        )
        return {"ti": instance, "task_instance": instance, "task": task, "dag": task.dag, "dag_run": run,
                "run_id": instance.run_id, "params": {}, "ds": "2026-11-22",
                **({} if iteration is None else {"loop": types.SimpleNamespace(index=iteration)})}  # fmt: skip

    def execute(self, task: Any, context: dict[str, Any] | None = None) -> Any:
        return task.execute(context if context is not None else self.context(task))

    def run_operator(self, **arguments: Any) -> Any:
        return self.execute(self.operator(**arguments))

    def deferral(self, task: Any, context: dict[str, Any] | None = None) -> TaskDeferred:
        with self.assertRaises(TaskDeferred) as raised:
            self.execute(task, context)
        return raised.exception

    def resume(self, task: Any, context: dict[str, Any], deferral: TaskDeferred, event: dict[str, Any]) -> Any:
        """Continues after the event as Airflow does, with a new operator that knows only its arguments."""
        arguments = json.loads(json.dumps(deferral.kwargs or {}))
        return getattr(task, deferral.method_name)(context, event=json.loads(json.dumps(event)), **arguments)

    # ---- triggers

    def stored(self, trigger: Any) -> Any:
        """Returns the trigger as a triggerer makes it: from its serialization, through JSON."""
        from tony_airflow.triggers.tony import TonyJobTrigger

        path, arguments = trigger.serialize()
        self.assertEqual(path, "tony_airflow.triggers.tony.TonyJobTrigger")
        arguments = json.loads(json.dumps(arguments))
        again = TonyJobTrigger(**arguments)
        self.assertEqual(again.serialize(), (path, arguments))
        return again

    def events(self, trigger: Any, limit: float = 20.0) -> list[dict[str, Any]]:
        """Returns all events of a trigger, run in an event loop of its own."""

        async def collect() -> list[dict[str, Any]]:
            return [event.payload async for event in trigger.run()]

        return asyncio.run(asyncio.wait_for(collect(), limit))

    @contextlib.contextmanager
    def ended_after(self, verb: str, calls: int) -> Iterator[None]:
        """All jobs run until the verb was called `calls` times; then they succeed."""

        def end() -> None:
            self.world.wait_for(verb, calls)
            self.world.end()

        thread = threading.Thread(target=end, daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join()

    # ---- signals

    @contextlib.contextmanager
    def terminated(self, when: Callable[[], Any], on_term: Callable[[], None]) -> Iterator[None]:
        """Sends this process SIGTERM when `when` is true; `on_term` is the action of Airflow's handler."""
        before = signal.signal(signal.SIGTERM, lambda *_: on_term())

        def send() -> None:
            wait_until("the moment to terminate", when)
            os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join()
            signal.signal(signal.SIGTERM, before)

    @contextlib.contextmanager
    def logged(self) -> Iterator[list[str]]:
        """Yields the lines that are logged meanwhile, complete at the end. Airflow 3 has loggers of its own."""
        lines: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
        root = logging.getLogger()
        root.addHandler(handler)
        try:
            with structured_logs() as structured:
                yield lines
        finally:
            root.removeHandler(handler)
            lines += [entry["event"] for entry in structured]

    def folder_with(self, name: str, text: str) -> pathlib.Path:
        file = self.world.folder / "dags" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

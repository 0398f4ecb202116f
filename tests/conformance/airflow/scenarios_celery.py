"""Two machines, each with a worker of Celery and a home of its own, over PostgreSQL and Redis.

- queue_per_machine: a worker is killed with all that it runs; the retry waits in the worker's queue, and continues with
  the job
- another_machine: the same in a queue of two workers. The retry, on the other machine, is refused and names both (3.3), or
  says where it searched and makes a second job (2); a later retry on the first machine continues with the first job
- deferred_elsewhere: the same with a task that is deferred, and resumed on the other machine: its error names both
- broker_restart: Redis is killed, and all that was queued is lost: the task continues; the workers serve the next one
- second_delivery: the message of a running task is delivered again after its visibility timeout: one job, which continues
- database_restart: PostgreSQL is away for some seconds, and daemons that end are started again: a task that runs and a task
  that is deferred have one job each

The two versions of Airflow differ here, and both are right:

| scenario | Airflow 2 | Airflow 3.3 |
|---|---|---|
| `another_machine`, `deferred_elsewhere` | the retry makes a second job | fails unless it is on the job's machine |
"""

import contextlib
import socket
import time

from celery_machines import TwoMachines, Worker
from common import wait_for

MACHINES = TwoMachines
AFTERWARDS = 5  # seconds to wait for what must not happen
AWAY = 5  # seconds without a server
PATIENCE = 10  # seconds after which the broker delivers an unacknowledged message to another worker


def workers(airflow):
    return [airflow.daemon(name) for name in TwoMachines.NAMES]


def bring_back(airflow):
    """Restarts daemons that have exited, as an administrator's supervision does: some exit if the database was down."""
    for daemon in airflow.daemons.values():
        daemon.start_again()


def begun(airflow, dag_id, *task_ids):
    """Starts a run of a Dag while all workers serve; returns it and its tasks."""
    bring_back(airflow)
    for daemon in airflow.daemons.values():
        daemon.wait_ready()
    run = airflow.trigger(dag_id)
    return run, *(run.task(task_id) for task_id in task_ids or ["train"])


def worker_with(airflow, task):
    """Returns the worker that runs the task, and the other one."""
    task.wait("running")
    here = [worker for worker in workers(airflow) if worker.runs(task)]
    (other,) = set(workers(airflow)) - set(here)
    return *here, other


def running(task):
    """Returns the only job of a task when it runs."""
    wait_for(f"the job of {task.name}", task.jobs, 60)
    task.wait_for_job("RUNNING")
    (job,) = task.jobs()
    return job


def ends_well(run, *tasks):
    """Checks that the released jobs succeed, and that each was the only job of its task."""
    run.release()
    run.wait("success", limit=180)
    for task in tasks:
        expect_one_success(task)


def expect_one_success(task):
    assert len(task.jobs()) == 1, f"the jobs of {task.name} are {task.jobs()}"
    assert task.job()["state"] == "SUCCEEDED", task.job()


def a_retry_on_another_machine_reports_that_the_job_is_not_there(airflow):
    run, task = begun(airflow, "another_machine")
    first, other = worker_with(airflow, task)
    job = running(task)
    first.kill()  # the job belongs to its machine and continues
    try:
        task.wait_for_try(2)
        expect_said(airflow, task, job, first, other)
    finally:
        other.kill()  # the first worker gets the next try
        first.start().wait_ready()
    wait_for("a try where the job is", lambda: f"job {job} attached" in task.log())
    second = task.jobs()[1:]
    assert len(second) == (0 if airflow.keeps_task_state else 1), task.jobs()
    run.release()
    run.wait("success", limit=180)
    assert task.jobs() == [job, *second], task.jobs()


def expect_said(airflow, task, job, there, here):
    """Checks the report of the second try, which runs on a machine that does not know the job."""
    text = f"{job} was submitted on " if airflow.keeps_task_state else "no job of an earlier try is known on "
    wait_for("what the second try says", lambda: text in task.log(2))
    (line,) = {line for line in task.log(2).splitlines() if text in line and "queue that only one machine" in line}
    named = [worker for worker in (there, here) if f"(home {worker.home})" in line]
    assert named == ([there, here] if airflow.keeps_task_state else [here]), line
    if not airflow.keeps_task_state:
        wait_for("a second job", lambda: len(task.jobs()) == 2)


def a_deferred_task_resumed_on_another_machine_fails_and_names_both_machines(airflow):
    run, task = begun(airflow, "deferred_elsewhere")
    first, other = worker_with(airflow, task)
    job = running(task)
    task.wait("deferred")
    message = first.received()[-1]
    # Airflow 2 does not queue a task again before Celery has reported its end.
    wait_for("the end of what deferred it", lambda: f"[{message}] succeeded" in first.log())
    first.kill()
    try:
        run.release()
        text = f"the job was submitted on {socket.gethostname()} (home {first.home})"
        wait_for("the resumed task's end", lambda: text in task.log(1))
        advice = f"(home {other.home}); run the tasks of TonY in an Airflow queue that only one machine serves"
        assert advice in task.log(1), task.log(1)
        task.wait_for_try(2)
        expect_said(airflow, task, job, first, other)
    finally:
        other.kill()
        first.start().wait_ready()
    run.wait("success", limit=180)
    states = [found["state"] for found in airflow.sandbox.all_jobs() if found["job"] in task.jobs()]
    assert states == ["SUCCEEDED"] * (1 if airflow.keeps_task_state else 2), states


def a_retry_waits_for_the_worker_of_its_queue_and_continues_with_the_job(airflow):
    run, task = begun(airflow, "queue_per_machine")
    first, other = worker_with(airflow, task)
    job = running(task)
    first.kill()
    try:
        wait_for("the retry", lambda: task.row()["try_number"] == 2 and task.state() == "queued")
        time.sleep(AFTERWARDS)
        assert task.state() == "queued" and other.running(), task.row()
    finally:
        first.start().wait_ready()
    wait_for("a try where the job is", lambda: f"job {job} attached" in task.log(2))
    ends_well(run, task)


def stay_away(server, end):
    """Stops the server and starts it again after a while."""
    end()
    try:
        time.sleep(AWAY)
    finally:
        server.start().wait_ready()


def a_broker_that_restarts_ends_no_job(airflow):
    run, task = begun(airflow, "broker_restart")
    running(task)
    broker = airflow.machines.broker
    stay_away(broker, broker.kill)
    ends_well(run, task)
    again, task = begun(airflow, "broker_restart")  # the workers have reconnected
    running(task)
    ends_well(again, task)


def a_database_that_restarts_ends_no_job(airflow):
    run, *tasks = begun(airflow, "database_restart", "running", "deferred")
    tasks[1].wait("deferred")
    for task in tasks:
        running(task)
    database = airflow.machines.database
    stay_away(database, database.terminate)
    run.release()
    wait_for("the run's end", lambda: bring_back(airflow) or run.state() == "success", 180)
    for task in tasks:
        expect_one_success(task)


@contextlib.contextmanager
def impatient_worker(airflow):
    """Starts a worker on the second machine whose broker redelivers messages that are not acknowledged in time."""
    settings = {"visibility_timeout": PATIENCE, "unacked_restore_interval": 1, "unacked_restore_throttle": 1}
    own = {f"AIRFLOW__CELERY_BROKER_TRANSPORT_OPTIONS__{name.upper()}": str(value) for name, value in settings.items()}
    second = workers(airflow)[1]
    worker = Worker(airflow.sandbox, airflow.program, {**airflow.environment, **own}, second.machine, name="impatient")
    airflow.daemons[worker.name] = worker
    try:
        yield worker.start().wait_ready()
    finally:
        worker.terminate()
        del airflow.daemons[worker.name]


def a_message_that_is_delivered_twice_makes_no_second_job(airflow):
    run, task = begun(airflow, "second_delivery")
    first, _ = worker_with(airflow, task)
    job = running(task)
    message = first.received()[-1]
    with impatient_worker(airflow) as impatient:
        everybody = [*workers(airflow), impatient]
        wait_for("a second delivery", lambda: sum(worker.received().count(message) for worker in everybody) > 1)
        time.sleep(2 * AFTERWARDS)
        assert task.jobs() == [job] and task.job()["state"] == "RUNNING", task.job()
        ends_well(run, task)


TOGETHER = {}
ALONE = {
    "queue_per_machine": a_retry_waits_for_the_worker_of_its_queue_and_continues_with_the_job,
    "another_machine": a_retry_on_another_machine_reports_that_the_job_is_not_there,
    "deferred_elsewhere": a_deferred_task_resumed_on_another_machine_fails_and_names_both_machines,
    "database_restart": a_database_that_restarts_ends_no_job,
    # This comes last, because a worker that has lost and regained its broker may take fewer messages at once.
    "broker_restart": a_broker_that_restarts_ends_no_job,
    "second_delivery": a_message_that_is_delivered_twice_makes_no_second_job,
}

"""Users change tasks at difficult moments."""

import os
import re
import time

import common

from .expect import HELD_BEFORE, connection, ends, expect_ends, expect_fenced, expect_gone, wait_deferred, wait_running

LATE = 20  # seconds; a trigger's kill waits 15 for its conditions

# The submission number, `max_tries - retries`, after clearing a running task: Airflow 2 keeps max_tries, Airflow 3
# raises it as for any cleared task. In both cases the first job was killed and the second job is another one.
CLEARED_RUNNING = {2: 0, 3: 1}


MOST_CLEARS = 3
# A line of the provider in the log of a try, or a position in that log.
OURS = re.compile(r"tony_airflow|\b(tony|task_try|submission)\.py")


def clear_for_second_job(task, clear):
    """Clears the task until it has a second job; returns the number of clears.

    Airflow itself may fail a try that was cleared while it recorded another change of the task, before the provider
    ran: 3.1.0 by a StaleDataError of its scheduler, 2.11.2 by the key of a removed trigger. The user who cleared the
    task sees this and clears it again.
    """

    def failed_by_airflow():
        return task.state() == "failed" and not OURS.search(task.log())

    for clears in range(1, MOST_CLEARS + 1):
        clear()
        common.wait_for("a second job", lambda: len(task.jobs()) == 2 or failed_by_airflow())
        if len(task.jobs()) == 2:
            return clears
        print(f"   Airflow itself has failed {task.run.dag_id}, which had been cleared", flush=True)
    raise AssertionError(f"cleared {MOST_CLEARS} times, and no second job")


def clearing_a_successful_task_starts_a_new_job(airflow):
    run = airflow.trigger("clear_after_success")
    train = run.task("train")
    run.wait("success")
    expect_ends(train, (0, "SUCCEEDED"))
    clears = clear_for_second_job(train, train.clear)
    run.wait("success", limit=common.LIMIT)
    expect_ends(train, (0, "SUCCEEDED"), (clears, "SUCCEEDED"))
    assert train.xcoms()["return_value"] == {"model_path": f"/models/{train.jobs()[1]}"}, train.xcoms()


def marking_a_running_task_as_success_kills_its_job(airflow):
    run = airflow.trigger("mark_success_running")
    train = run.task("train")
    job = wait_running(train)
    train.mark("success")
    # Airflow 2 lets a task that was marked as success run for another 20 s ([core] task_success_overtime).
    common.wait_for("the end of the job", lambda: ends(train) == [(0, "KILLED")], 60)
    expect_gone(train, job)
    assert train.state() == "success", train.row()
    assert len(train.jobs()) == 1


def a_task_that_is_cleared_while_it_runs_gets_a_new_job(airflow):
    run = airflow.trigger("clear_running")
    train = run.task("train")
    first = wait_running(train)
    # Airflow 2's REST server does not record that a running task was cleared.
    clears = clear_for_second_job(train, train.clear_by_command if airflow.major == 2 else train.clear)
    expect_gone(train, first)
    train.wait_for_job("RUNNING")
    run.release()
    run.wait("success")
    expect_ends(train, (0, "KILLED"), (CLEARED_RUNNING[airflow.major] + clears - 1, "SUCCEEDED"))


def a_submit_that_arrives_after_a_kill_is_refused(airflow):
    marks = connection(airflow, "tony_held_before", HELD_BEFORE)
    run = airflow.trigger("mark_failed_in_submit")
    train = run.task("train")
    common.wait_for("the submit", lambda: list(marks.glob("*/asked")))
    pid = train.pid()
    train.mark("failed")
    common.wait_for("the end of the worker", lambda: not os.path.exists(f"/proc/{pid}"))
    assert train.jobs() == []
    (marks / "go").touch()
    (code,) = common.wait_for("the late submit's end", lambda: list(marks.glob("*/code")))
    refusal = (code.parent / "errors").read_text()
    assert code.read_text().strip() == "77", f"exit {code.read_text()}: {refusal}"
    assert train.jobs() == []
    assert train.state() == "failed", train.row()
    assert not airflow.sandbox.processes(train.request_id)


def a_late_kill_does_not_end_the_new_job_of_a_cleared_deferred_task(airflow):
    run = airflow.trigger("clear_deferred")
    train = run.task("train")
    wait_deferred(train)
    (first,) = train.jobs()
    owner = train.job()["owner"]
    clears = clear_for_second_job(train, train.clear)
    over = time.monotonic() + LATE
    expect_gone(train, first)
    common.wait_for("the second deferral", lambda: train.state() == "deferred" and train.row()["try_number"] == 1 + clears)
    # Airflow 3 notifies the first try's trigger, whose kill arrives late. For Airflow 2 the check itself sends such a
    # kill.
    common.wait_for("the time of a late kill to be over", lambda: time.monotonic() > over, LATE + 1)
    expect_fenced(train, owner)
    train.wait_for_job("RUNNING")
    run.release()
    run.wait("success")
    expect_ends(train, (0, "KILLED"), (clears, "SUCCEEDED"))


TOGETHER = {
    "mark_success_running": marking_a_running_task_as_success_kills_its_job,
    "clear_deferred": a_late_kill_does_not_end_the_new_job_of_a_cleared_deferred_task,
    "clear_running": a_task_that_is_cleared_while_it_runs_gets_a_new_job,
    "clear_after_success": clearing_a_successful_task_starts_a_new_job,
    "mark_failed_in_submit": a_submit_that_arrives_after_a_kill_is_refused,
}

"""What people do to tasks, at moments when it is hard to do it right."""

import os
import re
import time

import common

from .expect import HELD_BEFORE, connection, ends, expect_ends, expect_fenced, expect_gone, wait_deferred, wait_running

LATE = 20  # seconds: a trigger's kill waits 15 for its conditions

# What clearing a task that runs makes of its submission number, `max_tries - retries`: Airflow 2 leaves max_tries as it
# is, Airflow 3 raises it as for any cleared task. The first job has been killed either way, and the second is another.
CLEARED_RUNNING = {2: 0, 3: 1}


MOST_CLEARS = 3
# In the log of a try: a line of the provider's, or a place in it.
OURS = re.compile(r"tony_airflow|\b(tony|task_try|submission)\.py")


def clear_for_second_job(task, clear):
    """Clears the task until it has a second job; returns how often.

    Airflow itself may fail a try that was cleared just as it wrote down something else of the task, before a line of the
    provider has run: 3.1.0 by a StaleDataError of its scheduler, 2.11.2 by the key of a trigger that is gone. Whoever
    cleared the task sees that, and clears it again.
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


def a_cleared_success_runs_again_as_a_new_job(airflow):
    run = airflow.trigger("clear_after_success")
    train = run.task("train")
    run.wait("success")
    expect_ends(train, (0, "SUCCEEDED"))
    clears = clear_for_second_job(train, train.clear)
    run.wait("success", limit=common.LIMIT)
    expect_ends(train, (0, "SUCCEEDED"), (clears, "SUCCEEDED"))
    assert train.xcoms()["return_value"] == {"model_path": f"/models/{train.jobs()[1]}"}, train.xcoms()


def marking_success_kills_the_job(airflow):
    run = airflow.trigger("mark_success_running")
    train = run.task("train")
    job = wait_running(train)
    train.mark("success")
    # Airflow 2 lets a task that was marked so run on for 20 s ([core] task_success_overtime).
    common.wait_for("the end of the job", lambda: ends(train) == [(0, "KILLED")], 60)
    expect_gone(train, job)
    assert train.state() == "success", train.row()
    assert len(train.jobs()) == 1


def a_task_that_is_cleared_while_it_runs_gets_a_new_job(airflow):
    run = airflow.trigger("clear_running")
    train = run.task("train")
    first = wait_running(train)
    # Airflow 2's REST server forgets to write down that a running task has been cleared.
    clears = clear_for_second_job(train, train.clear_by_command if airflow.major == 2 else train.clear)
    expect_gone(train, first)
    train.wait_for_job("RUNNING")
    run.release()
    run.wait("success")
    expect_ends(train, (0, "KILLED"), (CLEARED_RUNNING[airflow.major] + clears - 1, "SUCCEEDED"))


def a_kill_reaches_a_submit_that_has_not_arrived(airflow):
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


def a_task_that_is_cleared_while_deferred_begins_anew_and_no_late_kill_reaches_it(airflow):
    run = airflow.trigger("clear_deferred")
    train = run.task("train")
    wait_deferred(train)
    (first,) = train.jobs()
    owner = train.job()["owner"]
    clears = clear_for_second_job(train, train.clear)
    over = time.monotonic() + LATE
    expect_gone(train, first)
    common.wait_for("the second deferral", lambda: train.state() == "deferred" and train.row()["try_number"] == 1 + clears)
    # Airflow 3 tells the first try's trigger, whose kill comes late; of Airflow 2 the check sends one itself.
    common.wait_for("the time of a late kill to be over", lambda: time.monotonic() > over, LATE + 1)
    expect_fenced(train, owner)
    train.wait_for_job("RUNNING")
    run.release()
    run.wait("success")
    expect_ends(train, (0, "KILLED"), (clears, "SUCCEEDED"))


TOGETHER = {
    "mark_success_running": marking_success_kills_the_job,
    "clear_deferred": a_task_that_is_cleared_while_deferred_begins_anew_and_no_late_kill_reaches_it,
    "clear_running": a_task_that_is_cleared_while_it_runs_gets_a_new_job,
    "clear_after_success": a_cleared_success_runs_again_as_a_new_job,
    "mark_failed_in_submit": a_kill_reaches_a_submit_that_has_not_arrived,
}

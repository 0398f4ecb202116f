"""What dies, one or several at once, while a job runs."""

import pathlib

import common

from .expect import connection, expect_ends, expect_fenced, kill, named, wait_deferred, wait_running

# A submit that reaches the runtime, but whose answer comes only when `go` is there.
HELD_AFTER = """#!/bin/bash
[[ " $* " == *" submit "* ]] || exec {tony} "$@"
mine=$(mktemp -d {folder}/submit.XXXXXX)
{tony} "$@" > "$mine/answer"; code=$?
touch "$mine/asked"
for n in $(seq 1200); do [ -e {folder}/go ] && break; sleep 0.1; done
cat "$mine/answer"
exit $code
"""


def a_worker_that_dies_before_the_submits_answer_leaves_its_job_to_the_next_try(airflow):
    marks = connection(airflow, "tony_held_after", HELD_AFTER)
    run = airflow.trigger("worker_kill9_in_submit")
    train = run.task("train")
    common.wait_for("the submit", lambda: list(marks.glob("*/asked")))
    owner = train.job()["owner"]
    kill(train.pid())
    (marks / "go").touch()
    common.wait_for("the next try's submit", lambda: train.job()["owner"] != owner)
    train.wait_for_try(2)
    expect_fenced(train, owner)
    train.wait_for_job("RUNNING")
    run.release()
    run.wait("success")
    expect_ends(train, (0, "SUCCEEDED"))


def a_deferred_tasks_job_survives_its_am_and_keeper(airflow):
    run = airflow.trigger("am_keeper_kill9")
    train = run.task("train")
    wait_deferred(train)
    (job,) = train.jobs()
    ruling = named(train, job, "tony-am", "tony-keeper")
    assert len(ruling) == 2, ruling
    kill(*ruling)
    common.wait_for("others in their place", lambda: len(named(train, job, "tony-am", "tony-keeper")) == 2, 60)
    assert train.state() == "deferred", train.row()
    run.release()
    run.wait("success")
    assert train.job()["epoch"] == 2, train.job()
    expect_ends(train, (0, "SUCCEEDED"))


def a_triggerer_that_is_told_to_end_ends_no_job(airflow):
    run = airflow.trigger("triggerer_sigterm")
    train = run.task("train")
    wait_deferred(train)
    triggerer = airflow.daemon("triggerer")
    triggerer.terminate()
    train.wait_for_job("RUNNING")
    watcher = train.job()["watcher"]
    triggerer.start().wait_ready()
    common.wait_for("another watcher", lambda: train.job()["watcher"] != watcher)
    run.release()
    run.wait("success")
    expect_ends(train, (0, "SUCCEEDED"))


def jobs_do_not_notice_the_death_of_the_scheduler(airflow):
    run = airflow.trigger("scheduler_kill9")
    deferred, running = run.task("deferred"), run.task("running")
    wait_deferred(deferred)
    wait_running(running)
    scheduler = airflow.daemon("scheduler")
    orphans = scheduler.session()
    scheduler.kill_alone()
    scheduler.start().wait_ready()
    run.release()
    run.wait("success")
    for task in (deferred, running):
        assert task.row()["try_number"] == 1, task.row()
        expect_ends(task, (0, "SUCCEEDED"))
    kill(*(pid for pid in orphans if pid in airflow.sandbox.processes()))  # what waits for the dead one's work


def what_succeeds_while_nobody_looks_is_adopted(airflow):
    run = airflow.trigger("ended_unseen")
    deferred, running = run.task("deferred"), run.task("running")
    wait_deferred(deferred)
    wait_running(running)
    scheduler, triggerer = airflow.daemon("scheduler"), airflow.daemon("triggerer")
    scheduler.pause()  # or the next try would be too soon
    try:
        triggerer.kill()
        kill(*worker_of(running))
        run.release()
        for task in (deferred, running):
            task.wait_for_job("SUCCEEDED")
        assert (deferred.state(), running.state()) == ("deferred", "running"), (deferred.row(), running.row())
        triggerer.start().wait_ready()
    finally:
        scheduler.go_on()
    run.wait("success")
    for task in (deferred, running):
        expect_ends(task, (0, "SUCCEEDED"))
        assert task.xcoms()["return_value"] == {"model_path": f"/models/{task.id}"}, task.xcoms()
    assert running.row()["try_number"] == 2, running.row()


def worker_of(task):
    """The process that runs the task, and the one that looks after it."""
    pid = task.pid()
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return pid, int(stat.rpartition(")")[2].split()[1])


def a_job_that_nobody_is_left_for_is_abandoned(airflow):
    run = airflow.trigger("nobody_left")
    train = run.task("train")
    wait_deferred(train)
    (job,) = train.jobs()
    for daemon in airflow.daemons.values():
        daemon.kill()
    others = set(airflow.sandbox.processes()) - set(airflow.sandbox.processes(job))
    assert not others, [common.described(pid) for pid in others]
    assert airflow.sandbox.processes(job)
    common.wait_for("the job's end", lambda: not airflow.sandbox.processes(job), 10 + 30)
    airflow.start(["nobody_left"])
    run.wait("failed")
    verdict = airflow.sandbox.tony("status", job)["verdict"]
    assert verdict["class"] == "abandoned", verdict
    assert f"{job} KILLED abandoned: " in train.log(), train.log()
    assert train.row()["try_number"] == 1, train.row()
    expect_ends(train, (0, "KILLED"))


TOGETHER = {
    "am_keeper_kill9": a_deferred_tasks_job_survives_its_am_and_keeper,
    "worker_kill9_in_submit": a_worker_that_dies_before_the_submits_answer_leaves_its_job_to_the_next_try,
}
ALONE = {
    "triggerer_sigterm": a_triggerer_that_is_told_to_end_ends_no_job,
    "scheduler_kill9": jobs_do_not_notice_the_death_of_the_scheduler,
    "ended_unseen": what_succeeds_while_nobody_looks_is_adopted,
    "nobody_left": a_job_that_nobody_is_left_for_is_abandoned,
}

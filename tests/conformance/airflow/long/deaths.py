"""Failures of one or several processes while a job runs."""

import os
import signal
import socket
import time

import common

from .expect import (
    connection,
    expect_ends,
    expect_fenced,
    expect_gone,
    kill,
    named,
    rewrite,
    wait_deferred,
    wait_running,
)

AFTERWARDS = 5  # seconds to wait for what must not happen
TRIGGER_KILL_DELAY = 15  # the provider's delay of a trigger's kill, in which another watcher may appear

# A submit that does not reach the runtime while the file `hold` exists.
NEVER_SENT = """#!/bin/bash
[[ " $* " == *" submit "* && -e {folder}/hold ]] || exec {tony} "$@"
mktemp -d {folder}/asked.XXXXXX
while [ -e {folder}/hold ]; do sleep 0.1; done
exit 69
"""

# A submit that reaches the runtime, and whose answer is delivered when the file `go` exists.
HELD_AFTER = """#!/bin/bash
[[ " $* " == *" submit "* ]] || exec {tony} "$@"
mine=$(mktemp -d {folder}/submit.XXXXXX)
{tony} "$@" > "$mine/answer"; code=$?
touch "$mine/asked"
for n in $(seq 1200); do [ -e {folder}/go ] && break; sleep 0.1; done
cat "$mine/answer"
exit $code
"""


def the_next_try_continues_with_a_job_whose_worker_died_during_the_submit(airflow):
    marks = connection(airflow, "tony_held_after", HELD_AFTER)
    run = airflow.trigger("worker_kill9_in_submit")
    train = run.task("train")
    common.wait_for("the submit", lambda: list(marks.glob("*/asked")))
    owner = train.job()["owner"]
    train.kill()
    (marks / "go").touch()
    common.wait_for("the next try's submit", lambda: train.job()["owner"] != owner)
    train.wait_for_try(2)
    expect_fenced(train, owner)
    train.wait_for_job("RUNNING")
    run.release()
    run.wait("success")
    expect_ends(train, (0, "SUCCEEDED"))


def a_retry_adopts_no_result_of_another_run_if_the_first_try_never_submitted(airflow):
    """All nightly runs share one request id. One task waits for its job and acknowledges the result, the other one does
    not."""
    marks = connection(airflow, "tony_never_sent", NEVER_SENT)
    night = airflow.trigger("one_request_each_night")
    night.wait("success")
    requests = ("nightly-awaited", "nightly-left")
    before = [airflow.sandbox.jobs(request) for request in requests]
    assert [len(jobs) for jobs in before] == [1, 1], before
    for (job,) in before:
        succeeded(airflow, job)
    (marks / "hold").touch()
    night = airflow.trigger("one_request_each_night")
    tasks = [night.task("awaited"), night.task("left")]
    common.wait_for("both submits", lambda: len(list(marks.glob("asked.*"))) == 2)
    for task in tasks:
        task.kill()
    (marks / "hold").unlink()
    night.wait("success")
    for task, request, (old,) in zip(tasks, requests, before, strict=True):
        assert task.row()["try_number"] == 2, task.row()
        jobs = airflow.sandbox.jobs(request)
        assert len(jobs) == 2 and task.xcoms()["job_id"] == jobs[1] != old, (task.xcoms(), jobs)
        succeeded(airflow, jobs[1])
        expect_gone(task, jobs[1])
    assert tasks[0].xcoms()["return_value"] == {"model_path": f"/models/{tasks[0].xcoms()['job_id']}"}


def succeeded(airflow, job):
    common.wait_for(f"the end of {job}", lambda: airflow.sandbox.tony("status", job)["state"] == "SUCCEEDED")


def a_stalled_worker_that_wakes_up_does_not_disturb_the_next_try(airflow):
    run = airflow.trigger("stalled_worker")
    train = run.task("train")
    wait_running(train)
    owner, stalled = train.job()["owner"], train.worker()

    def send(number):
        for pid in stalled:
            os.kill(pid, number)

    airflow.pause(send)
    try:
        common.wait_for("the second try to own the job", lambda: train.job()["owner"] != owner)
        train.wait_for_try(2)
    finally:
        send(signal.SIGCONT)
    common.wait_for("the end of the first try's process", lambda: not os.path.exists(f"/proc/{stalled[0]}"), 60)
    time.sleep(AFTERWARDS)
    assert train.state() == "running" and train.row()["try_number"] == 2, train.row()
    train.wait_for_job("RUNNING")
    run.release()
    run.wait("success")
    expect_ends(train, (0, "SUCCEEDED"))
    assert train.xcoms()["return_value"] == {"model_path": "/models/stalled"}, train.xcoms()


def an_outage_of_airflows_server_ends_no_job(airflow):
    """Airflow 3 gives up the task after half a minute; Airflow 2 does not need its server for the task."""
    run = airflow.trigger("server_away")
    train = run.task("train")
    wait_running(train)
    owner, worker, server = train.job()["owner"], train.pid(), airflow.daemon(airflow.version.SERVER)
    server.kill()
    try:
        if airflow.major == 3:
            common.wait_for("the end of the first try", lambda: train.state() != "running")
        if airflow.release >= (3, 3):  # 3.1.0's supervisor crashes and leaves the process running
            common.wait_for("the end of its process", lambda: not os.path.exists(f"/proc/{worker}"))
        time.sleep(AFTERWARDS)
        train.wait_for_job("RUNNING")
    finally:
        server.start().wait_ready()
    if airflow.major == 3:
        common.wait_for("a later try to own the job", lambda: train.job()["owner"] != owner)
    run.release()
    run.wait("success")
    expect_ends(train, (0, "SUCCEEDED"))


def a_retry_on_another_machine_reports_that_the_job_is_not_there(airflow):
    """Two homes stand for two machines: a job in one home is unknown in the other."""
    sandbox = airflow.sandbox
    connection(airflow, "tony_of_two_homes", '#!/bin/sh\nexec {tony} "$@"\n')
    run = airflow.trigger("two_homes")
    train = run.task("train")
    first = wait_running(train)
    other = sandbox.folder / "other-home"
    rewrite(airflow, "tony_of_two_homes", home=str(other))
    train.kill()
    train.wait_for_try(2)
    if airflow.keeps_task_state:
        run.wait("failed")
        assert f"{first} was submitted on " in train.log(2), train.log(2)
        assert not list(other.glob("jobs/*/submission.json")), "a second job"
        run.release()
    else:
        common.wait_for("the second job", lambda: list(other.glob("jobs/[!.]*/submission.json")))
        here = f"{socket.gethostname()} (home {other})"
        assert f"no job of an earlier try is known on {here}" in train.log(2), train.log(2)
        run.release()
        run.wait("success")
    common.wait_for("the end of the first job", lambda: sandbox.tony("status", first)["state"] == "SUCCEEDED")
    expect_gone(train, first)


def the_job_of_a_deferred_task_survives_the_death_of_its_am_and_keeper(airflow):
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


def stopping_a_triggerer_ends_no_job(airflow):
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


def a_stalled_triggerer_ends_no_job(airflow):
    run = airflow.trigger("stalled_triggerer")
    train, stalled = run.task("train"), airflow.daemon("triggerer")
    wait_deferred(train)
    train.wait_until_watched(stalled)
    other = airflow.another_triggerer("triggerer-2")
    try:
        stalled.pause()
        try:
            train.wait_until_watched(other)
        finally:
            stalled.go_on()
        if airflow.tells_triggers:  # Airflow takes the lost trigger for a click of a user
            common.wait_for("the triggerer to wake up", lambda: "invoking on_kill" in train.log())
            time.sleep(TRIGGER_KILL_DELAY)
        time.sleep(AFTERWARDS)
        train.wait_for_job("RUNNING")
        run.release()
        run.wait("success")
        expect_ends(train, (0, "SUCCEEDED"))
    finally:
        airflow.daemons.pop(other.name).terminate()


def jobs_survive_the_death_of_the_scheduler(airflow):
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
    kill(*(pid for pid in orphans if pid in airflow.sandbox.processes()))  # clients that wait for the dead process


def a_job_that_succeeds_during_an_outage_of_airflow_is_adopted(airflow):
    run = airflow.trigger("ended_unseen")
    deferred, running = run.task("deferred"), run.task("running")
    wait_deferred(deferred)
    wait_running(running)
    scheduler, triggerer = airflow.daemon("scheduler"), airflow.daemon("triggerer")
    scheduler.pause()  # otherwise the next try would start too early
    try:
        triggerer.kill()
        kill(*running.worker())
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


def a_job_is_killed_as_abandoned_after_all_airflow_daemons_died(airflow):
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
    "one_request_each_night": a_retry_adopts_no_result_of_another_run_if_the_first_try_never_submitted,
    "am_keeper_kill9": the_job_of_a_deferred_task_survives_the_death_of_its_am_and_keeper,
    "stalled_worker": a_stalled_worker_that_wakes_up_does_not_disturb_the_next_try,
    "two_homes": a_retry_on_another_machine_reports_that_the_job_is_not_there,
    "worker_kill9_in_submit": the_next_try_continues_with_a_job_whose_worker_died_during_the_submit,
}
ALONE = {
    "triggerer_sigterm": stopping_a_triggerer_ends_no_job,
    "stalled_triggerer": a_stalled_triggerer_ends_no_job,
    "scheduler_kill9": jobs_survive_the_death_of_the_scheduler,
    "server_away": an_outage_of_airflows_server_ends_no_job,
    "ended_unseen": a_job_that_succeeds_during_an_outage_of_airflow_is_adopted,
    "nobody_left": a_job_is_killed_as_abandoned_after_all_airflow_daemons_died,
}

"""Checks of kills: by the user, of the adapter, and of the whole server."""

import os
import re
import signal
import time

from common import LIMIT, wait_for

GRACE = 10  # seconds that a task has after SIGTERM
MARGIN = 15  # additional seconds for a busy machine


def expect_gone(run, job, reason, limit):
    wait_for(f"the end of the processes of {job}", lambda: not run.left_of(job), limit)
    status = run.sandbox.tony("status", job)
    assert status["state"] == "KILLED", status["state"]
    assert status["verdict"]["class"] == reason, status["verdict"]


def expect_honoured(log):
    assert "tony-azkaban: exit 143: " in log, log
    assert "Killing with KILL signal" not in log, log


def a_cancelled_step_ends_its_job_and_leaves_no_process(azkaban):
    run = azkaban.execute("held", gate=azkaban.gate("cancelled"))
    job = run.running_job("held")
    azkaban.client.cancel(run.number)
    expect_gone(run, job, "killed", GRACE + MARGIN)
    assert run.end() == "KILLED"
    expect_honoured(run.log_with("held", "tony-azkaban: exit "))


def two_cancelled_steps_end_within_half_a_minute(azkaban):
    run = azkaban.execute("both", gate=azkaban.gate("both"))
    jobs = [run.running_job(step) for step in ("left", "right")]
    began = time.monotonic()
    azkaban.client.cancel(run.number)
    assert run.end() == "KILLED"
    for job in jobs:
        expect_gone(run, job, "killed", 30 + MARGIN)
    took = time.monotonic() - began
    assert took < 30, f"{took:.1f} s"
    for step in ("left", "right"):
        expect_honoured(run.log_with(step, "tony-azkaban: exit "))


def the_next_attempt_attaches_to_the_job_of_a_killed_adapter(azkaban):
    gate = azkaban.gate("attached")
    run = azkaban.execute("attached", gate=gate)
    job = run.running_job("attached")
    os.kill(azkaban.server.adapter("attached"), signal.SIGKILL)
    said = f"job {job} of an earlier attempt runs; this attempt continues with that job"
    wait_for(f"{said!r} in the next attempt's log", lambda: said in run.log_file("attached", 1))
    gate.touch()
    assert run.end() == "SUCCEEDED", run.log_file("attached", 1)
    assert run.jobs("attached") == [job]
    # This Azkaban passes its steps neither its address nor the project's name, but it passes the uuid of each
    # execution.
    request = azkaban.sandbox.tony("status", job)["request_id"]
    assert re.fullmatch(r"azkaban://[^/]+/[0-9]+/[0-9a-f-]{36}/attached/attached", request), request
    assert "passes no value of azkaban.url and azkaban.flow.projectname to a step" in run.log_file("attached", 1)


def executions_with_the_same_number_have_separate_jobs(azkaban):
    """This happens after the database was replaced, and with two servers that share a home."""
    number = 424242
    same = {"azkaban.flow.execid": number}
    left, right = (azkaban.execute("held", gate=azkaban.gate(f"twin-{name}"), **same) for name in ("left", "right"))
    wait_for("two jobs", lambda: len(left.jobs("held", number)) == 2)
    jobs = set(left.jobs("held", number))
    for job in jobs:
        wait_for(f"tasks of {job}", lambda job=job: azkaban.sandbox.tony("status", job)["state"] == "RUNNING")
    azkaban.client.cancel(left.number)
    log = left.log_with("held", "tony-azkaban: exit 143: ")
    (cancelled,) = [job for job in jobs if job in log]
    (other,) = jobs - {cancelled}
    expect_gone(left, cancelled, "killed", GRACE + MARGIN)
    assert azkaban.sandbox.tony("status", other)["state"] == "RUNNING"
    azkaban.gate("twin-right").touch()
    assert right.end() == "SUCCEEDED", right.log("held")
    right.log_with("held", other)


def the_job_of_a_killed_server_is_abandoned_and_the_next_server_runs_flows(azkaban):
    with azkaban.another() as other:
        run = other.execute("abandoned", gate=azkaban.gate("abandoned"))
        job = run.running_job("abandoned")
        adapter = other.server.adapter("abandoned")
        assert adapter in azkaban.sandbox.processes()
        other.server.kill()
        wait_for("the end of its adapter", lambda: adapter not in azkaban.sandbox.processes(), MARGIN)
        other.start()
        again = other.execute("abandoned")
        expect_gone(run, job, "abandoned", GRACE + MARGIN)
        assert again.end(LIMIT) == "SUCCEEDED", again.statuses()
        assert again.number != run.number


CHECKS = [
    a_cancelled_step_ends_its_job_and_leaves_no_process,
    two_cancelled_steps_end_within_half_a_minute,
    the_next_attempt_attaches_to_the_job_of_a_killed_adapter,
    executions_with_the_same_number_have_separate_jobs,
    the_job_of_a_killed_server_is_abandoned_and_the_next_server_runs_flows,
]

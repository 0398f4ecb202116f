"""Checks of cancelled steps, of retries, and of jobs after the death of the step's process or of the whole executor
server."""

import json
import os
import re
import signal
import time

from common import wait_for

from .executor import Executor, alive
from .projects import HOLD, command, project, tony

MARGIN = 10  # seconds, for busy machines


def state(azkaban, job):
    return azkaban.sandbox.tony("status", job)["state"]


def ran_once(azkaban, execution, step, job):
    tasks = azkaban.sandbox.tony("status", job)["tasks"]
    starts = (execution.folder / f"{step}.starts").read_text().splitlines()
    assert len(starts) == 1 and [task["attempt"] for task in tasks] == [1], (starts, tasks)


def held(step, properties=None):
    """Starts a step whose task notes each start and waits for let_go()."""
    return tony(step, f'echo "$TONY_JOB_ID" >> "$HERE/{step}.starts"; {HOLD}', properties=properties)


def a_cancelled_step_ends_its_job_and_leaves_no_process(azkaban):
    execution = azkaban.run(project("2.0", [held("train"), command("deploy", "true", after=["train"])]), "flow")
    job = execution.running("train")
    execution.cancel()
    cancelled = execution.event("train", "KILLING")["at"]
    ended = execution.must("KILLED", "train")
    assert ended["exit"] == 143 and ended["at"] - cancelled < 2000 + MARGIN * 200, (cancelled, ended)
    execution.must("KILLED")
    execution.must("CANCELLED", "deploy")
    wait_for(f"the end of {job}", lambda: not azkaban.sandbox.processes(job), 10 + MARGIN)
    assert state(azkaban, job) == "KILLED"


def two_cancelled_steps_that_ignore_sigterm_end_within_30_seconds(azkaban):
    steps = [tony(name, f"trap '' TERM; {HOLD}") for name in ("left", "right")]
    execution = azkaban.run(project("1.0", [*steps, command("both", "true", after=["left", "right"])]), "both")
    jobs = [execution.running("left"), execution.running("right")]
    start = time.monotonic()
    execution.cancel()
    execution.must("KILLED")
    wait_for("the end of both", lambda: not any(map(azkaban.sandbox.processes, jobs)), 30)
    assert time.monotonic() - start < 30


def the_retry_of_a_failed_step_runs_a_new_job(azkaban):
    script = 'echo try >> "$HERE/tries"; [ $(wc -l < "$HERE/tries") = 2 ]'
    step = tony("train", script, properties={"retries": 1, "retry.backoff": 100})
    execution = azkaban.run(project("2.0", [step]), "flow")
    execution.must("FAILED", "train", attempt=0)
    execution.must("SUCCEEDED", "train", attempt=1)
    execution.must("SUCCEEDED")
    assert execution.job("train", 0) != execution.job("train", 1)


def a_retry_continues_with_the_job_after_the_steps_process_died(azkaban):
    execution = azkaban.run(project("1.0", [held("train", {"retries": 1})]), "train")
    job = execution.running("train")
    os.kill(execution.adapter("train"), signal.SIGKILL)
    assert execution.job("train", attempt=1) == job
    execution.let_go()
    execution.must("SUCCEEDED")
    ran_once(azkaban, execution, "train", job)


def a_job_whose_step_died_is_killed_as_abandoned_without_a_retry(azkaban):
    step = held("train", {"tony.azkaban.watch-timeout": 3})
    execution = azkaban.run(project("2.0", [step]), "flow")
    job = execution.running("train")
    os.kill(execution.adapter("train"), signal.SIGKILL)
    execution.must("FAILED")
    # a query would count as client activity
    wait_for(f"the end of {job}", lambda: not azkaban.sandbox.processes(job), 30)
    assert azkaban.sandbox.tony("status", job)["verdict"]["class"] == "abandoned"


def jobs_outlive_the_executor_server(azkaban):
    """One job still runs when the same execution is started again; another one has ended meanwhile."""
    first = Executor(azkaban.sandbox)
    try:
        executions = [first.run(project("2.0", [held("train")]), "flow", uuid=f"started-again-{i}") for i in range(2)]
        jobs = [execution.running("train") for execution in executions]
        adapters = [execution.adapter("train") for execution in executions]
    finally:
        first.kill()
    wait_for("the end of the steps' processes", lambda: not any(map(alive, adapters)), 10)
    executions[1].let_go()
    wait_for("the end of a job", lambda: state(azkaban, jobs[1]) == "SUCCEEDED")
    assert state(azkaban, jobs[0]) == "RUNNING"
    second = Executor(azkaban.sandbox)
    try:
        for execution in executions:
            for log in execution.folder.glob("_job*"):
                log.unlink()
        again = [second.run(None, "flow", number=execution.number, uuid=f"started-again-{i}")
                 for i, execution in enumerate(executions)]  # fmt: skip
        assert [execution.job("train") for execution in again] == jobs
        again[0].let_go()
        for execution, job in zip(again, jobs, strict=True):
            execution.must("SUCCEEDED")
            ran_once(azkaban, execution, "train", job)
    finally:
        second.close()


def executions_with_the_same_number_have_separate_jobs(azkaban):
    """This happens with two servers that share a home, and after the database was replaced: project, flow, step and
    number are the same."""
    other = Executor(azkaban.sandbox, "azkaban-other")
    try:
        mine = azkaban.run(project("1.0", [held("train")]), "train")
        theirs = other.run(project("1.0", [held("train")]), "train", number=mine.number)
        jobs = [execution.running("train") for execution in (mine, theirs)]
        assert jobs[0] != jobs[1]
        mine.cancel()
        mine.must("KILLED")
        wait_for(f"the end of {jobs[0]}", lambda: not azkaban.sandbox.processes(jobs[0]), 10 + MARGIN)
        assert state(azkaban, jobs[1]) == "RUNNING"
        theirs.let_go()
        theirs.must("SUCCEEDED")
        ran_once(azkaban, theirs, "train", jobs[1])
    finally:
        other.close()


def a_newer_execution_replaces_the_job_of_an_older_execution_if_configured(azkaban):
    told = {"tony.azkaban.replace-older": "true", "azkaban.url": "http://az.example:8081", "retries": 1}
    older = azkaban.run(project("1.0", [held("replaced", told)]), "replaced")
    old_job = older.running("replaced")
    newer = azkaban.run(project("1.0", [held("replaced", told)]), "replaced")
    wait_for("the newer task", (newer.folder / "replaced.up").exists)
    (new_job,) = re.findall(r" - job (local-\S+)$", newer.log("replaced"), re.MULTILINE)
    assert f"job {old_job} of an older execution is ended" in newer.log("replaced"), newer.log("replaced")
    older.must("FAILED", "replaced", attempt=0)
    older.must("FAILED", "replaced", attempt=1)  # its retry does not start in between
    assert "an execution that started later" in older.log("replaced", 1), older.log("replaced", 1)
    assert (state(azkaban, old_job), state(azkaban, new_job)) == ("KILLED", "RUNNING")
    newer.let_go()
    newer.must("SUCCEEDED")
    ran_once(azkaban, newer, "replaced", new_job)


def the_attachment_describes_the_job(azkaban):
    execution = azkaban.run(project("2.0", [held("train")]), "flow")
    file = execution.event("train", "RUNNING")["attachment_file"]
    job = execution.running("train")

    def told():
        with open(file, encoding="utf-8") as attachment:
            return json.load(attachment)[0]

    wait_for("the attachment", lambda: os.path.exists(file))
    wait_for("a running job in the attachment", lambda: told()["state"] == "RUNNING")
    assert told()["job"] == job and told()["tasks"][0]["task"] == "worker:0"
    execution.let_go()
    execution.must("SUCCEEDED")
    (attached,) = execution.end("train")["attachment"]
    assert (attached["job"], attached["state"]) == (job, "SUCCEEDED")


CHECKS = [
    two_cancelled_steps_that_ignore_sigterm_end_within_30_seconds,
    a_job_whose_step_died_is_killed_as_abandoned_without_a_retry,
    jobs_outlive_the_executor_server,
    a_cancelled_step_ends_its_job_and_leaves_no_process,
    the_retry_of_a_failed_step_runs_a_new_job,
    a_retry_continues_with_the_job_after_the_steps_process_died,
    the_attachment_describes_the_job,
    executions_with_the_same_number_have_separate_jobs,
    a_newer_execution_replaces_the_job_of_an_older_execution_if_configured,
]

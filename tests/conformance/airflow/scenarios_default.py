"""The scenarios that must hold after every change: training, failure, cancellation, and the death of Airflow's daemons.

- sync_ok: prepare, train, deploy; the model and its accuracy reach the step after the training. Two processes of
  dags/training train a small model with plain Python, because `sample` and `long` train with JAX
- defer_ok: a deferred task has no process; its job's page and logs are linked meanwhile
- fail_noretry: a failure that no retry corrects is tried once in spite of retries=3; the log gives the reason
- mark_failed_running, mark_failed_deferred: the click ends the job: at once, after 15 s (3.3), by the watch timeout (before)
- worker_kill9: the task's process is killed; its retry continues with the running job
- triggerer_kill9: the triggerer is killed; the next one waits for the same job

In each scenario the runtime has had one job for the task. At the end no job runs on, and no process is left.
"""

import os
import pathlib
import shutil
import urllib.request

from common import wait_for

HERE = pathlib.Path(__file__).resolve().parent

KILL_LIMIT = 90  # seconds from a click to the end of the job; some Airflows deliver the click to the task's process
TRIGGER_KILL_DELAY = 15  # the provider's delay of a trigger's kill, in which another watcher may appear
LINKS = {"TonY job": "tracking_url", "TonY logs": "logs_url"}


def copy_dags(folder):
    shutil.copy(HERE / "dags/default.py", folder)
    shutil.copytree(HERE / "dags/training", folder / "training")


def only_job(task):
    """Returns the runtime's description of the only job."""
    jobs = task.jobs()
    assert len(jobs) == 1, f"the jobs of {task.request_id} are {jobs}"
    return task.job()


def page(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def gone(airflow, job):
    """Returns whether no process has the job's id in its environment or command line."""
    wait_for(f"the processes of {job} to be gone", lambda: not airflow.sandbox.processes(job), 60)


def deferred(airflow, dag_id):
    """Starts a run whose task has been deferred; returns the run and the task."""
    run = airflow.trigger(dag_id)
    task = run.task("train")
    task.wait("deferred")
    return run, task


def ends_well(run, task):
    """Checks that the released job succeeds, and that it was the only one."""
    run.release()
    run.wait("success")
    assert only_job(task)["state"] == "SUCCEEDED", task.job()
    assert task.xcoms()["return_value"] == {"came_to_its_end": True}, task.xcoms()


def a_dag_of_three_tasks_prepares_trains_and_deploys_a_model(airflow):
    run = airflow.trigger("sync_ok")
    run.wait("success")
    task = run.task("train")
    job = only_job(task)
    assert job["state"] == "SUCCEEDED" and len(job["tasks"]) == 2, job
    model = f"{airflow.home}/model/model.json"
    assert f"deployed {model}" in run.task("deploy").log(), "the model did not come to the step after the training"
    assert task.xcoms()["final_state"] == "SUCCEEDED", task.xcoms()
    # The supervisor of a task's process, here inside the scheduler, logs reading an XCom that was never pushed.
    assert "XCom not found" not in airflow.daemon("scheduler").log(), "a task that succeeds logs an error"


def a_deferred_task_occupies_no_process_and_links_to_its_job(airflow):
    run = airflow.trigger("defer_ok")
    task = run.task("train")
    worker = task.pid()
    task.wait("deferred")
    assert task.row()["next_method"] == "execute_complete", task.row()
    wait_for("the task's process to end", lambda: not os.path.exists(f"/proc/{worker}"), 60)
    job, pushed = only_job(task), task.xcoms()
    assert pushed["job_id"] == job["job"], pushed
    tracking_url = airflow.sandbox.tony("status", job["job"])["tracking_url"]
    assert pushed["tracking_url"] == tracking_url, f"{pushed['tracking_url']} instead of {tracking_url}"
    wanted = {name: pushed[key] for name, key in LINKS.items()}
    assert task.links() == wanted, f"{task.links()} instead of {wanted}"
    assert job["job"] in page(pushed["tracking_url"]), "the job's page does not show the job"
    assert "worker:0" in page(pushed["logs_url"]), "the page of the logs does not show the task"
    assert task.state() == "deferred", "it was to be looked at while it is deferred"
    ends_well(run, task)
    assert "SUCCEEDED" in task.log(), task.log()


def a_task_that_fails_permanently_is_tried_once(airflow):
    run = airflow.trigger("fail_noretry")
    run.wait("failed")
    task = run.task("train")
    job = only_job(task)
    assert task.state() == "failed" and task.row()["try_number"] == 1, task.row()
    assert run.task("deploy").state() == "upstream_failed", run.task("deploy").row()
    assert job["verdict"]["class"] == "user_config", job["verdict"]
    first = f"{job['job']} FAILED user_config: {job['verdict']['message']}"
    assert first.split("\n")[0] in task.log(), f"not in the log: {first}"
    assert "no-such-program" in task.log(), "the log does not show what the job wrote last"


def marking_a_running_task_failed_ends_its_job(airflow):
    run = airflow.trigger("mark_failed_running")
    task = run.task("train")
    worker = task.pid()
    wait_for("the job", task.jobs)
    task.wait_for_job("RUNNING")
    task.mark("failed")
    job = task.wait_for_job("KILLED", limit=KILL_LIMIT)
    assert job["verdict"]["class"] == "killed", job["verdict"]
    gone(airflow, job["job"])
    wait_for("the task's process to end", lambda: not os.path.exists(f"/proc/{worker}"), KILL_LIMIT)
    run.wait("failed")
    assert len(task.jobs()) == 1 and task.state() == "failed", task.row()


def marking_a_deferred_task_failed_ends_its_job(airflow):
    run, task = deferred(airflow, "mark_failed_deferred")
    task.wait_until_watched(airflow.daemon("triggerer"))
    task.wait_for_job("RUNNING")
    task.mark("failed")
    job = task.wait_for_job("KILLED", limit=KILL_LIMIT + TRIGGER_KILL_DELAY)
    wanted = "killed" if airflow.tells_triggers else "abandoned"
    assert job["verdict"]["class"] == wanted, job["verdict"]
    gone(airflow, job["job"])
    run.wait("failed")
    assert len(task.jobs()) == 1 and task.state() == "failed", task.row()


def the_retry_of_a_task_whose_process_was_killed_continues_with_the_job(airflow):
    run = airflow.trigger("worker_kill9")
    task = run.task("train")
    task.wait("running")
    before = task.wait_for_job("RUNNING")
    task.kill()
    task.wait_for_try(2)
    wait_for("the second try to own the job", lambda: task.job()["owner"] != before["owner"])
    ends_well(run, task)
    assert task.row()["try_number"] == 2, task.row()
    assert f"job {before['job']} attached" in task.log(2), "the second try does not say that it has found its job"


def a_job_survives_the_death_of_its_triggerer(airflow):
    run, task = deferred(airflow, "triggerer_kill9")
    triggerer = airflow.daemon("triggerer")
    task.wait_until_watched(triggerer)
    try:
        triggerer.kill()
    finally:
        triggerer.start().wait_ready()
    task.wait_until_watched(triggerer)
    assert only_job(task)["state"] == "RUNNING", task.job()
    ends_well(run, task)


TOGETHER = {
    "sync_ok": a_dag_of_three_tasks_prepares_trains_and_deploys_a_model,
    "defer_ok": a_deferred_task_occupies_no_process_and_links_to_its_job,
    "fail_noretry": a_task_that_fails_permanently_is_tried_once,
    "mark_failed_running": marking_a_running_task_failed_ends_its_job,
    "mark_failed_deferred": marking_a_deferred_task_failed_ends_its_job,
    "worker_kill9": the_retry_of_a_task_whose_process_was_killed_continues_with_the_job,
}
ALONE = {
    "triggerer_kill9": a_job_survives_the_death_of_its_triggerer,
}

"""Tasks with tony.scheduler=yarn in genuine Airflow, on a Hadoop cluster of the suite's own.

- yarn_ok: a task succeeds; its outputs reach the next task; both links lead to the application
- yarn_fail, yarn_refused: the task's log names what failed, and the queue that the cluster lacks; the refused task is tried
  once, and no application is made
- yarn_defer: a deferred task shows its application, and ends as the application does
- yarn_mark_failed: the click ends the application, and leaves nothing
- yarn_worker_kill9: the task's process is killed; its retry continues with the application
"""

import getpass
import os
import subprocess

from common import CLUSTER, LIMIT, wait_for
from machines import OneMachine
from scenarios_default import KILL_LIMIT, LINKS, deferred, ends_well, gone, only_job, page

START_LIMIT = 600  # seconds; Maven may have to download
USER = getpass.getuser()  # the job's user; a cluster without Kerberos trusts the user's name


class WithCluster(OneMachine):
    """A machine whose $HADOOP_CONF_DIR names a cluster. All processes of the cluster have the sandbox's folder in their
    environment."""

    def __init__(self, sandbox):
        super().__init__(sandbox)
        self.folder = sandbox.folder / "cluster"
        sandbox.variables["HADOOP_CONF_DIR"] = str(self.folder / "conf")

    def start(self):
        subprocess.run([CLUSTER, "start", self.folder, "", str(os.getpid())], check=True, timeout=START_LIMIT,
                       stdin=subprocess.DEVNULL)  # fmt: skip

    def stop(self):
        subprocess.run([CLUSTER, "stop", self.folder], check=True, timeout=LIMIT)


MACHINES = WithCluster


def linked(task, job):
    """Checks that both links lead to the ResourceManager, which leads to the application."""
    pushed = task.xcoms()
    assert pushed["job_id"] == job and job.startswith("application_"), pushed
    wanted = {name: pushed[key] for name, key in LINKS.items()}
    assert task.links() == wanted, f"{task.links()} instead of {wanted}"
    assert f"/proxy/{job}/" in pushed["tracking_url"], pushed
    for url in wanted.values():
        text = page(f"{url}?user.name={USER}")
        assert job in text or "worker:0" in text, f"{url} shows neither the job nor its tasks"


def a_task_on_yarn_passes_its_result_to_the_next_task(airflow):
    run = airflow.trigger("yarn_ok")
    run.wait("success")
    task = run.task("train")
    job = only_job(task)
    assert job["state"] == "SUCCEEDED", job
    linked(task, job["job"])
    gone(airflow, job["job"])


def the_task_log_shows_the_output_of_a_running_yarn_job(airflow):
    run = airflow.trigger("yarn_stream")
    task = run.task("train")
    wait_for("the first line", lambda: task.row() and "worker:0#1 | the first line" in task.log(), LIMIT)
    assert task.wait_for_job("RUNNING") and "the last line" not in task.log(), task.log()
    ends_well(run, task)
    for line in ("first", "last"):
        assert task.log().count(f"worker:0#1 | the {line} line") == 1, task.log()


def the_log_of_a_task_that_fails_on_yarn_names_the_cause(airflow):
    run = airflow.trigger("yarn_fail")
    run.wait("failed")
    task = run.task("train")
    job = only_job(task)
    assert f"{job['job']} FAILED user_error: {job['verdict']['message']}" in task.log(), task.log()
    assert "exit code 3" in job["verdict"]["message"] and "the data is gone" in task.log(), task.log()
    gone(airflow, job["job"])


def a_task_with_an_unknown_yarn_queue_is_tried_once(airflow):
    run = airflow.trigger("yarn_refused")
    run.wait("failed")
    task = run.task("train")
    assert task.row()["try_number"] == 1 and "tony.yarn.queue" in task.log(), task.log()
    assert task.jobs() == [], task.jobs()


def a_deferred_task_links_to_its_application(airflow):
    run, task = deferred(airflow, "yarn_defer")
    task.wait_until_watched(airflow.daemon("triggerer"))
    linked(task, task.wait_for_job("RUNNING")["job"])
    ends_well(run, task)


def marking_a_task_failed_ends_its_application(airflow):
    run = airflow.trigger("yarn_mark_failed")
    task = run.task("train")
    wait_for("the job", task.jobs)
    job = task.wait_for_job("RUNNING")["job"]
    task.mark("failed")
    assert task.wait_for_job("KILLED", limit=2 * KILL_LIMIT)["verdict"]["class"] == "killed"
    gone(airflow, job)
    run.wait("failed")
    assert task.jobs() == [job], task.jobs()


def the_retry_of_a_task_whose_process_was_killed_continues_with_the_application(airflow):
    run = airflow.trigger("yarn_worker_kill9")
    task = run.task("train")
    task.wait("running")
    wait_for("the job", task.jobs)
    job = task.wait_for_job("RUNNING")["job"]
    task.kill()
    task.wait_for_try(2)
    wait_for("the second try to find the job", lambda: f"job {job} attached" in task.log(2), LIMIT)
    ends_well(run, task)


TOGETHER = {
    "yarn_defer": a_deferred_task_links_to_its_application,
    "yarn_mark_failed": marking_a_task_failed_ends_its_application,
    "yarn_worker_kill9": the_retry_of_a_task_whose_process_was_killed_continues_with_the_application,
    "yarn_stream": the_task_log_shows_the_output_of_a_running_yarn_job,
    "yarn_ok": a_task_on_yarn_passes_its_result_to_the_next_task,
    "yarn_fail": the_log_of_a_task_that_fails_on_yarn_names_the_cause,
    "yarn_refused": a_task_with_an_unknown_yarn_queue_is_tried_once,
}
ALONE = {}

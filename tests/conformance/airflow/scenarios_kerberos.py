"""Tasks that act for user eve (`proxy_user`) on a Hadoop cluster with Kerberos. Workers and triggerer have the keytab
of user gateway. The cluster's tokens end after a minute, and after two minutes for good.

- kerberos_ok: the operator's proxy_user: the job belongs to eve, and its outputs and logs reach Airflow
- kerberos_mark: the click ends the job of eve
- kerberos_waits: a worker waits longer than any token lives, by calls of `tony wait` that each last five seconds,
  because it shows the job's output meanwhile
- kerberos_defer: the connection's proxy_user: a triggerer waits longer than any token lives; the log says until when
  the job can use the cluster
- kerberos_late: the triggerer's keytab is gone for a while: the log gives the reason and a warning, each once
"""

import os
import re
import shutil
import subprocess
import time

from common import CLUSTER, LIMIT, wait_for
from machines import OneMachine
from scenarios_default import KILL_LIMIT, deferred, ends_well, gone, only_job
from scenarios_yarn import START_LIMIT

OWNER, GATEWAY = "eve", "gateway"
LIFE, LONGEST = 60, 120  # seconds
CAN_USE = "can use the cluster until"
OVERDUE = "fresh tokens are overdue"


class WithKerberos(OneMachine):
    """A machine whose services have the keytab of user gateway, who may impersonate others."""

    def __init__(self, sandbox):
        super().__init__(sandbox)
        self.folder = sandbox.folder / "cluster"
        self.keytab, self.cache = sandbox.folder / "gateway.keytab", sandbox.folder / "ticket"
        sandbox.variables |= {"HADOOP_CONF_DIR": str(self.folder / "conf"),
                              "KRB5_CONFIG": str(self.folder / "kdc/krb5.conf"),
                              "KRB5_CLIENT_KTNAME": str(self.keytab), "KRB5CCNAME": str(self.cache),
                              "AIRFLOW_CONN_TONY_EVE": sandbox.connection(sandbox.home, proxy_user=OWNER)}  # fmt: skip
        # The checks themselves look at eve's jobs with eve's own keytab.
        sandbox.own_variables = {"KRB5_CLIENT_KTNAME": str(self.folder / f"kdc/{OWNER}.keytab"),
                                 "KRB5CCNAME": str(sandbox.folder / "ticket-of-the-checks")}  # fmt: skip

    def start(self):
        subprocess.run([CLUSTER, "start", self.folder, "", str(os.getpid())], check=True, timeout=START_LIMIT,
                       stdin=subprocess.DEVNULL, env={**os.environ, "TONY_HADOOP_KERBEROS": "1",
                                                      "TONY_HADOOP_TOKEN_LIFE_S": str(LIFE),
                                                      "TONY_HADOOP_TOKEN_MAX_S": str(LONGEST)})  # fmt: skip
        self.give_keytab()
        super().start()

    def give_keytab(self):
        shutil.copy(self.folder / f"kdc/{GATEWAY}.keytab", self.keytab)
        self.keytab.chmod(0o600)

    def take_keytab(self):
        for file in (self.keytab, self.cache):
            file.unlink(missing_ok=True)

    def stop(self):
        subprocess.run([CLUSTER, "stop", self.folder], check=True, timeout=LIMIT)


MACHINES = WithKerberos


def ends(task):
    """Returns the ends of tokens that the task's log has named, in order."""
    return re.findall(rf"{CAN_USE} (\S+);", task.log())


def the_job_of_a_task_with_a_proxy_user_belongs_to_that_user(airflow):
    run = airflow.trigger("kerberos_ok")
    run.wait("success")
    task = run.task("train")
    job = only_job(task)
    assert job["user"] == OWNER and job["state"] == "SUCCEEDED", job
    assert task.xcoms()["return_value"] == {"came_to_its_end": True}, task.xcoms()
    assert "worker:0#1 | trained" in task.log() and len(ends(task)) > 0, task.log()


def marking_a_task_failed_ends_the_job_of_its_proxy_user(airflow):
    run = airflow.trigger("kerberos_mark")
    task = run.task("train")
    wait_for("the job", task.jobs)
    job = task.wait_for_job("RUNNING")
    assert job["user"] == OWNER, job
    task.mark("failed")
    assert task.wait_for_job("KILLED", limit=2 * KILL_LIMIT)["verdict"]["class"] == "killed"
    gone(airflow, job["job"])


def outlives_its_tokens(run, task):
    time.sleep(1.3 * LONGEST)
    told = task.airflow.sandbox.tony("status", task.jobs()[0])
    assert told["user"] == OWNER and "tokens_overdue" not in told, told
    ends_well(run, task)
    assert len(set(ends(task))) > 3, task.log()
    assert OVERDUE not in task.log(), task.log()


def the_job_of_a_worker_that_waits_in_short_calls_outlives_its_tokens(airflow):
    run = airflow.trigger("kerberos_waits")
    task = run.task("train")
    task.wait("running")
    wait_for("the job", task.jobs)
    outlives_its_tokens(run, task)


def the_job_of_a_deferred_task_outlives_its_tokens(airflow):
    run, task = deferred(airflow, "kerberos_defer")
    outlives_its_tokens(run, task)


def a_task_whose_triggerer_gets_no_ticket_says_so_once(airflow):
    run, task = deferred(airflow, "kerberos_late")
    wait_for("the triggerer to name the end of the tokens", lambda: len(ends(task)) > 1)
    airflow.machines.take_keytab()
    try:
        wait_for("the warning", lambda: OVERDUE in task.log())
    finally:
        airflow.machines.give_keytab()
    before = len(ends(task))
    wait_for("fresh tokens", lambda: len(ends(task)) > before)
    ends_well(run, task)
    for text in (OVERDUE, "gets no fresh tokens"):
        assert task.log().count(text) == 1, f"{text}: {task.log()}"
    assert "kinit" in task.log(), task.log()


TOGETHER = {
    "kerberos_defer": the_job_of_a_deferred_task_outlives_its_tokens,
    "kerberos_waits": the_job_of_a_worker_that_waits_in_short_calls_outlives_its_tokens,
    "kerberos_ok": the_job_of_a_task_with_a_proxy_user_belongs_to_that_user,
    "kerberos_mark": marking_a_task_failed_ends_the_job_of_its_proxy_user,
}
ALONE = {"kerberos_late": a_task_whose_triggerer_gets_no_ticket_says_so_once}

"""Steps that act for the user who submitted the flow, on a Hadoop cluster with Kerberos. The cluster's tokens end after
a minute, and after two minutes for good."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import time

from common import wait_for
from level1.projects import HOLD, project, tony
from yarn.suite import CLUSTER, ON_YARN, START_LIMIT, OnCluster

AT_ONCE = 2
OWNER, GATEWAY = "eve", "gateway"
LIFE, LONGEST = 60, 120  # seconds
CAN_USE = r"the job can use the cluster until (\S+);"
OVERDUE = "fresh tokens are overdue"
# Part of a ticket's file name. Other runs of the suite have the same execution numbers.
STEP = f"train{os.getpid()}"
CACHES, CACHE = pathlib.Path("/tmp"), f"krb5cc__conformance__flow__{STEP}"


@contextlib.contextmanager
def started(sandbox):
    folder = sandbox.folder / "cluster"
    subprocess.run([CLUSTER, "start", folder, "", str(os.getpid())], check=True, timeout=START_LIMIT,
                   stdin=subprocess.DEVNULL, env={**os.environ, "TONY_HADOOP_KERBEROS": "1",
                                                  "TONY_HADOOP_TOKEN_LIFE_S": str(LIFE),
                                                  "TONY_HADOOP_TOKEN_MAX_S": str(LONGEST)})
    # The checks themselves look at eve's jobs with eve's own keytab; the steps have other keytabs.
    sandbox.variables = {"HADOOP_CONF_DIR": str(folder / "conf"), "KRB5_CONFIG": str(folder / "kdc/krb5.conf"),
                         "KRB5_CLIENT_KTNAME": str(folder / f"kdc/{OWNER}.keytab"),
                         "KRB5CCNAME": str(sandbox.folder / "ticket-of-the-checks")}  # fmt: skip
    executor = OnCluster(sandbox, folder)
    try:
        yield executor
    finally:
        executor.close()
        for cache in CACHES.glob(f"{CACHE}__*"):
            cache.unlink()
        subprocess.run([CLUSTER, "stop", folder], check=True)


class LongStep:
    """An execution of one step, with a keytab of the gateway as docs/how-to/azkaban.md describes it."""

    def __init__(self, azkaban, name):
        self.source = azkaban.cluster / f"kdc/{GATEWAY}.keytab"
        self.keytab = azkaban.sandbox.folder / f"{name}.keytab"
        self.give_keytab()
        properties = {"env.KRB5_CLIENT_KTNAME": self.keytab, "user.to.proxy": OWNER,
                      "azkaban.should.proxy.user": "true"}  # fmt: skip
        step = tony(STEP, HOLD, properties=ON_YARN | properties)
        self.execution = azkaban.run(project("2.0", [step]), "flow")

    def give_keytab(self):
        shutil.copy(self.source, self.keytab)
        self.keytab.chmod(0o600)

    def take_keytab(self):
        """Also removes the ticket, which lies where Azkaban's ProcessJob sets $KRB5CCNAME for each step."""
        self.keytab.unlink()
        for cache in CACHES.glob(f"{CACHE}__{self.execution.number}__{OWNER}"):
            cache.unlink()


def ends(execution):
    """Returns the ends of tokens that the step's log has named, in order."""
    return re.findall(CAN_USE, execution.log(STEP))


def a_steps_job_of_another_user_outlives_its_tokens(azkaban):
    execution = LongStep(azkaban, "outlives").execution
    job = execution.running(STEP)
    time.sleep(1.3 * LONGEST)
    told = azkaban.sandbox.tony("status", job)
    assert told["user"] == OWNER and "tokens_overdue" not in told, told
    attachment = pathlib.Path(execution.event(STEP, "RUNNING")["attachment_file"])
    wait_for("the end of the tokens in the step's attachment", lambda: ends(execution)[-1] in attachment.read_text())
    execution.let_go()
    execution.must("SUCCEEDED")
    assert len(set(ends(execution))) > 3 and OVERDUE not in execution.log(STEP), execution.log(STEP)


def a_step_that_gets_no_ticket_says_so_once(azkaban):
    step = LongStep(azkaban, "late")
    execution = step.execution
    execution.running(STEP)
    wait_for("the step to push tokens", lambda: len(ends(execution)) > 1)
    step.take_keytab()
    try:
        wait_for("the warning", lambda: OVERDUE in execution.log(STEP))
    finally:
        step.give_keytab()
    before = len(ends(execution))
    wait_for("fresh tokens", lambda: len(ends(execution)) > before)
    execution.let_go()
    execution.must("SUCCEEDED")
    for text in (OVERDUE, "gets no fresh tokens"):
        assert execution.log(STEP).count(text) == 1, execution.log(STEP)


CHECKS = [a_steps_job_of_another_user_outlives_its_tokens, a_step_that_gets_no_ticket_says_so_once]

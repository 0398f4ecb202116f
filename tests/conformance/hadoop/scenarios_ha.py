"""Jobs on a cluster with two ResourceManagers and two NameNodes (TONY_HADOOP_HA=1). The active daemon dies or becomes
the standby before the submit, while the job runs, and at its end."""

import importlib
import time

import scenarios_takeover
from common import begin, cluster, end, must, nodes_run, nothing_is_left_of, put, status, takes_writes, tony, until

importlib.reload(scenarios_takeover)  # so that it uses the folder of this scenario
from scenarios_takeover import go, kill_leader, leads, start, succeeds_unchanged  # noqa: E402

PAIRS = (("resourcemanager", "resourcemanager2"), ("namenode", "namenode2"))
active = {"resourcemanager": 0, "namenode": 0}  # index in the pair


def fail_over(kind, meanwhile=lambda: None):
    """Kills the active daemon, makes the other one active, and starts the killed one again as the standby."""
    pair = dict(zip(active, PAIRS, strict=True))[kind]
    old, new = pair[active[kind]], pair[1 - active[kind]]
    cluster("kill", old)
    meanwhile()
    cluster("activate", new)
    active[kind] = 1 - active[kind]
    cluster("begin", old)
    until(nodes_run, "the nodes to register again")


def restore():
    """Makes the first daemon of each pair active again, for the next scenario."""
    for kind, index in active.items():
        if index:
            fail_over(kind)
    until(takes_writes, "the NameNode to accept writes")


def restored(scenario):
    def run():
        try:
            scenario()
        finally:
            restore()
    run.__name__ = scenario.__name__
    return run


@restored
def a_failover_of_the_resource_manager_leaves_the_tasks_running():
    client, job, before = start()
    fail_over("resourcemanager")
    leads(job, 1001)
    succeeds_unchanged(client, job, before)


@restored
def a_failover_of_the_name_node_leaves_the_tasks_running():
    client, job, before = start()
    fail_over("namenode")
    leads(job, 1001)
    succeeds_unchanged(client, job, before)


@restored
def an_am_process_that_dies_during_a_failover_of_both_is_replaced():
    client, job, before = start()
    fail_over("namenode", lambda: kill_leader(job))
    fail_over("resourcemanager")
    leads(job, 1002)
    succeeds_unchanged(client, job, before)


@restored
def a_job_is_submitted_while_the_first_daemon_of_each_pair_is_dead():
    for kind, pair in zip(active, PAIRS, strict=True):
        cluster("kill", pair[0])
        cluster("activate", pair[1])
        active[kind] = 1
    until(nodes_run, "the nodes to register again")
    until(takes_writes, "the NameNode to accept writes")
    try:
        put("/user/root/in.txt", b"data\n")
        client, job = begin("-executes", "cat in.txt", "-conf", "tony.worker.instances=1",
                            "-conf", "tony.containers.resources=hdfs://pair/user/root/in.txt")
        code, text = end(client)
        must(code == 0, code, text)
        logs = tony("logs", job)
        must(logs.returncode == 0 and "data" in logs.stdout, logs.returncode, logs.stdout, logs.stderr)
        must(tony("doctor", "--yarn").returncode == 0, tony("doctor", "--yarn").stdout)
        nothing_is_left_of(job)
    finally:
        for pair in PAIRS:
            cluster("begin", pair[0])


@restored
def a_job_ends_while_the_active_daemons_are_replaced():
    client, job, _ = start()
    cluster("kill", "resourcemanager")
    cluster("kill", "namenode")
    go()
    time.sleep(3)
    cluster("activate", "namenode2")
    cluster("activate", "resourcemanager2")
    active.update(resourcemanager=1, namenode=1)
    code, text = end(client)
    for daemon in ("namenode", "resourcemanager"):
        cluster("begin", daemon)
    must(code == 0, code, text)
    must(status(job)["state"] == "SUCCEEDED", status(job))
    nothing_is_left_of(job)


@restored
def a_kill_reaches_the_job_after_a_failover():
    client, job, _ = start()
    fail_over("resourcemanager")
    ran = tony("kill", job)
    must(ran.returncode == 0, ran.stdout, ran.stderr)
    code, text = end(client)
    must(code == 1, code, text)
    nothing_is_left_of(job)


TOGETHER = []
ALONE = [a_failover_of_the_resource_manager_leaves_the_tasks_running,
         a_failover_of_the_name_node_leaves_the_tasks_running,
         an_am_process_that_dies_during_a_failover_of_both_is_replaced,
         a_job_is_submitted_while_the_first_daemon_of_each_pair_is_dead,
         a_job_ends_while_the_active_daemons_are_replaced,
         a_kill_reaches_the_job_after_a_failover]
DEFAULT = []

"""Jobs on a cluster whose NodeManagers have AMRMProxies (TONY_HADOOP_AMRMPROXY=1). An application master (AM) may call
only the proxy of its node. On localhost it finds the proxy in the node's site files, on 127.0.0.2 in those of the client."""

import importlib
import time

import scenarios_takeover
from common import (CLUSTER, NODES, application, begin, edited_conf, end, must, nodes_run, nothing_is_left_of, only, restart,
                    site, status, tony, until, variables_of)

importlib.reload(scenarios_takeover)  # so that it uses the folder of this scenario
from scenarios_takeover import kill_leader, leads, masters, start, succeeds_unchanged  # noqa: E402

ROLLS = int(site("yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs"))  # seconds


def host_of_master(job):
    return variables_of(until(lambda: masters(job)[0], f"an AM of {job}"))["NM_HOST"]


def has_proxied(host, job):
    attempt = job.replace("application", "appattempt")
    log = (CLUSTER / "log" / NODES[host]).read_text(encoding="utf-8")
    return any("AMRMProxyService" in line and "egist" in line and attempt in line for line in log.splitlines())


def first_attempt(job):
    """The AM that leads the job is YARN's first attempt: none was refused before."""
    must(1000 < status(job)["epoch"] < 2000, status(job)["epoch"], application(job)["diagnostics"])


def an_am_on_each_node_calls_the_proxy_of_its_node():
    for host in NODES:
        with only(host):
            client, job = begin("-executes", "sleep 3", "-conf", "tony.worker.instances=1")
            must(host_of_master(job) == host, host, host_of_master(job))
        code, text = end(client)
        must(code == 0, code, text)
        first_attempt(job)
        must(has_proxied(host, job), f"the proxy of {host} does not know {job}")
        nothing_is_left_of(job)


def a_client_that_names_the_resource_manager_is_told_about_the_proxy():
    """The AM on 127.0.0.2 has no site files of its node."""
    found = f"127.0.0.2:{site('yarn.nodemanager.amrmproxy.address').rpartition(':')[2]}"
    conf = edited_conf("direct", yarn=(f"scheduler.address</name><value>{found}",
                                       f"scheduler.address</name><value>{site('yarn.resourcemanager.scheduler.address')}"))
    with only("127.0.0.2"):
        client, job = begin("-executes", "true", "-conf", "tony.worker.instances=1", HADOOP_CONF_DIR=conf)
        until(lambda: application(job)["state"] == "FAILED", f"{job} to fail")
    code, text = end(client)
    must(code == 1 and "set yarn.resourcemanager.scheduler.address" in text, code, text)
    nothing_is_left_of(job)


def the_next_am_process_connects_with_the_token_that_the_proxy_rolled():
    """The proxy refuses the first token after the key has changed twice."""
    client, job, before = start()
    time.sleep(2.6 * ROLLS)
    kill_leader(job)
    leads(job, 1002)
    first_attempt(job)
    succeeds_unchanged(client, job, before)


def a_restarted_node_manager_leaves_its_am_and_the_tasks_running():
    client, job, before = start()
    restart(NODES[host_of_master(job)])
    until(nodes_run, "the node to register again")
    kill_leader(job)
    leads(job, 1002)
    first_attempt(job)
    succeeds_unchanged(client, job, before)


def a_job_is_killed_behind_the_proxy():
    client, job, _ = start()
    must(tony("kill", job).returncode == 0, "kill")
    must(end(client)[0] == 1, "the client of a killed job")
    nothing_is_left_of(job)


TOGETHER = [the_next_am_process_connects_with_the_token_that_the_proxy_rolled, a_job_is_killed_behind_the_proxy]
ALONE = [an_am_on_each_node_calls_the_proxy_of_its_node, a_client_that_names_the_resource_manager_is_told_about_the_proxy,
         a_restarted_node_manager_leaves_its_am_and_the_tasks_running]
DEFAULT = []

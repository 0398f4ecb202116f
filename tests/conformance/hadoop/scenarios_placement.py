"""Placement constraints, allocation tags and node attributes on a real YARN, with both of its handlers of constraints."""

import contextlib
import json
import os
import signal
import time

from common import (begin, cluster, end, hosts_of, must, nothing_is_left_of, resource_manager, restart, runs, site,
                    status, tony, until)
from scenarios_jobs import FACTOR, begin_resource_manager, nothing_is_begun_by, refused
from scenarios_takeover import alive, attempts, kill_leader, leads

HANDLER = "yarn.resourcemanager.placement-constraints.handler"
BOTH = {"localhost", "127.0.0.2"}
APART = ("tony.worker.placement-spec=notin,node,train", "tony.worker.allocation-tags=train")
SLEEP = ("-executes", "sleep 600")


def settings(*pairs):
    return tuple(word for pair in pairs for word in ("-conf", pair))


@contextlib.contextmanager
def job_with(*pairs, words=SLEEP):
    client, job = begin(*words, *settings(*pairs))
    try:
        yield job
    finally:
        tony("kill", job)
        end(client)
        nothing_is_left_of(job)


def all_run(job):
    until(lambda: all(task["pid"] for task in status(job)["tasks"]), f"all tasks of {job}")
    return hosts_of(job)


def hosts_by_role(job):
    all_run(job)
    return {role: {task["host"] for task in status(job)["tasks"] if task["task"].startswith(role + ":")}
            for role in ("ps", "worker")}


@contextlib.contextmanager
def attribute(host, name, value):
    def change(action, text):
        cluster("java", "org.apache.hadoop.yarn.client.cli.NodeAttributesCLI", action, text)

    change("-add", f"{host}:{name}(STRING)={value}")
    try:
        until(lambda: value in json.dumps(resource_manager("nodes")), f"the attribute {name}")
        yield
    finally:
        change("-remove", f"{host}:{name}")


def a_worker_waits_until_a_node_without_another_worker_is_free():
    with job_with("tony.worker.instances=2", *APART) as job:
        must(all_run(job) == BOTH, status(job))
    with job_with("tony.worker.instances=3", *APART) as job:
        runs(job)
        why = "found no free node yet that the placement constraint of role worker allows"
        until(lambda: why in status(job).get("delay", ""), f"the reason: {status(job).get('delay')}")
        before = attempts(job)
        must(before["worker:2"] == (1, 0) and hosts_of(job) == BOTH | {""}, status(job))
        # The next process of the AM requests the container again, and the ResourceManager takes the same request.
        epoch = status(job)["epoch"]
        kill_leader(job)
        leads(job, epoch + 1)
        until(lambda: why in status(job).get("delay", ""), f"the reason again: {status(job).get('delay')}")
        must(attempts(job) == before, before, attempts(job))
        # A restarted ResourceManager knows the tags of running containers, and gets the waiting request again.
        restart("resourcemanager")
        until(lambda: why in status(job).get("delay", ""), f"the reason again: {status(job).get('delay')}")
        must(attempts(job) == before, before, attempts(job))
    with job_with("tony.worker.instances=1", "tony.worker.placement-spec=in,node,train",
                  "tony.containers.allocation-tags=train") as job:
        until(lambda: why in status(job).get("delay", ""), f"the first of its kind to wait: {status(job).get('delay')}")


def tags_and_attributes_select_nodes():
    with attribute("127.0.0.2", "kind", "quick"):
        for spec, hosts in (("rm.yarn.io/kind=quick", {"127.0.0.2"}), ("kind=slow,quick", {"127.0.0.2"}),
                            ("kind!=quick", {"localhost"}), ("or(kind=none:kind=quick)", {"127.0.0.2"})):
            with job_with("tony.worker.instances=2", f"tony.containers.placement-spec={spec}") as job:
                must(all_run(job) == hosts, spec, status(job))
        with job_with("tony.ps.instances=1", "tony.worker.instances=2", "tony.ps.allocation-tags=ps",
                      "tony.ps.placement-spec=kind=quick", "tony.worker.placement-spec=in,node,ps") as job:
            must(hosts_by_role(job) == {"ps": {"127.0.0.2"}, "worker": {"127.0.0.2"}}, status(job))
        # The job's constraint holds beside that of the role.
        with job_with("tony.ps.instances=1", "tony.worker.instances=1", "tony.application.placement-spec=kind!=quick",
                      "tony.ps.allocation-tags=ps", "tony.worker.placement-spec=notin,node,other") as job:
            must(hosts_by_role(job) == {"ps": {"localhost"}, "worker": {"localhost"}}, status(job))
        must_fit = "cardinality,node,train,0,1"  # two on each node, because 0 or 1 may be there before
        with job_with("tony.worker.instances=4", f"tony.worker.placement-spec={must_fit}",
                      "tony.worker.allocation-tags=train") as job:
            all_run(job)
            on = [task["host"] for task in status(job)["tasks"]]
            must(all(on.count(host) == 2 for host in BOTH), on)


def a_restarted_worker_returns_to_a_node_that_its_constraint_allows(handler="scheduler"):
    """The AM's process is killed, and then a worker: the next AM requests its container with the constraint."""
    with job_with("tony.worker.instances=2", "tony.restart.task.budget=3", *APART) as job:
        must(all_run(job) == BOTH, handler, status(job))
        before = attempts(job)
        epoch = status(job)["epoch"]
        kill_leader(job)
        leads(job, epoch + 1)
        (number, pid) = before["worker:1"]
        os.kill(pid, signal.SIGKILL)
        until(lambda: attempts(job)["worker:1"][0] > number and attempts(job)["worker:1"][1], "the next attempt")
        must(all_run(job) == BOTH, handler, status(job))
        must(attempts(job)["worker:0"] == before["worker:0"] and alive(before["worker:0"][1]), before, attempts(job))


def the_placement_processor_places_containers_too():
    begin_resource_manager({HANDLER: "placement-processor"})
    try:
        a_restarted_worker_returns_to_a_node_that_its_constraint_allows("placement-processor")
        # The processor drops a request after some attempts, and TonY sends it again.
        with job_with("tony.worker.instances=2", "tony.worker.placement-spec=notin,node,first",
                      "tony.worker.allocation-tags=first") as first:
            all_run(first)
            with job_with("tony.worker.instances=1", "tony.worker.placement-spec=notin,node,all/first") as second:
                time.sleep(8)
                must(not any(task["pid"] for task in status(second)["tasks"]), status(second))
                tony("kill", first)
                all_run(second)
    finally:
        begin_resource_manager({HANDLER: "scheduler"})


def a_cluster_that_handles_no_constraints_refuses_them_before_anything_is_uploaded():
    begin_resource_manager({HANDLER: "disabled"})
    try:
        for pair in ("tony.worker.placement-spec=notin,node,a", "tony.worker.allocation-tags=a",
                     "tony.application.placement-spec=os=linux"):
            ran = nothing_is_begun_by("root", *SLEEP, *settings("tony.worker.instances=1", pair))
            refused(ran, 65, 2 * FACTOR, pair.split("=")[0] + ": this cluster places no containers by constraints or "
                    f"tags ({HANDLER}=disabled)")
    finally:
        begin_resource_manager({HANDLER: "scheduler"})
    bad = settings("tony.worker.instances=1", "tony.worker.placement-spec=in,nodes,a")
    ran = nothing_is_begun_by("root", *SLEEP, *bad)
    refused(ran, 65, 2 * FACTOR, 'tony.worker.placement-spec: "in,nodes,a" (from -conf): at character 4: expected node or '
            "rack after in")


def the_fair_scheduler_handles_no_constraints_and_the_verdict_says_so():
    key = "yarn.resourcemanager.scheduler.class"
    usual = site(key)
    begin_resource_manager({key: "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"})
    try:
        client, job = begin(*SLEEP, *settings("tony.worker.instances=1", "tony.yarn.queue=team.fresh", *APART))
        code, text = end(client)
        must(code != 0 and "cannot handle placement constraints" in text, code, text)
    finally:
        begin_resource_manager({key: usual})


TOGETHER = ()
# These scenarios use both nodes, or restart the ResourceManager.
ALONE = (
    a_worker_waits_until_a_node_without_another_worker_is_free,
    tags_and_attributes_select_nodes,
    a_restarted_worker_returns_to_a_node_that_its_constraint_allows,
    the_placement_processor_places_containers_too,
    a_cluster_that_handles_no_constraints_refuses_them_before_anything_is_uploaded,
    the_fair_scheduler_handles_no_constraints_and_the_verdict_says_so,
)
DEFAULT = ()

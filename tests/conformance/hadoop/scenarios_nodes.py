"""Effects of nodes on a job on a real YARN: containers that the job keeps or returns, nodes that it avoids, and nodes
with resources that others lack."""

import os
import pathlib
import signal

from common import (CLUSTER, VERSION, WORK, applications, begin, end, hosts_of, jobs_in_hdfs, must,
                    nothing_is_left_of, parent_of, run, runs, status, submit, tony, until)

GANG = ("-conf", "tony.application.framework=pytorch", "-conf", "tony.application.distributed-mode=GANG")
GPU_NODE = "127.0.0.2"  # this node has four GPUs
DISK_NODE = "localhost"  # this node has 8G of the resource type disk


def started_in(out):
    """Returns the container of each task and attempt, as the tasks have recorded it."""
    return {file.name: file.read_text() for file in out.iterdir()} if out.exists() else {}


def a_restarted_gang_runs_in_the_same_containers():
    """Processes that the first attempt left in the containers are ended before."""
    out = WORK / "kept"
    out.mkdir()
    program = (f"[ $TONY_ATTEMPT = 1 ] || ps -eo args | grep '^sleep 8641[.]' >> {out}.left; "
               f"echo $CONTAINER_ID > {out}/$TASK_INDEX.$TONY_ATTEMPT; trap '' TERM; "
               f"setsid sleep 864$TONY_ATTEMPT.$TASK_INDEX & "
               f"while [ ! -e {out}.$TONY_ATTEMPT.$TASK_INDEX ]; do sleep 0.1; done; [ $TONY_ATTEMPT = 2 ] || exit 3")
    client, job = begin(*GANG, "-executes", program, "-conf", "tony.worker.instances=8", "-conf",
                        "tony.restart.gang.budget=1", "-conf", "tony.task.stop-grace-ms=0",
                        "-conf", "tony.task.background=end")
    until(lambda: len(started_in(out)) == 8, "the gang")
    pathlib.Path(f"{out}.1.5").touch()
    until(lambda: len(started_in(out)) == 16, "the gang again")
    for index in range(8):
        pathlib.Path(f"{out}.2.{index}").touch()
    code, text = end(client)
    must(code == 0, code, text)
    containers = started_in(out)
    must(all(containers[f"{index}.1"] == containers[f"{index}.2"] for index in range(8)), containers)
    must(len(set(containers.values())) == 8, containers)
    left = pathlib.Path(f"{out}.left")
    must(not left.read_text(), "of the first attempts there are left", left.read_text())
    nothing_is_left_of(job)


def executors_of(job):
    """Returns the process of each task's executor."""
    return {task["task"]: parent_of(task["pid"]) for task in status(job)["tasks"] if task["pid"]}


def two_gangs_succeed_after_one_returns_its_containers_to_the_other():
    """A third job, whose queue is below its share, takes GPUs from two gangs. Each of the two gangs then holds
    half of what it needs, until it returns that."""
    words = ("-conf", "tony.worker.instances=2", "-conf", "tony.worker.gpus=1", "-conf", "tony.yarn.gang-hold=3000")
    wait = f"while [ ! -e {WORK}/enough ]; do sleep 0.2; done"
    gangs = [begin(*GANG, *words, "-executes", wait) for _ in range(2)]
    for _, job in gangs:
        until(lambda: len(executors_of(job)) == 2, f"{job} to run")
    third = begin(*words, "-executes", "sleep 600", "-conf", "tony.yarn.queue=ml")
    until(lambda: "waits for 2 of 2 containers" in status(third[1]).get("delay", ""), "the third to wait")
    for _, job in gangs:
        os.kill(executors_of(job)["worker:1"], signal.SIGKILL)
    runs(third[1])
    until(lambda: any(status(job)["state"] == "RUNNING" and status(job)["restart_count"] > 0 for _, job in gangs),
          "one of the two to go on")
    reasons = [restart["reason"] for _, job in gangs for restart in status(job)["restarts"]]
    must(any("got no container for 3.0 s (tony.yarn.gang-hold)" in reason for reason in reasons), reasons)
    must(status(third[1])["state"] == "RUNNING", "the third is there still:", status(third[1]))
    tony("kill", third[1])
    end(third[0])
    (WORK / "enough").touch()
    for client, job in gangs:
        code, text = end(client)
        must(code == 0, job, code, text)
        nothing_is_left_of(job)


def master_log(job):
    return "".join(log.read_text() for log in CLUSTER.glob(f"node?/logs/{job}/*_01_000001/*") if log.is_file())


def a_node_on_which_two_containers_failed_is_avoided_for_10_minutes():
    words = ("-executes", "sleep 1", "-conf", "tony.worker.instances=4", "-conf", "tony.worker.placement=spread")
    must(submit(*words).returncode == 0, "before")
    executors = [file for file in (CLUSTER / "node2").rglob("tony-executor") if file.is_file()]
    must(executors, "node2 has no executor of the first job")
    for file in executors:
        file.chmod(0o644)
    try:
        client, job = begin(*words)
        code, text = end(client)
    finally:
        for file in executors:
            file.chmod(0o755)
    must(code == 0, code, text)
    must(hosts_of(job) == {"localhost"}, status(job))
    reasons = [restart["reason"] for restart in status(job)["restarts"]]
    why = "127.0.0.2 is avoided for 10 minutes, because 2 containers failed there"
    must(any("the node cannot start the executor: exit code 126; " in reason and "Permission denied" in reason
             for reason in reasons), reasons)
    must(any(why in reason for reason in reasons) and why in text, reasons, text)
    must(why in tony("history", job).stdout and why in master_log(job), "history and log")
    nothing_is_left_of(job)


def tasks_that_request_gpus_run_on_the_node_with_gpus():
    ran = submit("-executes", "true", "-conf", "tony.worker.instances=4", "-conf", "tony.worker.gpus=1")
    must(ran.returncode == 0, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    must(hosts_of(job) == {GPU_NODE}, status(job))
    before = applications(), jobs_in_hdfs()
    words = ("-executes", "true", "-conf", "tony.worker.instances=1")
    ran = submit(*words, "-conf", "tony.worker.gpus=5")
    must(ran.returncode == 65, ran.returncode, ran.stdout, ran.stderr)
    must("tony.worker.gpus: 5 GPUs is above 4, the maximum for a container in this cluster" in ran.stderr, ran.stderr)
    must((applications(), jobs_in_hdfs()) == before, "something is left of what was refused")
    gang = submit(*words, *GANG, "-conf", "tony.worker.gpus=4", "-conf", "tony.worker.instances=2", "--detach")
    must("request 8 GPUs; the running nodes have 4" in gang.stderr, gang.stdout, gang.stderr)
    tony("kill", gang.stdout.split()[0])
    must(submit(*words, "-conf", "tony.worker.gpus=4").returncode == 0, "all four")


def tasks_that_request_a_custom_resource_run_on_the_node_that_has_the_resource():
    words = ("-executes", "sleep 600", "-conf", "tony.worker.instances=2", "-conf", "tony.worker.resource.disk=3000M")
    client, job = begin(*words)
    runs(job)
    must(hosts_of(job) == {DISK_NODE}, status(job))
    second, waits = begin("-executes", "true", "-conf", "tony.worker.instances=1", "-conf", "tony.worker.resource.disk=3")
    why = "waits for 1 of 1 container: no node has 3 of disk free: the most on one node is 2G"
    until(lambda: why in status(waits).get("delay", ""), f"{why}: {status(waits).get('delay', '')}")
    tony("kill", job)
    end(client)
    code, text = end(second)
    must(code == 0, code, text)
    alone = submit("-executes", "true", "-conf", "tony.worker.instances=0", "-conf", "tony.am.resource.disk=1")
    must(alone.returncode == 0 and hosts_of(alone.stdout.split()[0]) == {DISK_NODE}, alone.stdout, alone.stderr)


def the_pending_reason_names_a_full_queue_and_its_exhausted_resource():
    """Before Hadoop 3.5, the CapacityScheduler grants nothing more in such a queue, not even the container of an
    application master. Since 3.5 it grants what does not need the exhausted resource."""
    words = ("-executes", "sleep 600", "-conf", "tony.worker.instances=1")
    first, holder = begin(*words, "-conf", "tony.worker.gpus=4")
    runs(holder)
    second, waits = begin(*words)
    if VERSION < (3, 5):
        why = "jobs use all 4 GPUs of the nodes"
        until(lambda: why in status(waits).get("delay", ""), f"{why}: {status(waits).get('delay', '')}")
        must("limit" in status(waits)["delay"] and "default" in status(waits)["delay"], status(waits)["delay"])
        tony("kill", holder)
    runs(waits)
    for client, job in ((first, holder), (second, waits)):
        tony("kill", job)
        end(client)


def the_pending_reason_names_the_missing_gpus():
    words = ("-executes", "sleep 600", "-conf", "tony.worker.instances=1", "-conf", "tony.worker.gpus=3")
    first, holder = begin(*words)
    runs(holder)
    second, waits = begin(*words)
    why = "waits for 1 of 1 container: no node has 3 GPUs free: the most on one node is 1"
    until(lambda: why in status(waits).get("delay", ""), f"{why}: {status(waits).get('delay', '')}")
    for client, job in ((first, holder), (second, waits)):
        tony("kill", job)
        end(client)


TOGETHER = (a_restarted_gang_runs_in_the_same_containers,)
# These scenarios need all GPUs, or break a node.
ALONE = (
    two_gangs_succeed_after_one_returns_its_containers_to_the_other,
    a_node_on_which_two_containers_failed_is_avoided_for_10_minutes,
    tasks_that_request_gpus_run_on_the_node_with_gpus,
    tasks_that_request_a_custom_resource_run_on_the_node_that_has_the_resource,
    the_pending_reason_names_the_missing_gpus,
    the_pending_reason_names_a_full_queue_and_its_exhausted_resource,
)
DEFAULT = ()

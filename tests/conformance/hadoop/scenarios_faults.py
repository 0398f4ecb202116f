"""Daemons of YARN and HDFS die, hang and restart while a job runs. The tasks keep their processes, nothing is decided
that is not stored, and the verdict is right."""

import collections
import importlib
import os
import random
import signal
import time

import scenarios_takeover
from common import (WORK, begin, cluster, end, must, node_of, nodes_run, nothing_is_left_of, parent_of, processes_of,
                    restart, status, until)

importlib.reload(scenarios_takeover)  # so that it uses the folder of this scenario
from scenarios_jobs import begin_resource_manager  # noqa: E402
from scenarios_takeover import alive, attempts, go, kill_leader, leads, masters, start, succeeds_unchanged  # noqa: E402

STORM = float(os.environ.get("TONY_STORM", "60"))  # seconds
WITHOUT_HDFS = float(os.environ.get("TONY_HADOOP_OUTAGE", "20"))  # seconds


def restart_resource_manager(meanwhile=lambda: None):
    def wait():
        meanwhile()
        time.sleep(3)
    restart("resourcemanager", meanwhile=wait)
    until(nodes_run, "the nodes to register again")


def a_restarted_resource_manager_leaves_the_tasks_running():
    client, job, before = start()
    restart_resource_manager()
    leads(job, 1001)
    succeeds_unchanged(client, job, before)


def tasks_survive_the_death_of_the_am_process_while_the_resource_manager_is_down():
    client, job, before = start()
    restart_resource_manager(lambda: kill_leader(job))
    leads(job, 1002)
    succeeds_unchanged(client, job, before)


def tasks_survive_the_death_of_the_am_container_while_the_resource_manager_is_down():
    client, job, before = start()
    time.sleep(2.5)
    restart_resource_manager(lambda: os.kill(masters(job)[0], signal.SIGKILL))
    leads(job, 2001)
    succeeds_unchanged(client, job, before)


def tasks_survive_restarts_of_the_node_managers_and_deaths_of_the_am_process():
    client, job, before = start()
    for number, node in enumerate(("node1", "node2"), 2):
        restart(node)
        kill_leader(job)
        leads(job, 1000 + number)
    until(nodes_run, "the nodes to register again")
    succeeds_unchanged(client, job, before)


def an_hdfs_outage_stops_no_task_and_delays_the_restart_of_a_failed_task():
    """A task fails during the outage. Its next attempt starts when the failure is stored, and only once."""
    fails = f"[ $TASK_INDEX != 0 ] || [ $TONY_ATTEMPT != 1 ] || {{ until [ -e {WORK}/fail ]; do sleep 0.1; done; exit 1; }}"
    client, job = begin("-executes", f"{fails}; while [ ! -e {WORK}/go ]; do sleep 0.1; done", "-conf", "tony.worker.instances=3",
                        "-conf", "tony.restart.task.budget=1", "-conf", "tony.restart.scope=task",
                        "-conf", "tony.application.framework=standalone", "-conf", "tony.application.distributed-mode=FCFS")
    until(lambda: len(attempts(job)) == 3 and all(pid for _, pid in attempts(job).values()), "three tasks")
    before = attempts(job)
    cluster("kill", "namenode", "STOP")
    try:
        (WORK / "fail").touch()
        time.sleep(WITHOUT_HDFS)
        must(all(alive(pid) for task, (_, pid) in before.items() if task != "worker:0"), "a task has ended")
    finally:
        cluster("kill", "namenode", "CONT")
    until(lambda: attempts(job)["worker:0"][0] == 2 and attempts(job)["worker:0"][1], "the second attempt of worker:0")
    after = attempts(job)
    must({**after, "worker:0": None} == {**before, "worker:0": None}, before, after)
    go()
    code, text = end(client)
    must(code == 0, code, text)
    must(status(job)["restart_count"] == 1, status(job))
    nothing_is_left_of(job)


def tasks_survive_the_death_of_the_am_process_while_hdfs_hangs():
    """The next process leads when HDFS is back. An executor that reaches neither its AM nor HDFS stops its task after
    tony.task.cutoff-after-ms, 30 s."""
    client, job, before = start()
    cluster("kill", "namenode", "STOP")
    try:
        kill_leader(job)
        time.sleep(12)
        must(all(alive(pid) for _, pid in before.values()), "a task has ended")
    finally:
        cluster("kill", "namenode", "CONT")
    leads(job, 1002)
    succeeds_unchanged(client, job, before)


def a_hung_am_process_is_replaced_while_the_tasks_keep_running():
    """The supervisor ends the process after 15 s, unless the ResourceManager gives up the attempt before."""
    client, job, before = start()
    os.kill(until(lambda: masters(job)[1], "an AM process"), signal.SIGSTOP)
    leads(job, 1002)
    until(lambda: attempts(job) == before, "the tasks to be heard again")
    succeeds_unchanged(client, job, before)


def a_replaced_am_that_wakes_up_writes_nothing_and_exits():
    """The AM and the NodeManager of its node are stopped until another node runs the next AM. The old AM finds its journal
    sealed. The tasks on the lost node run on, because they reach the new AM."""
    client, job, before = start()
    time.sleep(2.5)
    supervisor, leader = masters(job)
    node = node_of(leader)
    for pid in (node, supervisor, leader):
        os.kill(pid, signal.SIGSTOP)
    try:
        leads(job, 2001)
        for pid in (supervisor, leader):
            os.kill(pid, signal.SIGCONT)
        until(lambda: not alive(leader) and not alive(supervisor), "the old AM to exit")
        must(status(job)["epoch"] == 2001, status(job))
        succeeds_unchanged(client, job, before)
    finally:
        os.kill(node, signal.SIGCONT)
    until(nodes_run, "the node to register again")


def changed_token_keys_do_not_disturb_a_job():
    """The keys of all tokens change three times in 100 s. After that another AM process leads, and a task gets a new
    container."""
    client, job, before = start("-conf", "tony.restart.task.budget=1", "-conf", "tony.restart.scope=task")
    time.sleep(50)
    kill_leader(job)
    time.sleep(50)
    leads(job, 1002)
    must(attempts(job) == before, before, attempts(job))
    executor = parent_of(before["worker:0"][1])
    os.kill(executor, signal.SIGKILL)
    until(lambda: attempts(job)["worker:0"][0] == 2 and attempts(job)["worker:0"][1], "the second attempt of worker:0")
    go()
    code, text = end(client)
    must(code == 0, code, text)
    nothing_is_left_of(job)


def a_preempted_task_is_notified_and_restarts_without_using_its_restart_budget():
    """A job fills the cluster from the queue default. Another job requests what belongs to the queue ml."""
    monitor = "yarn.resourcemanager.scheduler.monitor.enable"
    begin_resource_manager({monitor: "true"})
    try:
        preempt_a_task()
    finally:
        begin_resource_manager({monitor: "false"})


def preempt_a_task():
    notice = f"trap 'cp $TONY_NOTICE_FILE {WORK}/notice; exit 1' TERM; while [ ! -e {WORK}/go ]; do sleep 0.1; done"
    client, job = begin("-executes", notice, "-conf", "tony.worker.instances=3", "-conf", "tony.worker.memory=8000m",
                        "-conf", "tony.restart.scope=task")
    until(lambda: len(attempts(job)) == 3 and all(pid for _, pid in attempts(job).values()), "three tasks")
    both = f"touch {WORK}/other$TASK_INDEX; until [ -e {WORK}/other0 ] && [ -e {WORK}/other1 ]; do sleep 0.1; done"
    other, second = begin("-executes", both, "-conf", "tony.worker.instances=2", "-conf", "tony.worker.memory=7000m",
                          "-conf", "tony.yarn.queue=ml")
    code, text = end(other)
    must(code == 0, code, text)
    until(lambda: any(number > 1 and pid for number, pid in attempts(job).values()), "the next attempt of the preempted task")
    go()
    code, text = end(client)
    must(code == 0, code, text)
    restarts = status(job)["restarts"]
    must(restarts and not any(one["charged"] for one in restarts), restarts)
    must("preempt" in (WORK / "notice").read_text(), (WORK / "notice").read_text())
    nothing_is_left_of(job)
    nothing_is_left_of(second)


def a_job_succeeds_although_its_masters_executors_and_nodes_die_repeatedly():
    """Every few seconds an AM process, an AM container, an executor, a NodeManager or the ResourceManager dies."""
    seed = int(os.environ.get("TONY_STORM_SEED", random.randrange(10**6)))
    chance, kills = random.Random(seed), collections.Counter()
    client, job, _ = start("-conf", "tony.restart.lost.budget=10000", "-conf", "tony.restart.scope=task", tasks=4)
    until_time = time.monotonic() + STORM
    container_after = 0.0
    while time.monotonic() < until_time:
        time.sleep(chance.uniform(1, 5))
        victim = chance.choices(("process", "container", "executor", "node", "manager"), (40, 10, 20, 15, 15))[0]
        supervisor, leader = masters(job)
        if victim == "process" and leader:
            os.kill(leader, signal.SIGKILL)
        elif victim == "container" and supervisor and time.monotonic() > container_after:
            # YARN ends a job if it sees two AM containers end within tony.yarn.am-validity-interval, 10 s.
            next_attempt = status(job)["epoch"] // 1000 + 1
            os.kill(supervisor, signal.SIGKILL)
            leads(job, 1000 * next_attempt + 1)
            container_after = time.monotonic() + 15
        elif victim == "executor":
            executors = [pid for pid, words in processes_of(job).items() if "tony-executor" in words]
            if not executors:
                continue
            os.kill(chance.choice(executors), signal.SIGKILL)
        elif victim == "node":
            restart(chance.choice(("node1", "node2")), meanwhile=lambda: time.sleep(1))
        elif victim == "manager":
            restart_resource_manager()
        else:
            continue
        kills[victim] += 1
    print(f"     seed {seed}: {dict(kills)}", flush=True)
    until(lambda: all(pid and alive(pid) for _, pid in attempts(job).values()), "all tasks to run")
    go()
    code, text = end(client)
    must(code == 0, f"seed {seed}:", code, text)
    nothing_is_left_of(job)


TOGETHER = [changed_token_keys_do_not_disturb_a_job]
ALONE = [a_preempted_task_is_notified_and_restarts_without_using_its_restart_budget,
         a_restarted_resource_manager_leaves_the_tasks_running,
         tasks_survive_the_death_of_the_am_process_while_the_resource_manager_is_down,
         tasks_survive_the_death_of_the_am_container_while_the_resource_manager_is_down,
         tasks_survive_restarts_of_the_node_managers_and_deaths_of_the_am_process,
         an_hdfs_outage_stops_no_task_and_delays_the_restart_of_a_failed_task,
         tasks_survive_the_death_of_the_am_process_while_hdfs_hangs,
         a_hung_am_process_is_replaced_while_the_tasks_keep_running,
         a_replaced_am_that_wakes_up_writes_nothing_and_exits,
         a_job_succeeds_although_its_masters_executors_and_nodes_die_repeatedly]
DEFAULT = []

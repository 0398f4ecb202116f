"""The application master (AM) of a job on a real YARN dies or hangs, and the tasks do not notice: another process in its
container, or another attempt, leads the job with the same containers."""

import json
import os
import signal
import time

from common import (WORK, application, begin, cluster, end, hdfs, must, nothing_is_left_of, parent_of,
                    processes_of, runs, status, until)

WAIT = f"while [ ! -e {WORK}/go ]; do sleep 0.1; done"


def go():
    (WORK / "go").touch()


def masters(job):
    """Returns the supervisor of the AM and the process that leads the job; None if there is none at this moment."""
    found = {pid for pid, words in processes_of(job).items() if words.startswith("./tony-am/loader")}
    children = [pid for pid in found if alive(pid) and parent_of(pid) in found]
    supervisors = [pid for pid in found if pid not in children]
    return (supervisors or [None])[0], (children or [None])[0]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def attempts(job):
    return {task["task"]: (task["attempt"], task["pid"]) for task in status(job)["tasks"]}


def start(*words, tasks=3):
    client, job = begin("-executes", WAIT, "-conf", f"tony.worker.instances={tasks}", *words)
    until(lambda: all(pid for _, pid in attempts(job).values()), f"{tasks} tasks of {job}")
    return client, job, attempts(job)


def kill_leader(job):
    leader = until(lambda: masters(job)[1], f"an AM process of {job}")
    os.kill(leader, signal.SIGKILL)
    until(lambda: not alive(leader), "its death")


def leads(job, epoch):
    until(lambda: status(job).get("am_reachable") and status(job)["epoch"] >= epoch, f"epoch {epoch} of {job}")


def succeeds_unchanged(client, job, before):
    """The tasks are the same processes, and the job ends well."""
    must(attempts(job) == before, before, attempts(job))
    must(all(alive(pid) for _, pid in before.values()), before)
    go()
    code, text = end(client)
    must(code == 0, code, text)
    told = status(job)
    must(told["restart_count"] == 0, told)
    nothing_is_left_of(job)


def three_killed_am_processes_in_a_row_leave_the_tasks_running():
    client, job, before = start()
    for number in range(1, 4):
        leads(job, 1000 + number)
        kill_leader(job)
    leads(job, 1004)
    must(application(job)["state"] == "RUNNING" and status(job)["epoch"] < 2000, application(job), status(job))
    succeeds_unchanged(client, job, before)


def twenty_killed_am_processes_in_a_minute_leave_the_tasks_running():
    client, job, before = start()
    began = time.monotonic()
    for number in range(20):
        kill_leader(job)
        time.sleep(max(0, began + 3 * (number + 1) - time.monotonic()))
    leads(job, 1021)
    succeeds_unchanged(client, job, before)


def a_killed_am_container_leaves_the_tasks_running():
    """The containers are older than a heartbeat of their nodes: the ResourceManager ends younger ones."""
    client, job, before = start()
    time.sleep(2.5)
    supervisor, _ = masters(job)
    os.kill(supervisor, signal.SIGKILL)
    leads(job, 2001)
    until(lambda: attempts(job) == before and not any(task.get("suspect") for task in status(job)["tasks"]),
          "the tasks to be heard again")
    succeeds_unchanged(client, job, before)


def a_job_fails_after_five_am_processes_died_before_leading():
    """No AM process can lead while the ResourceManager is stopped."""
    client, job, _ = start()
    cluster("kill", "resourcemanager", "STOP")
    try:
        for _ in range(6):
            kill_leader(job)
    finally:
        cluster("kill", "resourcemanager", "CONT")
    code, text = end(client)
    must(code == 1 and "died 5 times before it could lead the job" in text, code, text)
    nothing_is_left_of(job)


def records_of_journal(job):
    """Returns the folder of the newest journal records, and their names."""
    folder = f"/user/root/.tony/jobs/{job}/journal/1001/from-1"
    told = json.loads(hdfs("GET", folder, op="GETXATTRS", encoding="hex"))["XAttrs"]
    return folder, sorted(attribute["name"] for attribute in told)


def a_job_fails_if_no_am_can_read_its_journal():
    client, job, _ = start()
    folder, names = records_of_journal(job)
    hdfs("PUT", folder, op="REMOVEXATTR", **{"xattr.name": names[0]})
    kill_leader(job)
    code, text = end(client)
    must(code == 1 and "is missing before this one" in text, code, text)
    must(status(job)["state"] == "FAILED", status(job))
    nothing_is_left_of(job)


ATTRIBUTE = "user.tony.bytes"


def lease_of(job, user="root"):
    """Returns the lease record of a job: its epoch, its AM's address, and the number of its renewals."""
    answer = hdfs("GET", f"/user/{user}/.tony/jobs/{job}/am.lease", user, op="GETXATTRS", encoding="hex")
    attributes = json.loads(answer)["XAttrs"]
    (value,) = [one["value"] for one in attributes if one["name"] == ATTRIBUTE]
    return json.loads(bytes.fromhex(value.removeprefix("0x")))


def the_lease_record_names_the_am_and_is_renewed():
    client, job = begin("-executes", WAIT, "-conf",
                        "tony.worker.instances=3", "-conf", "tony.task.record-fresh-ms=3000")
    runs(job)
    first = lease_of(job)
    must(first["epoch"] == 1001 and first["host"] and first["port"] > 0, first)
    until(lambda: lease_of(job)["renewal"] > first["renewal"], "a renewal")
    go()
    code, text = end(client)
    must(code == 0, code, text)
    nothing_is_left_of(job)


TOGETHER = [the_lease_record_names_the_am_and_is_renewed, three_killed_am_processes_in_a_row_leave_the_tasks_running, a_killed_am_container_leaves_the_tasks_running,
            a_job_fails_if_no_am_can_read_its_journal, twenty_killed_am_processes_in_a_minute_leave_the_tasks_running]
ALONE = [a_job_fails_after_five_am_processes_died_before_leading]
DEFAULT = [three_killed_am_processes_in_a_row_leave_the_tasks_running]

"""Measures on YARN how soon the tasks of a job have an application master (AM) again after a kill of the AM's process, or
of its container, and how soon the client's `status` reaches the new AM. The executors' logs have the times. Also measures
whether training steps are slower while no AM lives."""

import calendar
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import time

TASKS = 8
PROCESS_KILLS, CONTAINER_KILLS = 10, 5
REGISTERED = re.compile(r"^(\S+) tony-executor\S+ info: task \S+ registered$", re.M)
# YARN counts a lost container of the AM for 1 s, so the kills do not add up to YARN's limit of attempts.
VALIDITY = ("-conf", "tony.yarn.am-validity-interval=1000")
PAUSE = 2.5  # seconds between two kills, more than a heartbeat of a node
WINDOWS, WINDOW = 5, 8  # windows with an AM, as many without, and the seconds of each
STEPS = """import sys, time
out = open(sys.argv[1], "w", buffering=1)
while True:
    begin = time.time()
    sum(range(500_000))
    print(begin, time.time() - begin, file=out)
"""


def seconds_of(stamp):
    whole, _, fraction = stamp.partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + fraction)


def masters(cluster):
    """Returns the supervisor of the AM, and the process that leads the job."""
    found = {}
    for process in cluster.container_processes():
        with contextlib.suppress(OSError):
            if b"/bin/tony-yarn-am" in (process / "cmdline").read_bytes():
                fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
                if fields[0] != "Z":
                    found[int(process.name)] = int(fields[1])
    leaders = [pid for pid, parent in found.items() if parent in found]
    supervisors = [pid for pid in found if pid not in leaders]
    return supervisors[0] if supervisors else None, leaders[0] if leaders else None


def registered_since(logs, begin):
    """Returns the newest registration of each task after `begin`."""
    newest = [[seconds_of(stamp) for stamp in REGISTERED.findall(log.read_text())] for log in logs]
    return [max(times) for times in newest if times and max(times) > begin]


def await_that(fits, limit):
    give_up = time.monotonic() + limit
    while not fits():
        if time.monotonic() > give_up:
            raise TimeoutError(fits.__name__)
        time.sleep(0.02)


def status(tony, job):
    ran = subprocess.run([tony.program, "status", "--json", job], env=tony.env, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def kill(cluster, tony, job, logs, container):
    """Kills the AM's process or its supervisor; returns the seconds until the last task is registered, and until the
    client reaches the new AM."""
    epoch = status(tony, job)["epoch"]
    supervisor, leader = masters(cluster)
    begin = time.time()
    os.kill(supervisor if container else leader, signal.SIGKILL)

    def reached():
        told = status(tony, job)
        return told["am_reachable"] and told["epoch"] > epoch
    await_that(reached, 60)
    news = time.time() - begin

    def all_registered():
        return len(registered_since(logs, begin)) == TASKS
    await_that(all_registered, 60)
    return max(registered_since(logs, begin)) - begin, news


def rows(cluster, tony):
    client = subprocess.Popen([*tony.submit(TASKS, "sleep 600"), *VALIDITY], env=tony.env, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    job = client.stdout.readline().strip()
    try:
        def all_run():
            return sum(task["pid"] > 0 for task in status(tony, job)["tasks"]) == TASKS
        await_that(all_run, 120)
        logs = list(pathlib.Path(cluster.folder).glob(f"node?/logs/{job}/*/executor.log"))
        load = os.getloadavg()[0]
        yield f"| kills of the AM of a job of {TASKS} tasks, load {load:.1f} | median | best | worst | aim |"
        yield "|---|---|---|---|---|"
        for name, container, kills, aim in (("process", False, PROCESS_KILLS, 0.5), ("container", True, CONTAINER_KILLS, 3)):
            seen = []
            for _ in range(kills):
                time.sleep(PAUSE)
                seen.append(kill(cluster, tony, job, logs, container))
            for what, at, wanted in (("all tasks have an AM again", 0, aim), ("a client has reached it", 1, aim + 2)):
                times = [one[at] for one in seen]
                yield (f"| {name} killed {kills} times: {what}, s | {statistics.median(times):.2f} | {min(times):.2f} | "
                       f"{max(times):.2f} | {wanted} |")
    finally:
        subprocess.run([tony.program, "kill", job], env=tony.env, check=False, capture_output=True)
        client.communicate()


def window():
    begin = time.time()
    time.sleep(WINDOW)
    return begin, time.time()


def without_am(cluster, tony, job):
    """Kills the AM's process while its supervisor is stopped. Returns the time without an AM, after which the supervisor
    has started another process."""
    epoch = status(tony, job)["epoch"]
    supervisor, leader = masters(cluster)
    os.kill(supervisor, signal.SIGSTOP)
    try:
        os.kill(leader, signal.SIGKILL)
        seen = window()
    finally:
        os.kill(supervisor, signal.SIGCONT)

    def reached():
        told = status(tony, job)
        return told["am_reachable"] and told["epoch"] > epoch
    await_that(reached, 60)
    return seen


def step_rows(cluster, tony):
    """Compares the steps of two tasks in windows with and without an AM, one after the other in the same job."""
    folder = pathlib.Path(cluster.folder) / "steps"
    folder.mkdir()
    (folder / "steps.py").write_text(STEPS)
    client = subprocess.Popen(tony.submit(2, f"python3 {folder}/steps.py {folder}/$TASK_INDEX"), env=tony.env,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    job = client.stdout.readline().strip()
    try:
        def both_train():
            return len(list(folder.glob("[01]"))) == 2
        await_that(both_train, 120)
        windows = {"an AM leads": [], "no AM lives": []}
        for _ in range(WINDOWS):
            time.sleep(PAUSE)
            windows["an AM leads"].append(window())
            windows["no AM lives"].append(without_am(cluster, tony, job))
        steps = [tuple(map(float, line.split())) for task in "01" for line in (folder / task).read_text().splitlines()
                 if line.count(" ") == 1]
        yield f"| steps of two tasks in {WINDOWS} windows of {WINDOW} s, load {os.getloadavg()[0]:.1f} | steps | median, ms | 99th percentile, ms |"
        yield "|---|---|---|---|"
        for name, times in windows.items():
            took = sorted(1000 * step for at, step in steps if any(begin <= at < end for begin, end in times))
            yield f"| {name} | {len(took)} | {statistics.median(took):.2f} | {took[len(took) * 99 // 100]:.2f} |"
    finally:
        subprocess.run([tony.program, "kill", job], env=tony.env, check=False, capture_output=True)
        client.communicate()

"""A long job of a proxy user on a cluster with Kerberos, two ResourceManagers and two NameNodes, whose tokens end soon
(TONY_HADOOP_TOKEN_LIFE_S). The job lives ten times as long as any of its tokens."""

import importlib
import os
import signal
import statistics
import subprocess
import time

import common
import scenarios_ha
import scenarios_kerberos
import scenarios_takeover
import scenarios_tokens
from common import CLUSTER, PROGRAMS, WORK, begin, end, environment, must, site, status, ticket_of, tony, until

for module in (scenarios_takeover, scenarios_ha, scenarios_kerberos, scenarios_tokens):
    importlib.reload(module)  # so that they use the folder of this scenario
from scenarios_ha import fail_over, restored  # noqa: E402
from scenarios_kerberos import NAME_NODE, USE_TOKEN, succeeds  # noqa: E402
from scenarios_takeover import alive, attempts, go, kill_leader, leads, masters  # noqa: E402
from scenarios_tokens import LONGEST, all_run, forget_programs, kill_executor, left  # noqa: E402

LIFE = int(site("dfs.namenode.delegation.token.renew-interval")) / 1000  # seconds
SECOND_NAME_NODE = site("dfs.namenode.http-address.pair.nn2")
# Lists a folder of HDFS every two seconds, and notes when that fails with each NameNode.
TRAIN = f"""
import os, pathlib, time
ways = {[USE_TOKEN, USE_TOKEN.replace(NAME_NODE, SECOND_NAME_NODE)]!r}
notes = open("{WORK}/failed-" + os.environ["TONY_TASK"], "a")
def lists():
    for way in ways:
        try:
            exec(way, {{}})
            return True
        except Exception as why:
            error = why
    print(time.time(), error, file=notes, flush=True)
while not os.path.exists("{WORK}/go"):
    lists()
    time.sleep(2)
raise SystemExit(0 if lists() else "no HDFS at the end")
"""


def push(times):
    ran = tony("credentials", "push", "--json", times.job)
    succeeds(ran)
    times.pushes.append(ran.seconds)


class Times:
    """Parts of the time in which tasks may fail to reach HDFS, and how long pushes took."""

    def __init__(self, job):
        self.job, self.outages, self.pushes = job, [], []

    def during(self, action):
        began = time.time()
        action()
        self.outages.append((began - 1, time.time() + 5))

    def check(self):
        for file in WORK.glob("failed-*"):
            for line in file.read_text(encoding="utf-8").splitlines():
                when = float(line.split()[0])
                must(any(begin <= when <= end for begin, end in self.outages), file.name, line, self.outages)


def pushes_for(times, seconds):
    """Pushes tokens as cron does, while no client follows the job."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        push(times)
        time.sleep(LIFE / 3)


def push_through_hdfs(times):
    """Pushes while the AM is stopped, so that the tokens become a record in HDFS."""
    leader = masters(times.job)[1]
    os.kill(leader, signal.SIGSTOP)
    try:
        push(times)
    finally:
        os.kill(leader, signal.SIGCONT)


def places_of(secret):
    """Returns the files of nodes and HDFS that contain these bytes."""
    return [file for folder in CLUSTER.glob("*node*") for file in folder.rglob("*")
            if file.is_file() and secret in file.read_bytes()]


def wait_until_tokens_have_ended(job):
    time.sleep(max(0, left(job)) + 1)


@restored
def a_proxy_users_job_lives_ten_times_as_long_as_its_tokens():
    common.acting.update(ticket_of("gateway"), HADOOP_PROXY_USER="eve")
    program = WORK / "train.py"
    program.write_text(TRAIN, encoding="utf-8")
    began = time.monotonic()

    def until_life(number):
        """Waits until this many longest lives of a token have passed."""
        time.sleep(max(0, began + number * LONGEST - time.monotonic()))

    client, job = begin("-executes", f"python3 {program}", "-conf", "tony.worker.instances=2")
    before, times = all_run(job), Times(job)
    until_life(1.5)
    kill_leader(job)
    leads(job, 1002)
    until_life(2.5)
    times.during(lambda: fail_over("namenode", lambda: kill_leader(job)))
    leads(job, 1003)
    until_life(3.5)
    kill_executor(job)
    until(lambda: attempts(job)["worker:1"][1] not in (0, before["worker:1"][1]), "another container of worker:1")
    before = attempts(job)
    until_life(4.5)
    fail_over("resourcemanager")
    until_life(5.5)
    forget_programs()
    os.kill(masters(job)[0], signal.SIGKILL)
    leads(job, 2001)
    until_life(6)
    client.send_signal(signal.SIGKILL)
    client.communicate()
    push_through_hdfs(times)
    pushes_for(times, LONGEST)
    kill_leader(job)
    leads(job, 2002)
    push(times)
    ended = time.time() + left(job)
    wait_until_tokens_have_ended(job)
    kill_leader(job)
    until(lambda: masters(job)[1], "another AM process")
    time.sleep(5)
    must(not status(job).get("am_reachable"), status(job))
    must(all(alive(pid) for _, pid in before.values()), "a task has ended")
    follower = subprocess.Popen([PROGRAMS / "tony", "wait", job], env=environment(), text=True, cwd=WORK,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    leads(job, 2003)
    times.outages.append((ended - LIFE / 2, time.time() + 15))
    until_life(10)
    must(left(job) > 0 and attempts(job) == before, before, status(job))
    keytab = (CLUSTER / "kdc/gateway.keytab").read_bytes()
    must(not places_of(keytab[-16:]), "a key of the keytab is in", places_of(keytab[-16:]))
    go()
    code, text = end(follower)
    must(code == 0, code, text)
    times.check()
    print(f"{time.monotonic() - began:.0f} s; {len(times.pushes)} pushes by hand took "
          f"{statistics.median(times.pushes) * 1000:.0f} ms (median), {max(times.pushes) * 1000:.0f} ms (slowest)")


TOGETHER = []
ALONE = [a_proxy_users_job_lives_ten_times_as_long_as_its_tokens]
DEFAULT = []

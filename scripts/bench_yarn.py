"""Measures time, CPU and memory of jobs on a YARN cluster of its own, beside YARN's distributed shell. Then measures
TonY on a tuned cluster, whose nodes send ten heartbeats a second, and many executors over TLS without a cluster.

Time and CPU come from runs without a memory measurement. CPU is the sum of the client (wait4) and of the ended children
of the two NodeManagers (cutime and cstime of /proc/PID/stat, in ticks of 10 ms). It includes all processes of a
container, because a child of the NodeManager waits for them, but not the NodeManagers themselves. On both sides it also
includes the processes that a NodeManager starts for a program: its helper that forks, shells, and a chmod for each file
if Hadoop's native library is missing.
Memory comes from separate runs, in which bench_processes.py samples the client and all processes in the cluster's
containers: the peak of the sum.
"""

import contextlib
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import bench_processes
import bench_restarts
import bench_scale
import bench_takeover

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLUSTER = ROOT / "tests/conformance/hadoop/cluster"
CONFORMANCE = ROOT / "build/conformance"
VERSION = "3.4.3"
SHELL_VERSION = "3.4.2"  # the newest in Maven; works with the daemons of 3.4.3
SHELL = "org.apache.hadoop.yarn.applications.distributedshell"
WORK = ("sleep", "0.02")
LIMIT = 180  # seconds, for one job
TICK = os.sysconf("SC_CLK_TCK")
LOOKED_AT = 2  # runs of each for memory
TUNED = {"TONY_HADOOP_HEARTBEAT_MS": "100"}
SECURE = {"TONY_HADOOP_KERBEROS": "1", "TONY_HADOOP_HTTPS": "1", "TONY_HADOOP_RPC_PROTECTION": "privacy"}


def fetch_shell():
    """Downloads YARN's distributed shell, which the daemons do not need."""
    folder = CONFORMANCE / "distributedshell"
    jar = folder / f"hadoop-yarn-applications-distributedshell-{SHELL_VERSION}.jar"
    if not jar.exists():
        subprocess.run(
            ["mvn", "-B", "-q", f"-Dmaven.repo.local={CONFORMANCE / 'maven'}", "dependency:copy",
             f"-Dartifact=org.apache.hadoop:hadoop-yarn-applications-distributedshell:{SHELL_VERSION}",
             f"-DoutputDirectory={folder}"],
            check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return jar


class Cluster:
    """A YARN cluster. It ends with this process at the latest."""

    def __init__(self, folder, variables):
        self.folder = pathlib.Path(folder)
        self.conf = self.folder / "conf"
        self.env = dict(os.environ, **variables)

    def __enter__(self):
        subprocess.run([CLUSTER, "start", self.folder, VERSION, str(os.getpid())], env=self.env, check=True, stdout=sys.stderr)
        return self

    def __exit__(self, *_):
        subprocess.run([CLUSTER, "stop", self.folder], check=True)

    def setting(self, site, key):
        text = (self.conf / f"{site}-site.xml").read_text()
        return re.search(f"<name>{re.escape(key)}</name><value>(.*?)</value>", text)[1]

    def containers_cpu(self):
        """Returns CPU seconds of the ended children of the NodeManagers."""
        ticks = 0
        for node in ("node1", "node2"):
            pid = (self.folder / "pid" / node).read_text().split()[0]
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[13]) + int(fields[14])  # cutime, cstime
        return ticks / TICK

    def is_in_container(self, process):
        """Returns true if the process belongs to a container, whose folder is in its command or environment."""
        with contextlib.suppress(OSError):
            text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            return re.search(rb"%s/node[12]/(local|logs)/" % os.fsencode(self.folder), text) is not None
        return False

    def container_processes(self):
        return [process for process in bench_processes.everybody() if self.is_in_container(process)]

    def is_idle(self):
        """Waits until all applications and their processes have ended, so that the NodeManagers have counted them."""
        url = f"http://{self.setting('yarn', 'yarn.resourcemanager.webapp.address')}/ws/v1/cluster/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            metrics = answer.read()
        return all(b'"%s":0,' % name in metrics for name in (b"appsRunning", b"appsPending", b"containersAllocated")) and not self.container_processes()

    def await_idle(self):
        give_up = time.monotonic() + LIMIT
        while not self.is_idle():
            if time.monotonic() > give_up:
                raise TimeoutError("containers still run")
            time.sleep(0.2)


class Tony:
    def __init__(self, programs, cluster, home):
        self.program, self.home = programs / "tony", home
        self.env = dict(os.environ, TONY_HOME=home, HOME=home, HADOOP_CONF_DIR=str(cluster.conf), HADOOP_USER_NAME="root")
        kdc = cluster.folder / "kdc"
        if kdc.exists():
            self.env.update(KRB5_CONFIG=str(kdc / "krb5.conf"), KRB5CCNAME=str(kdc / "cache"))

    def command(self, tasks):
        return self.submit(tasks, " ".join(WORK))

    def submit(self, tasks, work):
        return [
            str(self.program), "submit", "-executes", work, "-conf", "tony.scheduler=yarn",
            "-conf", "tony.application.framework=pytorch", "-conf", f"tony.worker.instances={tasks}",
            "-conf", "tony.worker.memory=128m", "-conf", "tony.am.memory=256m",
        ]  # fmt: skip


class DistributedShell:
    """YARN's example of a client and an AM in Java: without a barrier, and each container runs one shell command."""

    def __init__(self, cluster, home):
        self.jar = fetch_shell()
        jars = CONFORMANCE / f"hadoop-{VERSION}/jars"
        self.conf = pathlib.Path(home) / "conf"
        self.conf.mkdir()
        for file in cluster.conf.iterdir():
            (self.conf / file.name).write_text(file.read_text())
        site = self.conf / "yarn-site.xml"
        classes = f"<property><name>yarn.application.classpath</name><value>{self.conf},{jars}/*</value></property>\n"
        site.write_text(site.read_text().replace("</configuration>", classes + "</configuration>"))
        self.classpath = f"{self.conf}:{jars}/*:{self.jar}"
        self.env = dict(os.environ, HADOOP_USER_NAME="root")

    def command(self, tasks):
        return [
            "java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
            "-cp", self.classpath, f"{SHELL}.Client", "-jar", str(self.jar), "-shell_command", " ".join(WORK),
            "-num_containers", str(tasks), "-container_memory", "128", "-master_memory", "256",
        ]  # fmt: skip


# The end of each part of a job's life, as a line in the logs of the ResourceManager and of the nodes. "{master}" is the
# AM's container, "{task}" any other container of the job. The last of several lines counts. The parts follow each other
# only if the job starts all granted containers; the distributed shell requests more.
PARTS = (
    ("client: look at the cluster, send files, write records, submit", r"{application} State change from NEW to NEW_SAVING"),
    ("a node's heartbeat: the master's container is granted", r"{attempt} State change from SCHEDULED to ALLOCATED_SAVING"),
    ("YARN: store that, start the container", r"launchContainer: .*{master}"),
    ("master: start, read its records, register", r"{attempt} State change from LAUNCHED to RUNNING"),
    ("heartbeats: the last container is granted, and fetched", r"{task} Container Transitioned from ALLOCATED to ACQUIRED"),
    ("YARN: start containers", r"launchContainer: .*{task}"),
    ("executors and tasks, to the end of the last container", r"{task} Container Transitioned from (RUNNING|ACQUIRED) to COMPLETED"),
    ("master: hear of it, write the verdict, unregister", r"{attempt} State change from RUNNING to FINAL_SAVING"),
    ("YARN: store the end", r"{application} State change from FINAL_SAVING to FINISHING"),
)
LAST_PART = "to the client's exit"


def parts_of(cluster, application, began, ended):
    """Returns seconds of each part; None if a line is missing."""
    number = application.removeprefix("application_")
    names = {
        "application": application, "attempt": f"appattempt_{number}_000001", "master": f"container_{number}_01_000001",
        "task": rf"container_{number}_01_(?!000001)\d+",
    }  # fmt: skip
    patterns = [re.compile(pattern.format(**names)) for _, pattern in PARTS]
    marks = [None] * len(PARTS)
    for log in ("resourcemanager", "node1", "node2"):
        for line in (cluster.folder / "log" / log).read_text(errors="replace").splitlines():
            for at, pattern in enumerate(patterns) if number in line else ():
                if pattern.search(line):
                    stamp = time.mktime(time.strptime(line[:19], "%Y-%m-%d %H:%M:%S")) + int(line[20:23]) / 1000
                    marks[at] = max(marks[at] or 0, stamp)
    if None in marks:
        return None
    return [after - before for before, after in zip([began, *marks], [*marks, ended])]


def start(side, tasks, log):
    return subprocess.Popen(side.command(tasks), env=side.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def check(side, tasks, code, log):
    if code != 0:
        log.seek(0)
        sys.exit(f"bench: {type(side).__name__} with {tasks} tasks: exit status {code}\n{log.read()[-2000:].decode(errors='replace')}")


def timed(cluster, side, tasks):
    """Returns wall seconds; CPU seconds of client and containers, and of the client; and the parts of the time."""
    time.sleep(random.random())  # so that runs start at random moments between two heartbeats
    before = cluster.containers_cpu()
    with tempfile.TemporaryFile() as log:
        began, began_at = time.monotonic(), time.time()
        client = start(side, tasks, log)
        timer = threading.Timer(LIMIT, os.kill, (client.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(client.pid, 0)
        took = time.monotonic() - began
        timer.cancel()
        client.returncode = os.waitstatus_to_exitcode(status)
        check(side, tasks, client.returncode, log)
        log.seek(0)
        application = re.search(r"application_\d+_\d+", log.read().decode(errors="replace"))[0]
    cluster.await_idle()
    cpu = usage.ru_utime + usage.ru_stime
    return took, cpu + cluster.containers_cpu() - before, cpu, parts_of(cluster, application, began_at, began_at + took)


def weighed(cluster, side, tasks):
    """Returns the peak memory of client and containers."""
    with tempfile.TemporaryFile() as log:
        client = start(side, tasks, log)
        own = bench_processes.of(client.pid)
        with bench_processes.Memory(lambda process: process == own or cluster.is_in_container(process)) as memory:
            check(side, tasks, client.wait(LIMIT), log)
        cluster.await_idle()
    return memory.most


def cell(values, digits=1):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f})"


def in_turns(sides, sizes, runs, measured):
    found = {(name, tasks): [] for name in sides for tasks in sizes}
    for _ in range(runs):
        for tasks in sizes:
            for name, side in sides.items():
                found[name, tasks].append(measured(side, tasks))
    return found


def rows(what, sides, sizes, values, digits=1):
    for name in sides:
        yield f"| {name}: {what} | " + " | ".join(cell(values[name, tasks], digits) for tasks in sizes) + " |"
    ours, theirs = ([statistics.median(values[name, tasks]) for tasks in sizes] for name in sides)
    yield "| ... the second in times the first | " + " | ".join(f"{b / a:.1f}" for a, b in zip(ours, theirs)) + " |"


def parts_rows(name, sizes, times):
    yield f"| {name}: where the time goes, ms on average | " + " | ".join(map(str, sizes)) + " |"
    yield "|---|" + "---|" * len(sizes)
    seen = {tasks: [parts for *_, parts in times[name, tasks] if parts] for tasks in sizes}
    for at, what in enumerate([*(what for what, _ in PARTS), LAST_PART]):
        cells = [f"{1000 * statistics.mean(run[at] for run in seen[tasks]):.0f}" if seen[tasks] else "?" for tasks in sizes]
        yield f"| {what} | " + " | ".join(cells) + " |"


@contextlib.contextmanager
def on_cluster(programs, variables):
    """Measures jobs on a new cluster."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tony-bench-yarn-", ignore_cleanup_errors=True))
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="tony-bench-home-"))
        cluster = stack.enter_context(Cluster(folder, variables))
        yield cluster, Tony(programs, cluster, home)


def beside_the_shell(programs, sizes, runs):
    with on_cluster(programs, {}) as (cluster, tony):
        sides = {"`tony submit`": tony, "distributed shell": DistributedShell(cluster, tony.home)}
        first = {name: timed(cluster, side, 1) for name, side in sides.items()}  # also uploads the programs
        times = in_turns(sides, sizes, runs, lambda side, tasks: timed(cluster, side, tasks))
        sizes_of = in_turns(sides, sizes, LOOKED_AT, lambda side, tasks: weighed(cluster, side, tasks))
        yield f"| tasks of `{' '.join(WORK)}` on YARN {VERSION}, two nodes | " + " | ".join(map(str, sizes)) + " |"
        yield "|---|" + "---|" * len(sizes)
        for what, found, at, digits, aims in (
            ("start to exit of the client, s", times, 0, 2, {1: 3, 8: 5, 32: 10}),
            ("CPU of client and containers, s", times, 1, 2, {1: 0.6, 8: 1.6, 32: 5.5}),
            ("CPU of the client alone, s", times, 2, 2, {}),
            ("resident, MB", sizes_of, 0, 0, {1: 45, 8: 80, 32: 170}),
            ("PSS, MB", sizes_of, 1, 0, {}),
            ("of that anonymous, MB", sizes_of, 2, 0, {}),
        ):
            yield from rows(what, sides, sizes, {key: [one[at] for one in value] for key, value in found.items()}, digits)
            if aims:
                yield "| ... aim of the first | " + " | ".join(str(aims[tasks]) for tasks in sizes) + " |"
        yield ""
        yield from parts_rows(next(iter(sides)), sizes, times)
        yield ""
        yield "First job on the cluster, one task: " + ", ".join(f"{name} {took:.2f} s" for name, (took, *_) in first.items()) + "."


def tuned(programs, sizes, runs):
    with on_cluster(programs, TUNED) as (cluster, tony):
        timed(cluster, tony, 1)  # uploads the programs
        times = in_turns({"tony": tony}, sizes, runs, lambda side, tasks: timed(cluster, side, tasks)[0])
        gang = max(sizes)
        restarts = []
        for _ in range(runs):
            restarts.append(bench_restarts.restart(tony, gang, "gang", gang, LIMIT))
            cluster.await_idle()
        yield f"| `tony submit` on a tuned cluster (heartbeats of {TUNED['TONY_HADOOP_HEARTBEAT_MS']} ms) | " + " | ".join(map(str, sizes)) + " |"
        yield "|---|" + "---|" * len(sizes)
        yield "| start to exit of the client, s | " + " | ".join(cell(times["tony", tasks], 2) for tasks in sizes) + " |"
        aims = {1: 2.5, 8: 4, 32: 9}
        yield "| ... aim | " + " | ".join(str(aims[tasks]) for tasks in sizes) + " |"
        yield ""
        yield f"Restart of a gang of {gang} in the containers that it has, from the end of the task that fails to the last first instruction: {cell(restarts, 0)} ms (aim: 1000 at {max(aims)})."


def by_tls(bench):
    yield "| without a cluster: by TLS | | aim |"
    yield "|---|---|---|"
    for row in bench_scale.on_one_am(bench / "many_executors", bench / "tls_master", (1000,), 20, LIMIT, "tls"):
        yield "| " + " | ".join(row) + " |"


def takeover(programs):
    with on_cluster(programs, {}) as (cluster, tony):
        timed(cluster, tony, 1)  # uploads the programs
        yield from bench_takeover.rows(cluster, tony)
        yield ""
        yield from bench_takeover.step_rows(cluster, tony)


def untracked(cluster, side, tasks):
    """Returns the seconds of a job, without the questions to the ResourceManager that a ticket would need."""
    time.sleep(random.random())
    with tempfile.TemporaryFile() as log:
        began = time.monotonic()
        code = start(side, tasks, log).wait(LIMIT)
        took = time.monotonic() - began
        check(side, tasks, code, log)
    while cluster.container_processes():
        time.sleep(0.2)
    return took


def secure(programs, sizes, runs):
    with on_cluster(programs, {}) as (plain, tony), on_cluster(programs, SECURE) as (kerberos, secure_tony):
        sides = {"without": (plain, tony), "with": (kerberos, secure_tony)}
        for cluster, side in sides.values():
            untracked(cluster, side, 1)  # uploads the programs
        times = in_turns(sides, sizes, runs, lambda side, tasks: untracked(*side, tasks))
        yield "| `tony submit`, Kerberos with privacy and HTTPS: start to exit of the client, s | " + " | ".join(map(str, sizes)) + " |"
        yield "|---|" + "---|" * len(sizes)
        for name in sides:
            yield f"| {name} | " + " | ".join(cell(times[name, tasks], 2) for tasks in sizes) + " |"
        cost = (statistics.median(times["with", tasks]) - statistics.median(times["without", tasks]) for tasks in sizes)
        yield "| difference of the medians (aim: at most 1) | " + " | ".join(f"{one:.2f}" for one in cost) + " |"


PARTS_OF_YARN = ("shell", "tuned", "takeover", "tls", "secure")


def measure(programs, bench, sizes, runs, only):
    parts = zip(PARTS_OF_YARN, (beside_the_shell(programs, sizes, runs), tuned(programs, sizes, runs),
                                takeover(programs), by_tls(bench), secure(programs, sizes, runs)))
    for name, lines in parts:
        if name in only:
            yield from lines
            yield ""

"""The executor server of this suite: our Java program around Azkaban's own classes, and the flows that run in it."""

import contextlib
import itertools
import json
import pathlib
import re
import signal
import subprocess
import threading
import time

from common import LIMIT, compiled, fetched, wait_for

HERE = pathlib.Path(__file__).resolve().parent
AZKABAN = "3.58.0"
ENDS = ("SUCCEEDED", "FAILED", "KILLED", "CANCELLED")
# Java 16 and later hide from Azkaban the id of the process that it has to end. Its log is in the platform's encoding.
JAVA = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "--add-opens", "java.base/java.lang=ALL-UNNAMED",
        "-Dfile.encoding=UTF-8"]  # fmt: skip
JOB_ID = re.compile(r"\b(local-\d{8}-\d{6}-[0-9a-f]{6}|application_\d+_\d+)\b")


def own_classpath():
    jars = fetched(HERE / "pom.xml", AZKABAN)
    return f"{compiled(HERE / 'java', jars, AZKABAN)}:{jars}/*"


class Executor:
    """A Java virtual machine in which any thread may start flows.

    More arguments, such as user and umask, are those of subprocess.Popen.
    """

    numbers = itertools.count(1)

    def __init__(self, sandbox, home="azkaban", classpath=None, **more):
        self.sandbox = sandbox
        self.home = sandbox.folder / home
        self.home.mkdir(exist_ok=True)
        self.log = self.home / f"executor-{next(self.numbers)}.log"
        self.events, self.told = [], threading.Condition()
        command = [*JAVA, "-cp", classpath or own_classpath(), "level1.Executor", sandbox.jobtypes]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=self.home, stderr=log, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=sandbox.environment(), **more,
            )  # fmt: skip
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.wait_for("Azkaban's start", lambda events: events)

    def _read(self):
        for line in self.process.stdout:
            if not line.startswith(b"{"):
                continue  # a line of the setuid program, which inherits the pipe
            with self.told:
                self.events.append(json.loads(line))
                self.told.notify_all()

    def wait_for(self, what, condition, limit=LIMIT):
        """Waits until the condition returns a true value for the list of all events so far; returns that value."""
        end = time.monotonic() + limit
        with self.told:
            while not (answer := condition(self.events)):
                assert self.process.poll() is None, f"Azkaban has ended: {self.log.read_text()[-2000:]}"
                assert time.monotonic() < end, f"waited {limit} s for {what}; the last events: {self.events[-3:]}"
                self.told.wait(0.5)
        return answer

    def run(self, project, flow, overrides=None, number=None, uuid=None):
        """Starts a flow. project(folder) writes the project there, unless an execution of that number has done so.

        For TonY each start is an execution of its own, with a uuid that Azkaban makes, unless `uuid` is given.
        """
        number = number or next(self.numbers)
        folder = self.home / "executions" / str(number)
        if not folder.exists():
            folder.mkdir(parents=True)
            project(folder)
        self.say({"do": "run", "execution": number, "folder": str(folder), "project": "conformance", "flow": flow,
                  "overrides": (overrides or {}) | ({"azkaban.flow.uuid": uuid} if uuid else {})})  # fmt: skip
        return Execution(self, number, folder)

    def say(self, command):
        with self.told:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()

    def kill(self):
        """Kills the process, as the machine's operator or the kernel without memory would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # the process has exited
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        self.reader.join(10)


class Execution:
    """An execution of a flow."""

    def __init__(self, executor, number, folder):
        self.executor, self.number, self.folder = executor, number, folder

    def event(self, step, *statuses, attempt=None, limit=LIMIT):
        """Returns the first event of a step, or of the flow (None), with one of the statuses."""

        def found(events):
            for event in events:
                if event.get("execution") == self.number:
                    assert event["event"] != "error", event["why"]
                    if event.get("job") == step and event["status"] in statuses:
                        if attempt is None or event["attempt"] == attempt:
                            return event
            return None

        return self.executor.wait_for(f"{step or 'the flow'} to be {statuses}", found, limit)

    def end(self, step=None, attempt=None, limit=LIMIT):
        return self.event(step, *ENDS, attempt=attempt, limit=limit)

    def must(self, status, step=None, attempt=None, limit=LIMIT):
        """Returns the end of a step or of the flow, which must have this status."""
        event = self.end(step, attempt, limit)
        assert event["status"] == status, f"{step or 'the flow'}: {event['status']}, not {status}{self.logs()}"
        return event

    def log(self, step, attempt=0):
        file = self.folder / f"_job.{self.number}.{f'{attempt}.' if attempt else ''}{step}.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def logs(self):
        """Returns the ends of the steps' logs without Java's stack traces, for the reader of a failed check."""
        told = ""
        for log in sorted(self.folder.glob("_job*.log")):
            lines = [line for line in log.read_text().splitlines() if not line.startswith("\t")]
            told += "\n    ".join(["", log.name, *lines[-12:]])
        return told

    def job(self, step, attempt=0):
        """Returns the id of a step's job, which a user reads early in the log."""
        found = wait_for(f"the id of the job of {step}", lambda: JOB_ID.search(self.log(step, attempt)))
        return found.group()

    def running(self, step, attempt=0):
        """Returns the job as soon as its task has written the file STEP.up into the execution's folder."""
        job = self.job(step, attempt)
        wait_for(f"the task of {step}", (self.folder / f"{step}.up").exists)
        assert len(self.executor.sandbox.processes(job)) >= 4  # keeper, application master, executor and task
        return job

    def adapter(self, step):
        """Returns the id of the process of a step."""
        marks = (f"JOB_NAME={step}\0".encode(), f"{self.folder}/".encode())

        def found():
            for pid in children(self.executor.process.pid):
                environment = environment_of(pid)
                if all(mark in environment for mark in marks):
                    return pid
            return None

        return wait_for(f"the process of {step}", found)

    def cancel(self):
        self.executor.say({"do": "cancel", "execution": self.number})

    def let_go(self):
        """Ends tasks that wait for this call."""
        (self.folder / "go").touch()


def children(pid):
    """Returns the ids of a process's children."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has exited
        if int(fields[1]) == pid:
            found.append(int(entry.parent.name))
    return found


def environment_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""  # it has exited


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

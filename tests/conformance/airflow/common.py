"""Helpers that the suites share: a sandbox with a runtime of its own, and checks that report what was running when they
failed."""

import contextlib
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/conformance"))
azkaban = importlib.import_module("azkaban.common")  # checks need it for every engine
rest, tool, wait_for = azkaban.rest, azkaban.tool, azkaban.wait_for

JOB_ENDED = ("SUCCEEDED", "FAILED", "KILLED")
CLUSTER = ROOT / "tests/conformance/hadoop/cluster"  # starts a Hadoop cluster
LIMIT = 120  # seconds; far above any measured time, because test machines are noisy


class Sandbox(azkaban.Sandbox):
    """A folder with a home of Airflow, a home of the runtime, and a ledger.

    Its processes are found and ended as in Azkaban's sandbox: by the folder's name in their environment.
    """

    def __init__(self, bin_folder, python_environment, training, checks):
        self.bin = pathlib.Path(bin_folder).resolve()
        self.python_environment = pathlib.Path(os.path.abspath(python_environment))  # keeps links as links
        self.python = self.python_environment / "bin/python"
        self.training_python = pathlib.Path(os.path.abspath(training)) / "bin/python"
        self.checks_python = pathlib.Path(os.path.abspath(checks)) / "bin/python"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-airflow-"))
        self.home = self.folder / "home"
        self.homes = [self.home]  # one for each machine that Airflow has
        self.variables = {}  # set by a suite
        self.own_variables = {}  # set by a suite, for the checks' own calls of tony
        for name in ("airflow/dags", "airflow/release", "ledger", "conf"):
            (self.folder / name).mkdir(parents=True)
        # No check waits for another check's job.
        (self.folder / "ledger/machine.json").write_text('{"memory_mb":1000000000}')

    def environment(self, **more):
        """Returns the environment of every program here. It lacks $TONY_HOME, which the provider takes from its
        connection."""
        path = f"{self.python_environment}/bin:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "TONY_LEDGER": str(self.folder / "ledger"),
                "TRAINING_PYTHON": str(self.training_python), "TONY_SAMPLES": str(ROOT / "samples"),
                **self.variables, **more}  # fmt: skip

    def connection(self, home, **more):
        """Returns the value of a connection in a worker's environment. `more`: further extra fields."""
        extra = {"cli": str(self.bin / "tony"), "home": str(home), "conf_dir": str(self.folder / "conf"), **more}
        return json.dumps({"conn_type": "tony", "extra": extra})

    def tony(self, *words, fails=False, home=None):
        """Returns the JSON object that a verb prints."""
        environment = self.environment(TONY_HOME=str(home or self.home), TONY_CONF_DIR=str(self.folder / "conf"),
                                       **self.own_variables)  # fmt: skip
        done = subprocess.run([self.bin / "tony", *words, "--json"], env=environment, cwd=self.folder,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT, check=False)  # fmt: skip
        assert fails or done.returncode == 0, f"tony {words}: exit {done.returncode}: {done.stderr.decode()}"
        return json.loads(done.stdout)

    def jobs(self, request_id):
        """Returns the ids of all jobs that were made under a request id, oldest first. They are read from the disk,
        where all jobs remain, or from the cluster."""
        if "HADOOP_CONF_DIR" in self.variables:
            jobs = [job for job in self.all_jobs() if job.get("request_id") == request_id]
            return [job["job"] for job in sorted(jobs, key=lambda job: job["submitted"])]
        found = []
        for file in (file for home in self.homes for file in home.glob("jobs/[!.]*/submission.json")):
            submission = json.loads(file.read_text())
            if submission.get("request_id") == request_id:
                found.append((file.stat().st_mtime_ns, file.parent.name))
        return [job for _, job in sorted(found)]

    def all_jobs(self):
        """Returns the jobs as `tony list` shows them. Unlike `tony status`, `tony list` does not count as client
        activity."""
        return [job for home in self.homes for job in self.tony("list", "--limit", "0", home=home)["jobs"]]

    def close(self):
        """Closes the sandbox as the base class does. Then it removes files that an interrupted check has made meanwhile
        by opening the database."""
        super().close()
        while self.folder.exists():
            shutil.rmtree(self.folder, ignore_errors=True)


def described(pid):
    """Returns a readable name of a process."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        words = "ended meanwhile"
    return f"{pid} ({words[:200]})"


def last_lines(path, count=15):
    """Returns the end of a log, indented."""
    try:
        lines = pathlib.Path(path).read_text(errors="replace").splitlines()[-count:]
    except OSError as error:
        lines = [str(error)]
    return "\n".join(f"    {line[:400]}" for line in lines)


def lines_about(path, words, count=30):
    """Returns the last lines of a log that contain one of the words or report an error, indented."""
    telling = re.compile("|".join([*map(re.escape, words), r"(?i:\berror\b)", r"(Error|Exception)\b"]))
    try:
        lines = [line for line in pathlib.Path(path).read_text(errors="replace").splitlines() if telling.search(line)]
    except OSError as error:
        lines = [str(error)]
    return "\n".join(f"    {line[:400]}" for line in lines[-count:])


class Report(azkaban.Report):
    """Counts and prints the results of checks. For a failed check it also prints what was running."""

    def check(self, suite, function, subject):
        name = f"{suite}: {function.__name__.replace('_', ' ')}"
        subject.begin_check()
        began = time.monotonic()
        if self.guarded(name, function, subject):
            self.add(f"{name} ({time.monotonic() - began:.0f} s)")
        elif not self.interrupted:
            print(subject.last_words(), flush=True)
        subject.end_check()

    def add_unittest(self, suite, text, code):
        """Prints the output of unittest and adds its counts. A run without counts has failed itself."""
        count = re.search(r"^Ran (\d+) tests? in", text, re.MULTILINE)
        # A test may fail in several subtests, and counts once.
        bad = set(re.findall(r"^(?:FAIL|ERROR): (\S+ \(\S+\))", text, re.MULTILINE))
        skipped = re.search(r"skipped=(\d+)", text)
        if code or not count:
            print(text, flush=True)
        for name in sorted(bad) or (["unittest"] if code or not count else []):
            self.add(f"{suite}: {name}", "see above")
        good = int(count[1]) - len(bad) - int(skipped[1] if skipped else 0) if count else 0
        self.passed += good
        print(f"ok {suite}: {good} tests", flush=True)


@contextlib.contextmanager
def sandbox_of(*words):
    """Yields a sandbox, which is removed afterwards."""
    sandbox = Sandbox(*words)
    try:
        yield sandbox
    finally:
        sandbox.close()

"""What the suites have in common: a sandbox with a runtime of its own, and checks that say what was going on."""

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
azkaban = importlib.import_module("azkaban.common")  # what checks need, whichever engine they are about
rest, tool, wait_for = azkaban.rest, azkaban.tool, azkaban.wait_for

JOB_ENDED = ("SUCCEEDED", "FAILED", "KILLED")
CLUSTER = ROOT / "tests/conformance/hadoop/cluster"  # of Hadoop
LIMIT = 120  # seconds, far above what anything here takes: machines that run tests are noisy


class Sandbox(azkaban.Sandbox):
    """A folder with a home of Airflow and of the runtime, and a ledger.

    What runs in it is found and ended as in Azkaban's: by the folder's name in its environment.
    """

    def __init__(self, bin_folder, python_environment, training, checks):
        self.bin = pathlib.Path(bin_folder).resolve()
        self.python_environment = pathlib.Path(os.path.abspath(python_environment))  # links that stay links
        self.python = self.python_environment / "bin/python"
        self.training_python = pathlib.Path(os.path.abspath(training)) / "bin/python"
        self.checks_python = pathlib.Path(os.path.abspath(checks)) / "bin/python"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-airflow-"))
        self.home = self.folder / "home"
        self.homes = [self.home]  # one for each machine that Airflow believes to have
        self.variables = {}  # of a suite
        for name in ("airflow/dags", "airflow/release", "ledger", "conf"):
            (self.folder / name).mkdir(parents=True)
        # No check waits for another's job.
        (self.folder / "ledger/machine.json").write_text('{"memory_mb":1000000000}')

    def environment(self, **more):
        """What every program here gets. $TONY_HOME is not in it: the provider has it from its connection."""
        path = f"{self.python_environment}/bin:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "TONY_LEDGER": str(self.folder / "ledger"),
                "TRAINING_PYTHON": str(self.training_python), "TONY_SAMPLES": str(ROOT / "samples"),
                **self.variables, **more}  # fmt: skip

    def connection(self, home):
        """What a worker finds in its environment as tony_default."""
        extra = {"cli": str(self.bin / "tony"), "home": str(home), "conf_dir": str(self.folder / "conf")}
        return json.dumps({"conn_type": "tony", "extra": extra})

    def tony(self, *words, fails=False, home=None):
        """The one object that a verb prints."""
        environment = self.environment(TONY_HOME=str(home or self.home), TONY_CONF_DIR=str(self.folder / "conf"))
        done = subprocess.run([self.bin / "tony", *words, "--json"], env=environment, cwd=self.folder,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT, check=False)  # fmt: skip
        assert fails or done.returncode == 0, f"tony {words}: exit {done.returncode}: {done.stderr.decode()}"
        return json.loads(done.stdout)

    def jobs(self, request_id):
        """The ids of all jobs that were made under a request id, oldest first. Read from the disk, where all remain, or
        from the cluster."""
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
        """As `tony list` shows them; which is no interest in a job, as `tony status` is."""
        return [job for home in self.homes for job in self.tony("list", "--limit", "0", home=home)["jobs"]]

    def close(self):
        """As there; then what a check that was interrupted has made meanwhile, by a look into the database."""
        super().close()
        while self.folder.exists():
            shutil.rmtree(self.folder, ignore_errors=True)


def described(pid):
    """A process as a person would want to see it named."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        words = "ended meanwhile"
    return f"{pid} ({words[:200]})"


def last_lines(path, count=15):
    """The end of a log, indented."""
    try:
        lines = pathlib.Path(path).read_text(errors="replace").splitlines()[-count:]
    except OSError as error:
        lines = [str(error)]
    return "\n".join(f"    {line[:400]}" for line in lines)


def lines_about(path, words, count=30):
    """The last lines of a log that have one of the words, or tell an error; indented."""
    telling = re.compile("|".join([*map(re.escape, words), r"(?i:\berror\b)", r"(Error|Exception)\b"]))
    try:
        lines = [line for line in pathlib.Path(path).read_text(errors="replace").splitlines() if telling.search(line)]
    except OSError as error:
        lines = [str(error)]
    return "\n".join(f"    {line[:400]}" for line in lines[-count:])


class Report(azkaban.Report):
    """Counts and prints what checks found; of one that failed also what was going on meanwhile."""

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
        """What unittest printed, and its count. A run that says no count is itself what has failed."""
        count = re.search(r"^Ran (\d+) tests? in", text, re.MULTILINE)
        # A test may fail in several of its parts.
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
    """A sandbox that is gone afterwards."""
    sandbox = Sandbox(*words)
    try:
        yield sandbox
    finally:
        sandbox.close()

"""A sample job, from `tony submit` to its verdict, with its logs, processes and status meanwhile."""

import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

SAMPLES = pathlib.Path(__file__).resolve().parents[3] / "samples"
LIMIT = 240  # seconds for each wait; the slowest known machine needs a quarter of that


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


class Run:
    """One job in a $TONY_HOME of its own, which also has the ledger: it queues behind nobody's jobs but those of `behind`,
    another Run."""

    def __init__(self, bin_folder, *arguments, behind=None):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tony-sample-"))
        self.tony = pathlib.Path(bin_folder).resolve() / "tony"
        self.ledger = behind.ledger if behind else self.home / "ledger"
        self.env = dict(os.environ, TONY_HOME=str(self.home), TONY_LEDGER=str(self.ledger))
        command = [self.tony, "submit", *map(str, arguments)]
        self.submit = subprocess.Popen(
            command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.submit.poll() is None:
            self.submit.send_signal(signal.SIGTERM)
            print(self.submit.communicate(timeout=60)[0])
        shutil.rmtree(self.home, ignore_errors=True)

    def finish(self, exit_code=0, state="SUCCEEDED"):
        text, _ = self.submit.communicate(timeout=LIMIT)
        print(text)
        expect(self.submit.returncode == exit_code, f"tony submit: exit code {self.submit.returncode}")
        expect(self.folder() is not None, "there is no job folder")
        expect(self.processes() == [], f"processes are left: {self.processes()}")
        expect(self.status()["state"] == state, f"the job is {self.status()['state']}")

    def fail(self, tasks, *words):
        """The first cause of the job's failure has to be one of these tasks, in these words."""
        self.finish(exit_code=1, state="FAILED")
        verdict = self.status()["verdict"]
        expect(verdict["task"] in tasks and all(word in verdict["message"] for word in words), f"verdict {verdict}")

    def folder(self):
        jobs = sorted(self.home.glob("jobs/[!.]*/spec.json"))
        return jobs[0].parent if jobs else None

    def stdout(self, task, attempt=1):
        """Returns the log of "worker-0", or of its second process "worker-0/1"."""
        task, *process = task.split("/")
        name = "-".join(["stdout", *process])
        file = self.folder() / "logs" / task / str(attempt) / name if self.folder() else None
        return file.read_text() if file and file.exists() else ""

    def result(self, task, attempt=1):
        """Returns the outputs that the program wrote into $TONY_OUTPUT_FILE."""
        return json.loads((self.folder() / "work" / task / str(attempt) / "tony-output.json").read_text())

    def attempts(self):
        return sorted(f"{path.parent.name}#{path.name}" for path in (self.folder() / "logs").glob("*/*"))

    def processes(self, name=None):
        """Those below this job's keeper, by the mark in their environment and by their name."""
        mark = f"TONY_JOB_ID={self.folder().name}".encode()
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
                state = (process / "stat").read_text().rpartition(")")[2].split()[0]
                if mark in environment and state != "Z" and name in (None, (process / "comm").read_text().strip()):
                    found.append(int(process.name))
            except OSError:
                pass  # the process has exited
        return found

    def status(self):
        command = [self.tony, "status", self.folder().name, "--json"]
        status = subprocess.run(command, env=self.env, capture_output=True, text=True, check=True)
        document = json.loads(status.stdout)
        return document["jobs"][0] if "jobs" in document else document

    def tasks(self):
        return {task["task"]: task for task in self.status()["tasks"]}

    def task_pids(self):
        return {name: task["pid"] for name, task in self.tasks().items()}

    def executor_pid(self, task):
        executors = self.processes("tony-executor")
        (pid,) = [pid for pid in executors if task in pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")]
        return pid

    def kill_am(self):
        """Kills the application master. Returns when the next one leads the same processes."""
        before = self.task_pids()
        (am,) = self.processes("tony-am")
        os.kill(am, signal.SIGKILL)
        self.wait_for("new application master", lambda: self.processes("tony-am") not in ([], [am]))
        self.wait_for("status from it", lambda: self.task_pids() == before and all(before.values()))

    def wait_for(self, what, condition):
        end = time.monotonic() + LIMIT
        while not condition():
            expect(self.submit.poll() is None, f"the job ended before {what}")
            expect(time.monotonic() < end, f"no {what} after {LIMIT} s")
            time.sleep(0.05)


class Training(Run):
    """A sample that consists of a train.py, in a Python environment, with a folder of its own for the model."""

    def __init__(self, sample, bin_folder, environment, *more, executes="train.py", planted=None):
        """`planted`: a text of the program, and the text with a fault that replaces it."""
        self.models = pathlib.Path(tempfile.mkdtemp(prefix="tony-model-"))
        source = SAMPLES / sample
        if planted:
            source = shutil.copytree(source, self.models / "source")
            program = (source / executes).read_text()
            expect(program.count(planted[0]) == 1, f"{planted[0]!r} is not once in {source / executes}")
            (source / executes).write_text(program.replace(*planted))
        super().__init__(
            bin_folder, source / "job.properties", "-src_dir", source, "-executes", executes,
            "-python_binary_path", pathlib.Path(environment).resolve() / "bin/python",
            "-shell_env", f"MODEL_DIR={self.models}", *more,
        )  # fmt: skip

    def __exit__(self, *ended):
        super().__exit__(*ended)
        shutil.rmtree(self.models, ignore_errors=True)

    def judge_model(self, chief, least_accuracy, attempt=1):
        result = self.result(chief, attempt)
        expect(result["accuracy"] > least_accuracy, f"accuracy {result['accuracy']}")
        model = pathlib.Path(result["model"])
        expect(model.parent == self.models, f"the model is in {model.parent}")
        expect(model.stat().st_size > 1000, "the model is too small")


def seconds(time):
    """Returns a time of the status document, in seconds since 1970."""
    return datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()

"""One execution of a flow: what Azkaban shows of it, and what TonY has of it."""

import contextlib
import json
import time

from common import LIMIT, wait_for

# The web server shows no log from when the executor has let go of an execution until it has noticed, which took 20 s once.
LOG_LIMIT = 60  # seconds
ENDED = ("SUCCEEDED", "FAILED", "KILLED")


class Execution:
    """On a server, of one project's flow."""

    def __init__(self, sandbox, server, client, number):
        self.sandbox, self.server, self.client, self.number = sandbox, server, client, number

    def end(self, limit=LIMIT):
        """The status of the flow when it has ended."""
        return wait_for(f"the end of execution {self.number}", self._status_at_end, limit)

    def _status_at_end(self):
        time.sleep(0.1)  # the web server itself looks only every second
        status = self.client.execution(self.number)["status"]
        return status if status in ENDED else None

    def statuses(self):
        """Step -> its status."""
        return {node["id"]: node["status"] for node in self.client.execution(self.number)["nodes"]}

    def log(self, step):
        return self.client.log(self.number, step)

    def attachment(self, step):
        return self.client.attachment(self.number, step)

    def log_with(self, step, words):
        """The log, once it has these words: its end comes up to a second after the step's."""
        with contextlib.suppress(AssertionError):
            return wait_for(f"the log of {step}", lambda: self._log_if(step, words), LOG_LIMIT)
        raise AssertionError(f"{words!r} is not in the log of {step}: {self.log(step)}")

    def _log_if(self, step, words):
        log = self.log(step)
        return log if words in log else None

    def log_file(self, step, attempt):
        """An attempt's log as the executor server wrote it: its database may keep only one of several attempts."""
        mark = f".{attempt}" if attempt else ""
        file = self.server.home / f"executions/{self.number}/_job.{self.number}{mark}.{step}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def jobs(self, step, number=None):
        """TonY's jobs of this step, by the name that the project gives them: that of step and execution."""
        specs = self.sandbox.folder.glob("home/jobs/local-*/spec.json")
        name = f"{step}-{number or self.number}"
        return [spec.parent.name for spec in specs if json.loads(spec.read_text())["name"] == name]

    def job(self, step):
        jobs = self.jobs(step)
        assert len(jobs) == 1, f"jobs of {step}: {jobs}, expected one"
        return jobs[0]

    def instances(self, step):
        spec = self.sandbox.folder / "home/jobs" / self.job(step) / "spec.json"
        return {role["name"]: role["instances"] for role in json.loads(spec.read_text())["roles"]}

    def running_job(self, step):
        """The job of this step, once its tasks run."""
        wait_for(f"a job of {step}", lambda: self.jobs(step) or self._has_ended(step))
        job = self.job(step)
        wait_for(f"tasks of {job}", lambda: self.sandbox.tony("status", job)["state"] == "RUNNING")
        return job

    def _has_ended(self, step):
        time.sleep(0.1)
        status = self.client.execution(self.number)["status"]
        assert status not in ENDED, f"{status} before a job of {step}: {self.log(step)}"

    def left_of(self, job):
        return self.sandbox.processes(f"TONY_JOB_ID={job}")

"""An execution of a flow: what Azkaban shows of it, and its jobs in TonY."""

import contextlib
import json
import time

from common import LIMIT, wait_for

# The web server shows no log after the executor has released an execution, until it has noticed that; once it took 20
# s.
LOG_LIMIT = 60  # seconds
ENDED = ("SUCCEEDED", "FAILED", "KILLED")


class Execution:
    """An execution of a project's flow on a server."""

    def __init__(self, sandbox, server, client, number):
        self.sandbox, self.server, self.client, self.number = sandbox, server, client, number

    def end(self, limit=LIMIT):
        """Returns the status of the flow when it has ended."""
        return wait_for(f"the end of execution {self.number}", self._status_at_end, limit)

    def _status_at_end(self):
        time.sleep(0.1)  # the web server itself checks only every second
        status = self.client.execution(self.number)["status"]
        return status if status in ENDED else None

    def statuses(self):
        """Returns the status of each step."""
        return {node["id"]: node["status"] for node in self.client.execution(self.number)["nodes"]}

    def log(self, step):
        return self.client.log(self.number, step)

    def attachment(self, step):
        return self.client.attachment(self.number, step)

    def log_with(self, step, words):
        """Returns the log when it contains these words. Its end arrives up to a second after the end of the step."""
        with contextlib.suppress(AssertionError):
            return wait_for(f"the log of {step}", lambda: self._log_if(step, words), LOG_LIMIT)
        raise AssertionError(f"{words!r} is not in the log of {step}: {self.log(step)}")

    def _log_if(self, step, words):
        log = self.log(step)
        return log if words in log else None

    def log_file(self, step, attempt):
        """Returns an attempt's log as the executor server wrote it, because the database may keep only one of several
        attempts."""
        mark = f".{attempt}" if attempt else ""
        file = self.server.home / f"executions/{self.number}/_job.{self.number}{mark}.{step}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def jobs(self, step, number=None):
        """Returns TonY's jobs of this step. The project names them after the step and the execution."""
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
        """Returns the job of this step as soon as its tasks run."""
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

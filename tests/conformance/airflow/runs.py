"""A Dag run and its tasks, as the database, the REST server, the logs and the runtime show them.

A check gets an `airflow` (daemons.py), which makes the runs:

    airflow.major, airflow.rows(sql, ...), airflow.rest(method, path, body)   2 or 3; anything that is not below
    airflow.trigger(dag_id, conf)         a Run: state(), wait(*states, limit=), task(task_id, map_index)
    run.release()                         makes $AIRFLOW_HOME/release/RUN_ID, for which the jobs of the Dags wait
    task.row(), task.state(), task.wait(*states, limit=)    from the database; an end that was not asked for fails
    task.xcoms(), task.links(), task.log(try_number), task.pid()    pid: of the process with execute()
    task.wait_until_watched(triggerer)    until that triggerer runs the task's trigger
    task.kill(), task.worker()            SIGKILL, so that Airflow tries again; that process and its supervisor
    task.mark(state), task.clear(), task.clear_by_command()    by REST as a click does it; by `airflow tasks clear`
    task.request_id, task.jobs()          the ids of all jobs that were made for it, oldest first
    task.job(), task.wait_for_job(*states, limit=)    the last job as `tony list` shows it
    airflow.daemon(name), airflow.another_triggerer(name)    a Daemon
    daemon.kill(), kill_alone(), terminate(), pause(), go_on()    its session, or only its process
    daemon.start(), wait_ready(), log(), job_id()    job_id: the id in trigger.triggerer_id
    airflow.sandbox                       folder, tony(*words, fails=False), processes(mark)
"""

import json
import os
import pathlib
import re
import signal
import time
import urllib.parse

import common

RUN_ENDED = ("success", "failed")
FIRST_STEPS = 2  # seconds in which a trigger would show a wrong reaction after its start or after the loss of its job
TASK_ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")


def wait_for_state(what, state, wanted, ended, limit):
    """Returns the expected state. Stops waiting when the run ends in another state."""
    deadline = time.monotonic() + limit
    while True:
        began = time.monotonic()
        if (now := state()) in wanted:
            return now
        assert now not in ended, f"{what} is {now} instead of {' or '.join(wanted)}"
        assert began < deadline, f"waited {limit} s for {what} to be {' or '.join(wanted)}: it is {now}"
        common.rest(began)


class Run:
    """A run of a Dag."""

    def __init__(self, airflow, dag_id, run_id):
        self.airflow, self.dag_id, self.id = airflow, dag_id, run_id

    def state(self):
        rows = self.airflow.rows("SELECT state FROM dag_run WHERE dag_id = ? AND run_id = ?", self.dag_id, self.id)
        return rows[0]["state"] if rows else None

    def wait(self, *states, limit=common.LIMIT):
        return wait_for_state(f"the run of {self.dag_id}", self.state, states, RUN_ENDED, limit)

    def task(self, task_id, map_index=-1):
        return Task(self, task_id, map_index)

    def release(self):
        """Lets the jobs of this run end."""
        (self.airflow.home / "release" / self.id).touch()


class Task:
    """A task instance."""

    def __init__(self, run, task_id, map_index):
        self.run, self.id, self.map_index = run, task_id, map_index
        self.airflow = run.airflow
        self.name = f"{run.dag_id}/{run.id}/{task_id}/{map_index}"
        self.request_id = f"airflow://{self.name}"

    # ---- the state in Airflow

    def _rows(self, columns, table):
        sql = f"SELECT {columns} FROM {table} WHERE dag_id = ? AND run_id = ? AND task_id = ? AND map_index = ?"
        return self.airflow.rows(sql, self.run.dag_id, self.run.id, self.id, self.map_index)

    def row(self):
        """Returns the columns of the task instance; None if it does not exist yet."""
        rows = self._rows("*", "task_instance")
        return rows[0] if rows else None

    def state(self):
        return (self.row() or {}).get("state")

    def wait(self, *states, limit=common.LIMIT):
        what = f"{self.id} of {self.run.dag_id}"
        return wait_for_state(what, self.state, states, TASK_ENDED, limit)

    def wait_for_try(self, number, limit=common.LIMIT):
        """Waits until the task runs its try of this number, or waits in it."""

        def reached():
            row = self.row()
            return row["try_number"] >= number and row["state"] in ("running", "deferred", *TASK_ENDED)

        common.wait_for(f"try {number} of {self.id} of {self.run.dag_id}", reached, limit)

    def xcoms(self):
        """Returns what the task pushed, by key."""
        return {row["key"]: json.loads(row["value"]) for row in self._rows("key, value", "xcom")}

    def _path(self, *more):
        parts = [self.airflow.version.API, "dags", self.run.dag_id, "dagRuns", self.run.id, "taskInstances", self.id]
        mapped = [str(self.map_index)] if self.map_index >= 0 else []
        return "/".join([parts[0], *(urllib.parse.quote(part, safe="") for part in (*parts[1:], *mapped, *more))])

    def links(self):
        """Returns the extra links by their names, without links that lead nowhere."""
        links = self.airflow.version.links_of(self.airflow.rest("GET", self._path("links")))
        return {name: url for name, url in links.items() if url}

    def mark(self, state):
        """Does what a click on "mark state as" does."""
        self.airflow.rest("PATCH", self._path(), self.airflow.version.mark_body(state))

    def clear(self):
        """Does what a click on "clear task" does."""
        body = {"dry_run": False, "dag_run_id": self.run.id, "task_ids": [self.id], "only_failed": False,
                "reset_dag_runs": True}  # fmt: skip
        self.airflow.rest("POST", f"{self.airflow.version.API}/dags/{self.run.dag_id}/clearTaskInstances", body)

    def clear_by_command(self):
        """Clears the task in all runs; a Dag has one run in each scenario."""
        self.airflow.command("tasks", "clear", "-y", "-t", f"^{self.id}$", self.run.dag_id)

    def log_paths(self):
        """Returns the log files of all tries in order, including those that a triggerer wrote."""
        mapped = [f"map_index={self.map_index}"] if self.map_index >= 0 else []
        folder = self.airflow.home.joinpath("logs", f"dag_id={self.run.dag_id}", f"run_id={self.run.id}",
                                            f"task_id={self.id}", *mapped)  # fmt: skip
        return sorted(folder.glob("attempt=*.log*"))

    def log(self, try_number=None):
        """Returns the log of a try, by default of the last one."""
        number = try_number or self.row()["try_number"]
        return "".join(path.read_text(errors="replace") for path in self.log_paths()
                       if path.name.startswith(f"attempt={number}.log"))  # fmt: skip

    def pid(self, limit=common.LIMIT):
        """Returns the process that runs the operator's execute()."""

        def running():
            row = self.row()
            if not row or row["state"] != "running" or not row["pid"]:
                return None
            return row["pid"] if os.path.exists(f"/proc/{row['pid']}") else None

        return common.wait_for(f"the process of {self.id} of {self.run.dag_id}", running, limit)

    def worker(self):
        """Returns that process and its supervisor."""
        pid = self.pid()
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return pid, int(stat.rpartition(")")[2].split()[1])

    def kill(self):
        """Sends SIGKILL to the process; if Airflow would not retry then, also to its supervisor, as if a machine had
        failed.

        The supervisor is killed first, so that it cannot report how the process ended.
        """
        process, keeper = self.worker()
        for pid in [process] if self.airflow.retries_what_was_killed else [keeper, process]:
            os.kill(pid, signal.SIGKILL)

    def wait_until_watched(self, triggerer):
        """Waits until this triggerer has and runs the task's trigger, and has had time for the trigger's first
        actions."""

        def runs():
            rows = self.airflow.rows("SELECT triggerer_id FROM trigger WHERE id = ?", self.row()["trigger_id"])
            if not rows or rows[0]["triggerer_id"] != triggerer.job_id():
                return False
            # Airflow 2 logs it in the triggerer's log, Airflow 3 in the task's.
            own = [path for path in self.log_paths() if path.name.endswith(f".trigger.{triggerer.job_id()}.log")]
            said = triggerer.log() + "".join(path.read_text(errors="replace") for path in own)
            return re.search(rf"trigger {re.escape(self.name)}/\d+ \(ID \d+\) starting", said)

        common.wait_for(f"{triggerer.name} to watch the job", runs)
        time.sleep(FIRST_STEPS)

    # ---- the jobs of the runtime

    def jobs(self):
        """Returns the ids of all jobs that were ever made for this task instance, oldest first."""
        return self.airflow.sandbox.jobs(self.request_id)

    def job(self):
        """Returns the last job as `tony list` shows it; None if there is no job yet.

        It does not use `tony status`, which counts as client activity and would keep a job from being abandoned.
        """
        last = self.jobs()[-1:]
        jobs = self.airflow.sandbox.all_jobs() if last else []
        return next((job for job in jobs if job["job"] in last), None)

    def wait_for_job(self, *states, limit=common.LIMIT):
        """Returns the last job when it is in one of the states."""

        def state():
            job = self.job()
            return job and job["state"]

        wait_for_state(f"the job of {self.request_id}", state, states, common.JOB_ENDED, limit)
        return self.job()

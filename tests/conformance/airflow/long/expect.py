"""Helpers that the checks share: the jobs of a task, and the check that no process of them is left."""

import contextlib
import json
import os
import signal

import common

GONE = 30  # seconds; a killed job's tasks have 10, and the machine may be busy

# A submit that reaches the runtime when the file `go` exists, even if its caller has exited.
HELD_BEFORE = """#!/bin/bash
[[ " $* " == *" submit "* ]] || exec {tony} "$@"
mine=$(mktemp -d {folder}/submit.XXXXXX)
cat > "$mine/document"
setsid bash -c '
  for n in $(seq 1200); do [ -e {folder}/go ] && break; sleep 0.1; done
  {tony} "$@" < "$0/document" > "$0/answer" 2> "$0/errors"
  echo $? > "$0/code.new"; mv "$0/code.new" "$0/code"' "$mine" "$@" < /dev/null > /dev/null 2>&1 &
touch "$mine/asked"
wait $!
cat "$mine/answer"
cat "$mine/errors" >&2
exit $(cat "$mine/code")
"""


def ends(task):
    """Returns the submission number and the state of each job of a task, oldest first."""
    statuses = [task.airflow.sandbox.tony("status", job) for job in task.jobs()]
    return [(status["submission"], status["state"]) for status in statuses]


def expect_ends(task, *expected):
    """Expects exactly these jobs, and that none of their processes is left."""
    found = ends(task)
    assert found == list(expected), f"jobs of {task.request_id}: {found}, expected {list(expected)}"
    for job in task.jobs():
        expect_gone(task, job)


def expect_gone(task, job):
    """Finds tasks and executors by the job's id in their environment, and the runtime's own programs by their command
    line."""
    common.wait_for(f"the end of the processes of {job}", lambda: not task.airflow.sandbox.processes(job), GONE)


def wait_deferred(task):
    """Waits until the task waits in the triggerer and the process that deferred it has exited."""
    pid = task.pid()
    task.wait("running", "deferred")
    common.wait_for(f"{task.id} to be deferred", lambda: task.state() == "deferred")
    common.wait_for("the end of the process that deferred it", lambda: not os.path.exists(f"/proc/{pid}"))


def wait_running(task):
    """Waits until the task waits in its worker for its job, and the job runs. Returns the job's id."""
    task.wait("running")
    task.wait_for_job("RUNNING")
    return task.jobs()[-1]


def kill(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def named(task, job, *names):
    """Returns the processes of a job that have one of these names."""
    found = {}
    for pid in task.airflow.sandbox.processes(job):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as comm:  # it may have exited
            found[pid] = comm.read().strip()
    return [pid for pid, name in found.items() if name in names]


def expect_fenced(task, owner):
    """Checks that a kill by a replaced owner does nothing and is not an error."""
    words = ["kill", "--request-id", task.request_id, "--if-owner", owner, "--reason", "late", "--no-wait"]
    answer = task.airflow.sandbox.tony(*words)
    assert (answer["fenced"], answer["killed"], answer["planned"]) == (True, False, False), answer


def connection(airflow, name, script):
    """Makes a connection whose program is a script around `tony` that disturbs submits. Returns the folder of its
    marker files."""
    folder = airflow.sandbox.folder / name
    folder.mkdir()
    program = folder / "tony"
    program.write_text(script.format(tony=airflow.sandbox.bin / "tony", folder=folder))
    program.chmod(0o755)
    airflow.rest("POST", f"{airflow.version.API}/connections", described(airflow, name))
    return folder


def described(airflow, name, **extra):
    """Returns the REST description of a connection whose program is in the folder of its name."""
    sandbox = airflow.sandbox
    given = {"cli": f"{sandbox.folder}/{name}/tony", "home": str(sandbox.home), "conf_dir": f"{sandbox.folder}/conf"}
    return {"connection_id": name, "conn_type": "tony", "extra": json.dumps({**given, **extra})}


def rewrite(airflow, name, **extra):
    """Changes the extra fields of the same connection."""
    airflow.rest("PATCH", f"{airflow.version.API}/connections/{name}", described(airflow, name, **extra))

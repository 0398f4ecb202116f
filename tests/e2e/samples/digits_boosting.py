"""samples/lightgbm-digits and samples/xgboost-digits."""

import os
import signal

from samples.in_step import judge_in_step
from samples.run import Training, expect

WORKERS = ("worker-0", "worker-1")


def lightgbm(bin_folder, environment):
    with Training("lightgbm-digits", bin_folder, environment) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        judge_in_step(run, WORKERS)


def killed(sample, tasks, bin_folder, environment):
    """A lost worker cannot rejoin a collective: all workers restart, at ports that no process of the first try uses."""
    with Training(
        sample, bin_folder, environment, "-shell_env", "ROUNDS=300", "-conf", "tony.restart.gang.budget=1"
    ) as run:
        run.wait_for("fifth round", lambda: "round 5/" in run.stdout("worker-1"))
        os.kill(run.task_pids()["worker:1"], signal.SIGKILL)
        run.finish()
        run.judge_model("worker-0", 0.9, attempt=2)
        judge_in_step(run, WORKERS, attempt=2)
        expected = [f"{task}#{attempt}" for task in tasks for attempt in (1, 2)]
        expect(run.attempts() == expected, f"attempts {run.attempts()}")


def lightgbm_worker_killed(bin_folder, environment):
    killed("lightgbm-digits", WORKERS, bin_folder, environment)


def xgboost_worker_killed(bin_folder, environment):
    killed("xgboost-digits", ("tracker-0", *WORKERS), bin_folder, environment)


def xgboost(bin_folder, environment):
    with Training("xgboost-digits", bin_folder, environment) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        judge_in_step(run, WORKERS)
        tracker = run.tasks()["tracker:0"]
        expect(tracker["outcome"]["class"] == "success", f"the tracker: {tracker}")

"""samples/pytorch-ddp."""

import os
import signal

from samples.in_step import judge_in_step
from samples.run import Training, expect

WORKERS = ("worker-0", "worker-1")


def data_parallel(bin_folder, environment):
    with Training("pytorch-ddp", bin_folder, environment) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        judge_in_step(run, WORKERS)


def data_parallel_processes(bin_folder, environment):
    """Two processes for each worker, like torchrun --nproc-per-node=2 on one machine."""
    more = ("-conf", "tony.worker.instances=1", "-conf", "tony.worker.nproc-per-node=2")
    with Training("pytorch-ddp", bin_folder, environment, *more) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        judge_in_step(run, ("worker-0", "worker-0/1"))


def data_parallel_worker_killed(bin_folder, environment):
    """After a failure all processes of a collective restart together."""
    more = ("-shell_env", "EPOCHS=200", "-conf", "tony.restart.gang.budget=1")
    with Training("pytorch-ddp", bin_folder, environment, *more) as run:
        run.wait_for("third epoch", lambda: "epoch 3/" in run.stdout("worker-0"))
        os.kill(run.task_pids()["worker:1"], signal.SIGKILL)
        run.finish()
        restarts = [(restart["scope"], restart["charged"]) for restart in run.status()["restarts"]]
        expect(restarts == [("gang", False)], f"restarts {restarts}")
        run.judge_model("worker-0", 0.9, attempt=2)
        judge_in_step(run, WORKERS, attempt=2)

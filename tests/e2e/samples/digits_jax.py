"""samples/jax-digits and samples/jax-resume."""

import os
import pathlib
import re
import shutil
import signal
import tempfile

from samples.run import Training, expect, seconds


def judge_digits(run):
    run.judge_model("worker-0", 0.93)
    losses = [re.findall(r"loss ([0-9.]+)", run.stdout(f"worker-{index}")) for index in (0, 1)]
    expect(losses[0] and losses[0] == losses[1], "the workers have not trained the same model")


def digits(bin_folder, environment):
    with Training("jax-digits", bin_folder, environment) as run:
        run.finish()
        judge_digits(run)


def digits_am_killed(bin_folder, environment):
    with Training("jax-digits", bin_folder, environment, "-shell_env", "EPOCHS=200") as run:
        run.wait_for("third epoch", lambda: "epoch 3/" in run.stdout("worker-0"))
        run.kill_am()
        run.finish()
        judge_digits(run)
        expect(run.attempts() == ["worker-0#1", "worker-1#1"], f"{run.attempts()}: something was restarted")


class Resume(Training):
    """A training with checkpoints in a folder of its own."""

    def __init__(self, bin_folder, environment, *more):
        self.saved = pathlib.Path(tempfile.mkdtemp(prefix="tony-saved-"))
        super().__init__("jax-resume", bin_folder, environment, "-conf", f"tony.checkpoint.dir={self.saved}", *more)

    def __exit__(self, *ended):
        super().__exit__(*ended)
        shutil.rmtree(self.saved, ignore_errors=True)

    def checkpoints(self):
        """Maps the step of each checkpoint to its time, in seconds since 1970."""
        return {int(file.stem.partition("-")[2]): file.stat().st_mtime for file in self.saved.glob("ckpt-*.npz")}

    def trained(self, attempt):
        """Returns the accuracy and the exact weights after the last step."""
        newest = self.saved / f"ckpt-{max(self.checkpoints()):06}.npz"
        return self.result("worker-0", attempt)["accuracy"], newest.read_bytes()

    def judge(self, expected, charged):
        restarts = self.status()["restarts"]
        paid = [(restart["scope"], restart["charged"]) for restart in restarts]
        expect(paid == [("gang", charged)], f"restarts {restarts}")
        started = seconds(self.tasks()["worker:0"]["started"])
        newest = max(step for step, made in self.checkpoints().items() if made < started)
        for task in ("worker-0", "worker-1"):
            resumed = re.findall(r"^resumed at step ([0-9]+)$", self.stdout(task, 2), re.M)
            expect(resumed == [str(newest)], f"{task} resumed at {resumed}, the newest checkpoint was {newest}")
        expect(newest > 0 and "resumed" not in self.stdout("worker-0", 1), "the first attempt resumed something")
        accuracy, weights = self.trained(2)
        expect(accuracy == expected[0], f"accuracy {accuracy} instead of {expected[0]}")
        expect(weights == expected[1], "other weights than without a restart")
        print(f"resumed at step {newest} of {max(self.checkpoints())}, accuracy {accuracy} both ways")


def resume(bin_folder, environment):
    with Resume(bin_folder, environment) as run:
        run.finish()
        undisturbed = run.trained(1)
        expect(undisturbed[0] > 0.93, f"accuracy {undisturbed[0]}")
    # Neither a process that is killed from outside nor a lost executor is charged to the budget of job.properties.
    for victim in ("task", "executor"):
        with Resume(bin_folder, environment, "-conf", "tony.restart.gang.budget=0") as run:
            run.wait_for("first checkpoint", run.checkpoints)
            pid = run.task_pids()["worker:1"] if victim == "task" else run.executor_pid("worker:1")
            run.wait_for("second checkpoint", lambda: len(run.checkpoints()) > 1)
            os.kill(pid, signal.SIGKILL)
            run.finish()
            run.judge(undisturbed, charged=False)

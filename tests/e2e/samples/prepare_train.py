"""samples/prepare-train."""

import os
import pathlib
import re
import shutil
import signal
import tempfile

from samples.run import SAMPLES, Run, expect, seconds

SAMPLE = SAMPLES / "prepare-train"


class Steps(Run):
    """The job, with a folder of its own for the data that its steps pass on."""

    def __init__(self, bin_folder, environment, *more):
        python = pathlib.Path(environment).resolve() / "bin/python"
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="tony-steps-"))
        super().__init__(
            bin_folder, SAMPLE / "job.properties", "-src_dir", SAMPLE, "-executes", "train.py",
            "-python_binary_path", python, "-shell_env", f"WORK_DIR={self.work}",
            "-shell_env", "OMP_NUM_THREADS=1", *more,
        )  # fmt: skip

    def __exit__(self, *ended):
        super().__exit__(*ended)
        shutil.rmtree(self.work, ignore_errors=True)

    def judge(self):
        found = re.search(r"accuracy (0\.\d+)", self.stdout("merge-0"))
        expect(found and float(found[1]) > 0.85, self.stdout("merge-0"))
        expect((self.work / "model.npz").exists(), "there is no model")
        tasks = self.tasks()
        for index in (0, 1):
            for first, second in ("data:0", f"worker:{index}"), (f"worker:{index}", "merge:0"):
                in_order = seconds(tasks[first]["ended"]) <= seconds(tasks[second]["started"])
                expect(in_order, f"{second} started before the end of {first}")


def steps(bin_folder, environment):
    with Steps(bin_folder, environment) as run:
        run.finish()
        run.judge()
        expect(run.attempts() == ["data-0#1", "merge-0#1", "worker-0#1", "worker-1#1"], f"{run.attempts()}")


def steps_worker_killed(bin_folder, environment):
    """A killed worker trains again; the data is not prepared again."""
    with Steps(bin_folder, environment, "-shell_env", "PAUSE=2") as run:
        run.wait_for("a worker", lambda: run.folder() and run.task_pids()["worker:0"])
        os.kill(run.task_pids()["worker:0"], signal.SIGKILL)
        run.finish()
        run.judge()
        expected = ["data-0#1", "merge-0#1", "worker-0#1", "worker-0#2", "worker-1#1"]
        expect(run.attempts() == expected, f"{run.attempts()}")

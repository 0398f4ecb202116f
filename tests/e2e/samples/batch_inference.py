"""samples/batch-inference."""

import csv
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from samples.run import SAMPLES, Run, expect

SAMPLE = SAMPLES / "batch-inference"
PICTURES = 1797
TASKS = 4


class Scoring(Run):
    """Makes a model, then runs the scoring job with a folder of its own for model and scores."""

    def __init__(self, bin_folder, environment, *more):
        python = pathlib.Path(environment).resolve() / "bin/python"
        self.folder_of_scores = pathlib.Path(tempfile.mkdtemp(prefix="tony-scores-"))
        model = self.folder_of_scores / "model.npz"
        subprocess.run([python, SAMPLE / "train.py", model], env=dict(os.environ, OMP_NUM_THREADS="1"), check=True)
        super().__init__(
            bin_folder, SAMPLE / "job.properties", "-src_dir", SAMPLE, "-executes", "score.py",
            "-python_binary_path", python, "-conf", f"tony.containers.resources={model}",
            "-shell_env", f"RESULT_DIR={self.folder_of_scores}", *more,
        )  # fmt: skip

    def __exit__(self, *ended):
        super().__exit__(*ended)
        shutil.rmtree(self.folder_of_scores, ignore_errors=True)

    def judge(self):
        """Checks that all parts together have every picture exactly once."""
        parts = sorted(file.name for file in self.folder_of_scores.glob("part-*"))
        expect(parts == [f"part-{index:05}-of-{TASKS:05}.csv" for index in range(TASKS)], f"parts {parts}")
        rows = []
        for part in parts:
            with open(self.folder_of_scores / part, newline="") as file:
                rows += csv.DictReader(file)
        expect(sorted(int(row["picture"]) for row in rows) == list(range(PICTURES)), "not every picture exactly once")
        accuracy = sum(row["guess"] == row["label"] for row in rows) / PICTURES
        expect(accuracy > 0.9, f"accuracy {accuracy}")
        print(f"{len(rows)} pictures in {len(parts)} parts, accuracy {accuracy:.4f}")


def shards(bin_folder, environment):
    with Scoring(bin_folder, environment) as run:
        run.finish()
        run.judge()
        expect(run.attempts() == [f"worker-{index}#1" for index in range(TASKS)], f"{run.attempts()}")


def shards_task_killed(bin_folder, environment):
    """Only the killed task restarts; the other tasks run on."""
    with Scoring(bin_folder, environment, "-shell_env", "PAUSE=1") as run:
        run.wait_for("first pictures", lambda: all("pictures" in run.stdout(f"worker-{i}") for i in range(TASKS)))
        os.kill(run.task_pids()["worker:2"], signal.SIGKILL)
        run.finish()
        run.judge()
        restarts = [restart["scope"] for restart in run.status()["restarts"]]
        expect(restarts == ["task"], f"restarts {restarts}")
        expected = ["worker-0#1", "worker-1#1", "worker-2#1", "worker-2#2", "worker-3#1"]
        expect(run.attempts() == expected, f"attempts {run.attempts()}")

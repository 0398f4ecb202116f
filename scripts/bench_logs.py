"""Measures `tony logs -f`: the delay of a line, the throughput, and the cost for the tasks."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

# Prints the time of each line, by the clock that this script reads.
TICKING = (
    "import sys, time\n"
    "for i in range({lines}):\n"
    "    time.sleep(0.01)\n"
    "    sys.stdout.write('%d\\n' % time.clock_gettime_ns(time.CLOCK_MONOTONIC)); sys.stdout.flush()\n"
)

# Writes `megabytes` in lines of 100 bytes, then records how long the writes took.
WRITING = (
    "import os, time\n"
    "part = (b'x' * 99 + b'\\n') * 655\n"
    "begun = time.monotonic()\n"
    "for i in range({megabytes} * 16):\n"
    "    os.write(1, part)\n"
    "open(os.environ['TOLD'] + '/' + os.environ['TONY_TASK'], 'w').write(str(time.monotonic() - begun))\n"
)


class Job:
    """A job of Python programs, with its own home and ledger."""

    def __init__(self, bin_folder, folder, program, tasks):
        self.tony = str(bin_folder / "tony")
        self.told = pathlib.Path(folder) / "told"
        self.told.mkdir()
        (pathlib.Path(folder) / "task.py").write_text(program)
        self.env = dict(os.environ, TONY_HOME=f"{folder}/home", TONY_LEDGER=f"{folder}/ledger", TOLD=str(self.told))
        self.id = self.run(
            "submit", "--detach", "-executes", f"{sys.executable} {folder}/task.py",
            "-conf", "tony.application.framework=standalone" if tasks == 1 else "tony.application.framework=pytorch",
            "-conf", f"tony.worker.instances={tasks}", "-conf", "tony.worker.memory=64m",
        ).strip()  # fmt: skip

    def run(self, *words):
        done = subprocess.run([self.tony, *words], env=self.env, check=True, capture_output=True, text=True)
        return done.stdout

    def follow(self, stdout):
        return subprocess.Popen([self.tony, "logs", "-f", self.id], env=self.env, stdout=stdout)

    def writing_seconds(self):
        return max(float(file.read_text()) for file in self.told.iterdir())


def latency(bin_folder, tasks, lines=300):
    """Returns milliseconds from the write to the read of a line: median, 99th percentile, maximum."""
    with tempfile.TemporaryDirectory(prefix="tony-bench-logs-") as folder:
        job = Job(bin_folder, folder, TICKING.format(lines=lines), tasks)
        follower = job.follow(subprocess.PIPE)
        delays = []
        for line in follower.stdout:
            delays.append((time.clock_gettime_ns(time.CLOCK_MONOTONIC) - int(line.split()[-1])) / 1e6)
        follower.wait()
        job.run("wait", job.id)
    # The first fifth of the lines was written before `logs -f` started.
    late = sorted(delays[len(delays) // 5 :])
    return statistics.median(late), late[len(late) * 99 // 100], late[-1]


def throughput(bin_folder, tasks, megabytes, followed=True):
    """Runs a job whose tasks write `megabytes` together, with or without `logs -f` to /dev/null."""
    with tempfile.TemporaryDirectory(prefix="tony-bench-logs-") as folder:
        begun = time.monotonic()
        job = Job(bin_folder, folder, WRITING.format(megabytes=megabytes // tasks), tasks)
        result = {"tasks": tasks, "megabytes": megabytes}
        if followed:
            follower = job.follow(subprocess.DEVNULL)
            _, status, used = os.wait4(follower.pid, 0)
            assert status == 0, status
            result["follow_seconds"] = time.monotonic() - begun
            result["follow_cpu_seconds"] = used.ru_utime + used.ru_stime
            result["follow_memory_megabytes"] = used.ru_maxrss / 1024
        job.run("wait", job.id)
        result["write_seconds"] = job.writing_seconds()
        return result


def measure(bin_folder):
    bin_folder = pathlib.Path(bin_folder)
    return {
        "latency_ms": {tasks: latency(bin_folder, tasks) for tasks in (1, 8)},
        "throughput": [throughput(bin_folder, tasks, 800, followed) for tasks in (1, 8) for followed in (False, True)],
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1]), indent=1))

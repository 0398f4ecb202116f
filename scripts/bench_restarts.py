"""Measures restarts by the tasks themselves: each task records when its first instruction ran."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

# A task that records its start and then waits for the signal to end. Task 0 fails on a signal in its first attempt.
STAMPING = (
    'echo "$TONY_ATTEMPT $EPOCHREALTIME" >> "$STAMPS/begun"; '
    'if [ "$TASK_INDEX.$TONY_ATTEMPT" = 0.1 ]; then read < "$STAMPS/fail"; echo $EPOCHREALTIME > "$STAMPS/failed"; exit 3; fi; '
    'read < "$STAMPS/end"'
)


class Stamps:
    """A folder for the times that the tasks of one run record, and the FIFOs that signal them."""

    def __init__(self, limit):
        self.limit = limit
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-bench-stamps-"))
        self.fifos = {}
        for name in ("fail", "end"):
            os.mkfifo(self.folder / name)
            self.fifos[name] = os.open(self.folder / name, os.O_RDWR)
        self.variables = {"STAMPS": str(self.folder), "LC_ALL": "C"}

    def begun(self, attempt):
        file = self.folder / "begun"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [float(time_of) for number, time_of in lines if number == str(attempt)]

    def wait_for(self, attempt, tasks):
        """Returns when each of the tasks started its attempt."""
        end = time.monotonic() + self.limit
        while len(self.begun(attempt)) < tasks:
            if time.monotonic() > end:
                raise RuntimeError(f"{len(self.begun(attempt))} of {tasks} tasks began")
            time.sleep(0.02)
        return self.begun(attempt)

    def tell(self, name, tasks=1):
        os.write(self.fifos[name], b"\n" * tasks)

    def failed(self):
        return float((self.folder / "failed").read_text())

    def close(self):
        for fifo in self.fifos.values():
            os.close(fifo)
        shutil.rmtree(self.folder)


@contextlib.contextmanager
def stamping(command, env, tasks, limit):
    """Runs the command while the context is open. `command` makes it from the variables of its tasks, because not every
    launcher passes on the environment. The tasks get the signal to end when the context is closed."""
    with contextlib.closing(Stamps(limit)) as stamps:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command(stamps.variables), env=dict(env, **stamps.variables), **quiet)
        try:
            yield stamps
            stamps.tell("end", tasks)
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait(limit)


def restart(tony, tasks, scope, again, limit):
    """Returns ms from the end of the failing task to the first instruction of the last of `again` restarted tasks."""
    conf = ["-conf", f"tony.restart.scope={scope}", "-conf", f"tony.restart.{scope}.budget=1"]

    def command(variables):
        return [*tony.submit(tasks, STAMPING), *conf, *(word for name, value in variables.items() for word in ("-shell_env", f"{name}={value}"))]

    with stamping(command, tony.env, tasks, limit) as stamps:
        stamps.wait_for(1, tasks)
        stamps.tell("fail")
        return (max(stamps.wait_for(2, again)) - stamps.failed()) * 1000


def spawn(floor, tasks, limit):
    """Returns the same time for bare processes, from the start of the process that spawns them."""
    env = dict(os.environ, TONY_ATTEMPT="2", TASK_INDEX="0")
    start = time.time()
    with stamping(lambda _: [str(floor), str(tasks), "bash", "-c", STAMPING], env, tasks, limit) as stamps:
        return (max(stamps.wait_for(2, tasks)) - start) * 1000


def measure(tony, floor, tasks, limit):
    """Returns ms of a gang's restart, of the start of as many bare processes, and of the restart of one task."""
    return restart(tony, tasks, "gang", tasks, limit), spawn(floor, tasks, limit), restart(tony, tasks, "task", 1, limit)

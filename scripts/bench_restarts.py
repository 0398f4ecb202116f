"""How long a restart takes, told by the tasks themselves: each writes down when its first instruction ran."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

# A task that says when it began and then waits to be told to end. In its first attempt, task 0 fails when it is told to.
STAMPING = (
    'echo "$TONY_ATTEMPT $EPOCHREALTIME" >> "$STAMPS/begun"; '
    'if [ "$TASK_INDEX.$TONY_ATTEMPT" = 0.1 ]; then read < "$STAMPS/fail"; echo $EPOCHREALTIME > "$STAMPS/failed"; exit 3; fi; '
    'read < "$STAMPS/end"'
)


class Stamps:
    """A folder for the times that the tasks of one run leave, and the FIFOs by which they are told to go on."""

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
        """When each of so many tasks began its attempt."""
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
    """Runs the command beside us, made of the variables of its tasks, which have ours as well where their launcher gives
    them on; they are told to end when we are done with them."""
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
    """Milliseconds from the end of the task that fails to the first instruction of the last of `again` tasks."""
    conf = ["-conf", f"tony.restart.scope={scope}", "-conf", f"tony.restart.{scope}.budget=1"]

    def command(variables):
        return [*tony.submit(tasks, STAMPING), *conf, *(word for name, value in variables.items() for word in ("-shell_env", f"{name}={value}"))]

    with stamping(command, tony.env, tasks, limit) as stamps:
        stamps.wait_for(1, tasks)
        stamps.tell("fail")
        return (max(stamps.wait_for(2, again)) - stamps.failed()) * 1000


def spawn(floor, tasks, limit):
    """As long as that takes for bare processes: from the start of what spawns them."""
    env = dict(os.environ, TONY_ATTEMPT="2", TASK_INDEX="0")
    start = time.time()
    with stamping(lambda _: [str(floor), str(tasks), "bash", "-c", STAMPING], env, tasks, limit) as stamps:
        return (max(stamps.wait_for(2, tasks)) - start) * 1000


def measure(tony, floor, tasks, limit):
    """Milliseconds of a gang's restart, of as many bare processes, and of the restart of one task alone."""
    return restart(tony, tasks, "gang", tasks, limit), spawn(floor, tasks, limit), restart(tony, tasks, "task", 1, limit)

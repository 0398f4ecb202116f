"""Measures the cost of waits for many jobs at once, as in Airflow's triggerer, and how soon the end of a job is known.
Compares one `tony watch` for all jobs, one `tony wait` per job, and Airflow's Python process with a trigger per job."""

import asyncio
import contextlib
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import time

import bench_processes

SECONDS = 20
SETTLE = 2  # seconds until the news about new jobs have arrived


class Lines:
    """Yields the lines of a process as they arrive."""

    def __init__(self, process, limit):
        self.process, self.limit = process, limit
        self.buffer = b""

    def __iter__(self):
        while True:
            line, end, rest = self.buffer.partition(b"\n")
            if end:
                self.buffer = rest
                yield line.decode()
                continue
            if not select.select([self.process.stdout], [], [], self.limit)[0]:
                raise TimeoutError(f"no output of {self.process.args[0]}")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                raise EOFError(f"{self.process.args[0]} has ended")
            self.buffer += more


class Jobs:
    """Jobs with one task that sleeps until it is killed."""

    def __init__(self, tony, count, limit):
        command = [*tony.submit(1, "exec sleep 3600"), "--detach"]
        run = lambda argv: subprocess.run(argv, env=tony.env, capture_output=True, text=True, timeout=limit, check=True).stdout
        self.tony, self.program = tony, command[0]
        self.ids = [run(command).strip() for _ in range(count)]
        end = time.monotonic() + limit
        self.pids = {}
        while len(self.pids) < count and time.monotonic() < end:
            seen = json.loads(run([self.program, "status", *self.ids, "--json"]))["jobs"]
            running = [job for job in seen if job["tasks"][0]["attempt_state"] == "running"]
            self.pids = {job["job"]: job["tasks"][0]["pid"] for job in running}

    def end(self, job):
        """Kills the process of the job's task, and returns the time."""
        os.kill(self.pids[job], signal.SIGKILL)
        return time.time()

    def kill(self):
        for job in self.ids:
            subprocess.run([self.program, "kill", job], env=self.tony.env, capture_output=True)


class Watch:
    """One `tony watch` for all jobs."""

    name = "one `tony watch`"

    def __init__(self, jobs, limit):
        argv = [jobs.program, "watch", "-", "--json", "--watcher", "bench"]
        self.process = subprocess.Popen(argv, env=jobs.tony.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lines = iter(Lines(self.process, limit))
        self.process.stdin.write("".join(f"{job}\n" for job in jobs.ids).encode())
        self.process.stdin.flush()
        waiting = set(jobs.ids)
        while waiting:
            status = json.loads(next(self.lines))
            if status.get("watcher") == "bench":  # the status of the application master
                waiting.discard(status["job"])

    def processes(self):
        return [self.process.pid]

    def saw_end(self, job):
        for line in self.lines:
            now = time.time()
            status = json.loads(line)
            if status["job"] == job and "verdict" in status:
                return now

    def close(self):
        self.process.terminate()
        self.process.communicate()


class Waits:
    """A `tony wait` for each job."""

    name = "a `tony wait` each"

    def __init__(self, jobs, limit):
        self.limit = limit
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.waits = {job: subprocess.Popen([jobs.program, "wait", job], env=jobs.tony.env, **quiet) for job in jobs.ids}

    def processes(self):
        return [wait.pid for wait in self.waits.values()]

    def saw_end(self, job):
        pidfd = os.pidfd_open(self.waits[job].pid)  # Popen.wait() with a timeout polls only every 50 ms
        ended = select.select([pidfd], [], [], self.limit)[0]
        now = time.time()
        os.close(pidfd)
        if not ended:
            raise TimeoutError(f"tony wait {job} has not exited")
        return now

    def close(self):
        for wait in self.waits.values():
            wait.terminate()
        for wait in self.waits.values():
            wait.wait(self.limit)


class Triggers:
    """A TonyJobTrigger for each job in one Python process with Airflow: this file's main()."""

    name = "triggers in one Airflow process and its `tony watch`"

    def __init__(self, python, jobs, limit):
        root = pathlib.Path(__file__).resolve().parents[1]
        path = f"{root / 'airflow-operator'}:{root / 'runtime/python'}"
        env = dict(jobs.tony.env, PYTHONPATH=path, AIRFLOW_HOME=str(jobs.tony.home / "airflow"))
        self.process = subprocess.Popen([python, __file__, jobs.program, *jobs.ids], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = iter(Lines(self.process, limit))
        self.until("ready")
        self.before = usage([self.process.pid])
        self.process.stdin.write(b"begin\n")
        self.process.stdin.flush()
        end = time.monotonic() + limit
        while len(self.processes()) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(SETTLE)

    def until(self, word):
        for line in self.lines:
            if line.split()[:1] == [word]:
                return line

    def processes(self):
        mine = self.process.pid
        children = pathlib.Path(f"/proc/{mine}/task/{mine}/children").read_text().split()
        return [mine, *map(int, children)]

    def saw_end(self, job):
        return float(self.until(job).split()[1])

    def close(self):
        self.process.terminate()
        self.process.communicate()


def usage(pids):
    """Returns for each process PSS and anonymous memory in MB, and CPU in percent of a core over SECONDS."""
    processes = [bench_processes.of(pid) for pid in pids]
    before, began = [bench_processes.cpu_ms(process) for process in processes], time.monotonic()
    time.sleep(SECONDS)
    spent = time.monotonic() - began
    cpu = [(bench_processes.cpu_ms(process) - spent_before) / spent / 10 for process, spent_before in zip(processes, before)]
    memory = map(bench_processes.memory, processes)
    return [(size.shared, size.own, percent) for size, percent in zip(memory, cpu)]


def told(used):
    pss, own, cpu = map(sum, zip(*used))
    return f"{pss:.1f} / {own:.1f}; {cpu:.2f}"


def watched(viewer, tony, count, limit):
    """Yields the rows of one way to wait for new jobs, which then end one after the other."""
    with contextlib.ExitStack() as stack:
        jobs = Jobs(tony, count, limit)
        stack.callback(jobs.kill)
        view = viewer(jobs, limit)
        stack.callback(view.close)
        time.sleep(SETTLE)
        used = usage(view.processes())
        took = []
        for job in jobs.ids:
            ended = jobs.end(job)
            took.append((view.saw_end(job) - ended) * 1000)
        if isinstance(view, Triggers):
            yield "the Airflow process alone, before its triggers: PSS / anonymous, MB; CPU, %", told(view.before), ""
            yield f"... with {count} of them", told(used[:1]), ""
        what = f"{count} waiting jobs, {view.name}: processes; their PSS / anonymous, MB; CPU, %"
        yield what, f"{len(used)}; {told(used)}", ""
        yield "... a task's end to the news of its job's end, ms (worst)", f"{statistics.median(took):.1f} ({max(took):.1f})", ""


def measure(tony, python, limit, count=100):
    """`python`: the interpreter of an environment with Airflow; None: without Airflow's triggers."""
    yield from watched(Watch, tony, count, limit)
    yield from watched(Waits, tony, count, limit)
    if python:
        yield from watched(lambda jobs, limit: Triggers(python, jobs, limit), tony, count, limit)


async def trigger_all(program, jobs):
    import dataclasses

    from tony_airflow.cli import TonyCli
    from tony_airflow.triggers.tony import TonyJobTrigger

    async def run(job):
        async for event in TonyJobTrigger(job, dataclasses.asdict(TonyCli(program))).run():
            print(job, time.time(), event.payload["kind"], flush=True)

    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await asyncio.gather(*map(run, jobs))


if __name__ == "__main__":
    asyncio.run(trigger_all(sys.argv[1], sys.argv[2:]))

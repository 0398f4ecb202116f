"""Measures the overhead of Azkaban's adapter: time of a whole step, memory and CPU of a wait, time to cancel a step."""

import json
import os
import select
import signal
import statistics
import subprocess
import time

import bench_processes
import bench_scale

SECONDS = 20


class Steps:
    """Starts steps as Azkaban does, each in its own execution."""

    def __init__(self, program, tony):
        self.program, self.tony = program, tony
        self.execution = 0
        self.folder = tony.home / "step"
        self.folder.mkdir()

    def start(self, tasks, command):
        self.execution += 1
        properties = {
            "type": "tony", "azkaban.flow.execid": self.execution, "azkaban.flow.flowid": "bench", "azkaban.job.id": "train",
            "azkaban.job.attachment.file": self.folder / "attachment", "executes": command,
            "tony.application.framework": "pytorch", "tony.worker.instances": tasks, "tony.worker.memory": "16m",
        }  # fmt: skip
        file = self.folder / f"properties-{self.execution}"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        env = dict(self.tony.env, JOB_PROP_FILE=str(file), JOB_OUTPUT_PROP_FILE=str(self.folder / "output"))
        return subprocess.Popen([self.program], cwd=self.folder, env=env, stdout=subprocess.DEVNULL)


def milliseconds(start, process, limit):
    """Returns the time to the end of the process. Popen.wait() with a timeout polls only every 50 ms."""
    pidfd = os.pidfd_open(process.pid)
    select.select([pidfd], [], [], limit)
    took = (time.perf_counter() - start) * 1000
    os.close(pidfd)
    process.wait(limit)
    return took


def waiting(steps, tasks, limit):
    """Measures the adapter of a step whose tasks do nothing, and how fast the step ends after a cancel."""
    process = steps.start(tasks, "sleep 600")
    attachment = steps.folder / "attachment"
    attachment.unlink(missing_ok=True)
    end = time.monotonic() + limit
    states = []
    while states != ["running"] * tasks and time.monotonic() < end:
        time.sleep(0.05)
        if attachment.exists():
            (status,) = json.loads(attachment.read_text())
            states = [task["attempt_state"] for task in status["tasks"]]
    proc = bench_processes.of(process.pid)
    before, began = bench_processes.cpu_ms(proc), time.monotonic()
    time.sleep(SECONDS)
    cpu = (bench_processes.cpu_ms(proc) - before) / (time.monotonic() - began) / 10
    memory = bench_processes.memory(proc)
    start = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    cancelled = milliseconds(start, process, limit)
    while bench_scale.programs_of(status["job"]) and time.perf_counter() - start < limit:
        time.sleep(0.005)
    return cpu, memory, cancelled, (time.perf_counter() - start) * 1000


def measure(program, tony, runs, limit, tasks=8):
    steps = Steps(program, tony)
    through = {"adapter": [], "submit": []}
    for _ in range(runs + 1):
        start = time.perf_counter()
        through["adapter"].append(milliseconds(start, steps.start(tasks, "sleep 0.02"), limit))
        start = time.perf_counter()
        submit = subprocess.Popen(tony.submit(tasks, "sleep 0.02"), env=tony.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        through["submit"].append(milliseconds(start, submit, limit))
    adapter, submit = (f"{statistics.median(seen[1:]):.1f} ({min(seen[1:]):.1f})" for seen in through.values())
    cpu, (rss, pss, own), cancelled, gone = waiting(steps, tasks, limit)
    yield f"a step of {tasks} tasks of `sleep 0.02` through `tony-azkaban`, start to exit, ms", adapter, ""
    yield "... the same job by `tony submit`, ms", submit, "floor"
    yield "`tony-azkaban` while it waits: resident / PSS / anonymous, MB; CPU, %", f"{rss:.1f} / {pss:.1f} / {own:.1f}; {cpu:.2f}", ""
    yield "SIGTERM to its exit; to the last process of the job, ms", f"{cancelled:.0f}; {gone:.0f}", "2000; 10000"

"""Measures many executors on one AM, many jobs on one machine, and the memory of an idle job."""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import bench_processes

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def many_executors(program, am, tasks, seconds, limit, *how):
    """Returns the figures of tests/bench/many_executors.cc; None if it fails."""
    with tempfile.TemporaryDirectory(prefix="tony-bench-am-", ignore_cleanup_errors=True) as home:
        argv = [program, am, home, str(tasks), str(seconds), *how]
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(argv, capture_output=True, text=True, timeout=limit)
            return json.loads(done.stdout) if done.returncode == 0 else None


def on_one_am(program, am, sizes, seconds, limit, *how):
    """Yields rows for one AM. `how`: "tls" gets more time."""
    for tasks in sizes:
        seen = many_executors(program, am, tasks, seconds, limit, *how)
        what = f"{tasks:,} simulated executors on one `{am.name}`"
        if seen is None:
            yield what, "failed", ""
            continue
        spec = seen["cluster_spec_bytes"] / 1000
        yield f"{what}: all registered after, ms", str(seen["registered_ms"]), "3000" if how else "2000"
        yield f"... the cluster spec ({spec:.0f} kB) with the last of them, ms later", str(seen["released_ms"]), ""
        yield "... resident, MB (most, while the spec goes out)", f"{seen['rss_mb']:.0f} ({seen['most_mb']:.0f})", "200"
        rate = f"... CPU at {seen['heartbeats_per_second']:.0f} heartbeats a second, % of a core"
        yield rate, f"{seen['cpu_percent']:.1f}", "20"


def jobs_at_once(tony, jobs, limit):
    start = time.monotonic()
    with bench_processes.FreeMemory() as memory:
        submits = [subprocess.Popen(tony.submit(1, "sleep 0.02"), env=tony.env, **QUIET) for _ in range(jobs)]
        codes = [submit.wait(limit) for submit in submits]
    took = time.monotonic() - start
    right = f"{codes.count(0)} of {jobs} succeeded"
    yield f"{jobs} jobs of one task submitted at once, to the last verdict, s", f"{took:.2f}; {right}", ""
    yield "... memory that they took at most, MB", f"{memory.taken_mb():.0f}", ""


def programs_of(job):
    """Returns the processes of a job by name; each has the job's folder among its arguments."""
    found = {}
    for process in bench_processes.everybody():
        with contextlib.suppress(OSError):
            arguments = (process / "cmdline").read_bytes().split(b"\0")
            name = pathlib.Path(os.fsdecode(arguments[0])).name
            if name.startswith("tony-") and any(job.encode() in argument for argument in arguments[1:]):
                found.setdefault(name, []).append(process)
    return found


def idle_job(tony, limit, seconds=10):
    """Measures a job of two sleeping tasks, while its submitter waits."""
    with contextlib.ExitStack() as stack:
        submit = subprocess.Popen(tony.submit(2, "sleep 600"), env=tony.env, **QUIET)
        stack.callback(submit.wait, limit)
        stack.callback(submit.terminate)
        end = time.monotonic() + limit
        programs = {}
        while len(programs.get("tony-executor", [])) < 2 and time.monotonic() < end:
            time.sleep(0.1)
            job = tony.newest_job()
            programs = programs_of(job.name) if job else {}
        time.sleep(1)  # until the tasks run and the status shows it
        programs["tony submit"] = [bench_processes.of(submit.pid)]
        everybody = [process for processes in programs.values() for process in processes]
        before = [bench_processes.cpu_ms(process) for process in everybody]
        time.sleep(seconds)
        cpu = dict(zip(everybody, [(bench_processes.cpu_ms(p) - b) / seconds / 10 for p, b in zip(everybody, before)]))
        yield from idle_rows(programs, cpu)


def idle_rows(programs, cpu):
    total = 0.0
    for name, processes in sorted(programs.items()):
        rss, pss, own = map(statistics.mean, zip(*map(bench_processes.memory, processes)))
        total += pss * len(processes)
        percent = statistics.mean(cpu[p] for p in processes)
        each = ", each" if len(processes) > 1 else ""
        yield f"idle job, `{name}`{each}: resident / PSS / anonymous, MB; CPU, %", f"{rss:.1f} / {pss:.1f} / {own:.1f}; {percent:.2f}", ""
    yield "... all programs of the job together (PSS), MB", f"{total:.1f}", ""

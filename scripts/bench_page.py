"""Measures the cost of a job's page for its application master: no visitor, one visit, a hundred waiting browsers."""

import asyncio
import contextlib
import json
import re
import statistics
import subprocess
import time
import urllib.request

import bench_processes
import bench_scale

SECONDS = 20  # two rounds of a watcher without news


def thread_cpu_ms(process):
    """Returns CPU time by thread. True: the AM's own thread, which has the number of the process; False: the page's."""
    return {
        thread.name == process.name: int((thread / "schedstat").read_text().split()[0]) / 1e6
        for thread in (process / "task").iterdir()
    }


async def watch(url, heard, ready):
    """Acts like the page's script: loads the page, then waits for each next version, on one connection."""
    host, path = re.match(r"http://([^/]+)(/.*)", url).groups()
    reader, writer = await asyncio.open_connection(*host.split(":"))
    query = ""
    while True:
        writer.write(f"GET {path}{query} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        header = await reader.readuntil(b"\r\n\r\n")
        page = await reader.readexactly(int(re.search(rb"Content-Length: (\d+)", header)[1]))
        live, seq = re.search(rb'data-live="(\d)" data-seq="(\d+)"', page).groups()
        ready.append(1)
        if live == b"0":
            heard.append(time.monotonic())
            return writer.close()
        query = f"?since={seq.decode()}&timeout=10"


async def crowd(url, watchers, am, end_job):
    heard, ready = [], []
    tasks = [asyncio.create_task(watch(url, heard, ready)) for _ in range(watchers)]
    while len(ready) < watchers:
        await asyncio.sleep(0.05)
    before, began = thread_cpu_ms(am), time.monotonic()
    await asyncio.sleep(SECONDS)
    share = {own: (cpu - before.get(own, 0)) / (time.monotonic() - began) / 10 for own, cpu in thread_cpu_ms(am).items()}
    memory = bench_processes.memory(am).shared
    end_job()
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
    return share, memory, heard


def visits(url, count=200):
    """Returns the time of a whole page and of the status document, each on its own connection, in ms."""
    times = {"": [], "status.json": []}
    for _ in range(count):
        for name, seen in times.items():
            start = time.perf_counter()
            urllib.request.urlopen(url + name, timeout=10).read()
            seen.append((time.perf_counter() - start) * 1000)
    return statistics.median(times[""]), statistics.median(times["status.json"])


def running_job(program, tony, tasks, limit):
    """Returns the job's AM and the address of its page when all tasks run. Tasks end when the file exists."""
    over = tony.home / "page-over"
    over.unlink(missing_ok=True)
    command = f"until [ -e {over} ]; do sleep 0.05; done"
    subprocess.run([*tony.submit(tasks, command), "--detach"], env=tony.env, capture_output=True, timeout=limit, check=True)
    job = tony.newest_job().name
    end = time.monotonic() + limit
    while time.monotonic() < end:
        with contextlib.suppress(ValueError):
            told = subprocess.run([program, "status", job, "--json"], env=tony.env, capture_output=True, text=True)
            status = json.loads(told.stdout)
            if [task["attempt_state"] for task in status["tasks"]] == ["running"] * tasks:
                (am,) = bench_scale.programs_of(job)["tony-am"]
                return job, am, status["tracking_url"], over
        time.sleep(0.05)
    raise RuntimeError("the job's tasks do not run")


def measure(program, tony, limit, tasks=8, watchers=100):
    job, am, url, over = running_job(program, tony, tasks, limit)
    time.sleep(2)  # until the start is over
    before, began = bench_processes.cpu_ms(am), time.monotonic()
    time.sleep(SECONDS)
    alone = (bench_processes.cpu_ms(am) - before) / (time.monotonic() - began) / 10
    memory = bench_processes.memory(am).shared
    page, document = visits(url)
    share, crowded, heard = asyncio.run(crowd(url, watchers, am, over.touch))
    subprocess.run([program, "wait", job], env=tony.env, capture_output=True, timeout=limit)
    yield f"`tony-am` of a running job of {tasks}, nobody looks at its page, % of a core", f"{alone:.2f}", ""
    yield f"... {watchers} browsers wait for news: the master's thread; the page's", f"{share[True]:.2f}; {share.get(False, 0):.2f}", "1"
    yield "... its memory (PSS) without a visitor; with all of them, MB", f"{memory:.1f}; {crowded:.1f}", ""
    yield "the job's page; its status.json, over a new connection, ms", f"{page:.1f}; {document:.1f}", "10"
    spread = (max(heard) - min(heard)) * 1000 if heard else float("nan")
    yield f"the job's end is shown to {len(heard)} of {watchers}, first to last, ms", f"{spread:.0f}", "100"

"""Measures queries about many ended jobs as whole commands, beside `tony version` and `wc -l` of the log."""

import datetime
import json
import os
import pathlib
import select
import statistics
import subprocess
import tempfile
import time
import zlib

FIRST = 1_760_000_000_000  # when the first job was submitted, in milliseconds since 1970
BETWEEN = 300_000
FATES = [("SUCCEEDED", "success", "")] * 14 + [
    ("FAILED", "user_error", "worker:1#1 failed on node-{n}: exit code 1: RuntimeError: shape mismatch in layer {n} of 48, expected (128, 512)"),
    ("FAILED", "oom", "worker:0#1 failed on node-{n}: more memory than 8192 MB: peak 8191 MB"),
    ("FAILED", "node_lost", "the machine was restarted at 2026-11-21T09:30:15.123Z while the job ran"),
    ("FAILED", "user_config", "chief:0#1 failed on node-{n}: exit code 127: train.py: command not found"),
    ("KILLED", "killed", "killed by user{n}"),
    ("SUCCEEDED", "success", ""),
]  # fmt: skip


def job_id(number):
    at = datetime.datetime.fromtimestamp((FIRST + number * BETWEEN) / 1000, datetime.timezone.utc)
    return f"local-{at:%Y%m%d-%H%M%S}-{number:06x}"


def line(number):
    """Returns a line of the log of ended jobs (runtime/history/ended_log.h)."""
    state, outcome, cause = FATES[number * 7 % len(FATES)]
    submitted = FIRST + number * BETWEEN
    fields = (
        1, job_id(number), f"ranking-nightly-{number % 97}", f"user{number % 40}", ("tensorflow", "pytorch", "jax")[number % 3],
        state, outcome, f"airflow://prod/ranking_nightly/scheduled__{number}/train/-1", 0, submitted,
        submitted + 1000 * (60 + number % 3600), 1 + number % 16, int(number % 5 == 0), cause.format(n=number % 200),
    )  # fmt: skip
    text = "\t".join(map(str, fields)).encode()
    return b"%s\t%08x\n" % (text, zlib.crc32(text))


def make_log(home, jobs):
    (home / "history").mkdir()
    with open(home / "history/ended.log", "wb") as log:
        log.writelines(map(line, range(jobs)))
    return home / "history/ended.log"


def status(number):
    time_of = lambda ms: datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    document = {
        "schema": 1, "job": job_id(number), "name": "ranking", "user": "user1", "framework": "jax", "state": "SUCCEEDED", "seq": 9,
        "epoch": 1, "generation": 1, "submitted": time_of(FIRST), "ended": time_of(FIRST + 60_000), "tasks": [],
        "verdict": {"state": "SUCCEEDED", "class": "success", "retryable": False, "message": "", "host": "", "stderr_tail": ""},
    }  # fmt: skip
    return json.dumps(document)


def make_folders(home, jobs):
    """Creates folders of ended jobs for `tony list`, which must read the status only of the newest ones."""
    (home / "jobs").mkdir()
    for number in range(jobs):
        folder = home / "jobs" / job_id(number)
        folder.mkdir()
        (folder / "finished").touch()
        if number >= jobs - 200:
            (folder / "status.json").write_text(status(number))


def milliseconds(argv, env, limit):
    start = time.perf_counter()
    process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pidfd = os.pidfd_open(process.pid)
    select.select([pidfd], [], [], limit)
    took = (time.perf_counter() - start) * 1000
    os.close(pidfd)
    return took if process.wait() == 0 else None


def questions(tony, log):
    history = [tony, "history"]
    yield "`tony version`", [tony, "version"], "floor"
    yield f"`wc -l` of the log, {log.stat().st_size / 1e6:.0f} MB", ["wc", "-l", str(log)], "floor"
    yield "`tony history`: the newest 50", history, ""
    yield "... the newest 50 of a class", [*history, "--class", "oom"], ""
    yield "... one request id, the oldest", [*history, "--request-id", "airflow://prod/ranking_nightly/scheduled__0/train/-1"], "100"
    yield "... a name that nobody has", [*history, "--name", "no-such-name"], "100"
    yield "... a pattern of names that nobody has", [*history, "--name", "*no*such*"], "100"
    yield "... `--stats` of all", [*history, "--stats"], "100"
    yield "`ls -f` of the jobs' folder", ["ls", "-f", str(log.parents[1] / "jobs")], "floor"
    yield "`tony list`", [tony, "list"], "50"


def check(tony, env, jobs):
    """Checks that `tony` accepts the lines; otherwise the figures would be wrong."""
    document = json.loads(subprocess.run([tony, "history", "--stats", "--json"], env=env, check=True, capture_output=True).stdout)
    assert (document["stats"]["jobs"], document["skipped_lines"]) == (jobs, 0), document
    listed = json.loads(subprocess.run([tony, "list", "--json"], env=env, check=True, capture_output=True).stdout)
    assert (len(listed["jobs"]), listed["left_out"]) == (100, jobs - 100), listed["left_out"]


def measure(tony, jobs, runs, limit):
    with tempfile.TemporaryDirectory(prefix="tony-bench-history-") as folder:
        home = pathlib.Path(folder)
        env = dict(os.environ, TONY_HOME=folder)
        log = make_log(home, jobs)
        make_folders(home, jobs)
        check(tony, env, jobs)
        asked = list(questions(str(tony), log))
        times = {what: [] for what, _, _ in asked}
        for run in range(runs + 1):  # the first one warms up
            for what, argv, _ in asked:
                times[what] += [milliseconds(argv, env, limit)][: run]
        for what, _, aim in asked:
            seen = [took for took in times[what] if took is not None]
            yield f"{jobs:,} ended jobs: {what}, ms", f"{statistics.median(seen):.1f} ({min(seen):.1f})" if seen else "failed", aim

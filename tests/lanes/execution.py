"""Runs one unit in a process of its own, and reports its result."""

import collections
import fnmatch
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import time
import traceback

import children
import gtest
from units import ROOT

LOGS = ROOT / "build/logs/lanes"
TASKS = ROOT / "tests/lanes/tasks.sh"
PATIENCE = 10  # seconds for processes that a unit's command has left to exit by themselves
SUM = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)
NICE = 5  # of a build: the suites next to it mostly wait, and should get a core as soon as they wake up

Result = collections.namedtuple("Result", "passed failed skipped cpu wall listed", defaults=((), 0.0, 0.0, ()))


def start(unit):
    """Forks a process that writes the unit's log and result."""
    LOGS.mkdir(parents=True, exist_ok=True)
    result_file(unit).unlink(missing_ok=True)
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        children.become_unit(log_file(unit))
        measured(unit)
        code = 0
    # also catches the end of a stopped unit: a forked process must not return into its parent's code
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def log_file(unit):
    return LOGS / f"{unit.name}.log"


def result_file(unit):
    return LOGS / f"{unit.name}.json"


def times_file(unit):
    return LOGS / f"{unit.name}.times.json"


def result_of(unit):
    """Returns the result after the unit's process has ended."""
    try:
        return Result(**json.loads(result_file(unit).read_text()))
    except (OSError, ValueError, TypeError):
        return Result(0, ["ended without a result"])


def measured(unit):
    began = time.monotonic()

    def stop(*_):
        raise children.Stopped

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(unit.limit)
    try:
        result = judged(unit)
    except children.Stopped:
        children.end_descendants()
        result = Result(0, [f"stopped after {time.monotonic() - began:.0f} s, limit {unit.limit} s"])
    signal.alarm(0)
    if left := children.left_running(PATIENCE):
        result = result._replace(failed=[*result.failed, "left running: " + "; ".join(left)])
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    result = result._replace(cpu=round(sum(each.ru_utime + each.ru_stime for each in used), 2),
                             wall=round(time.monotonic() - began, 2))  # fmt: skip
    result_file(unit).write_text(json.dumps(result._asdict()))


def judged(unit):
    if unit.counts == "gtest":
        return run_gtest(unit)
    pid = children.start(shell(unit.run), env=environment(unit), cwd=ROOT)
    if unit.builds:
        children.give_way(pid, NICE)
    try:
        code = children.wait(pid, unit.limit + 60)
    except children.Stopped:
        signal.alarm(0)
        children.end_group(pid)
        raise
    if unit.counts == "lines":
        return read_lines(log_file(unit).read_text(errors="replace"), code)
    passed = 1 if unit.counts == "itself" and code == 0 else 0
    return Result(passed, [] if code == 0 else [f"exit {code}"])


def shell(command):
    return ["/bin/bash", "-euo", "pipefail", "-c", f". {TASKS}; {command}"]


def environment(unit):
    return {**os.environ, **{name: value.replace("{root}", str(ROOT)) for name, value in unit.env.items()}}


def read_lines(text, code):
    """Reads the output of a suite: "ok NAME" or "FAILED NAME: why" for each check, and at last the totals."""
    named = re.findall(r"^FAILED (?!\()(.+)$", text, re.M)
    sums = SUM.findall(text)
    if not sums:
        return Result(0, [*named, f"no line \"N passed, N failed\", exit {code}"])
    passed, failed = int(sums[-1][0]), int(sums[-1][1])
    skipped = re.findall(r"^skipped (.+)$", text, re.M)
    if (failed == 0) != (code == 0):
        named.append(f"{failed} failed, but exit {code}")
    if passed == 0 and not named and not skipped:
        named.append("ran nothing")
    return Result(passed, [*named, *["a check without a name"] * (failed - len(named))], skipped)


def run_gtest(unit):
    env = environment(unit)
    may_skip = subprocess.run(shell(f"may_be_skipped {unit.preset}"), check=True, capture_output=True, text=True).stdout
    run = gtest.Run(unit, env, "|".join(may_skip.split("\n")).strip("|"), known_times(unit))
    listing = {program: chosen(unit, gtest.listed(program, env)) for program in programs_of(unit)}
    run.all({program: names for program, names in listing.items() if names})
    times_file(unit).write_text(json.dumps(run.measured))
    names = [name for names in listing.values() for name in names]
    if not names:
        run.failed.append("no tests")
    return Result(run.passed, run.failed, run.skipped, listed=names)


def known_times(unit):
    try:
        return json.loads(times_file(unit).read_text())
    except (OSError, ValueError):
        return {}


def programs_of(unit):
    """Returns the test programs that are named, or that belong to a build target."""
    build = ROOT / "build" / unit.preset
    if unit.programs:
        return [str(build / "tests" / name) for name in unit.programs]
    words = ["ninja", "-C", build, "-t", "query", f"tests/{unit.target}"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("outputs:")[0]
    return [str(build / name) for name in re.findall(r"^ +(?:\|{1,2} )?(tests/[\w-]+)$", text, re.M) if is_test(build / name)]


def is_test(path):
    return path.name.endswith(("_test", "_tests")) and os.access(path, os.X_OK)


def chosen(unit, names):
    """Returns the tests of the unit, chosen by regular expressions, and by files with a GoogleTest pattern in each
    line."""
    tests = [(not unit.only, re.compile(unit.only).search), (not unit.only_of, matcher(unit.only_of))]
    exclusions = [(bool(unit.without), re.compile(unit.without).search),
                  (bool(unit.without_those_of), matcher(unit.without_those_of))]  # fmt: skip
    return [name for name in names if all(is_open or matches(name) for is_open, matches in tests)
            and not any(is_set and matches(name) for is_set, matches in exclusions)]  # fmt: skip


def matcher(file):
    lines = (ROOT / file).read_text().splitlines() if file else []
    patterns = [line for line in lines if line and not line.startswith("#")]
    return lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def tail(unit, lines=60):
    try:
        text = pathlib.Path(log_file(unit)).read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [line for line in text if not re.match(r"\[\d+/\d+\] ", line)][-lines:]

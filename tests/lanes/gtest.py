"""Runs the tests of GoogleTest programs: several tests in one process, several processes at once.

A result comes from the JSON file that GoogleTest writes, never from a test's output. A process that dies or hangs
writes no such file: each of its tests then runs again in a process of its own. If none of these fails, the death of the
first process is the failure, because a crash that does not repeat is a fault, too. A test without a result has
failed."""

import dataclasses
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import children

SECONDS = 3.0  # seconds for the tests in one process
MOST = 80  # tests in one process
USUAL = 0.05  # seconds of a test that was never measured
LIMIT = 120  # seconds for a test without a limit of its own
LISTING_LIMIT = 60
LOOKS = 25  # checks for exited processes between two checks for a hanging test
LOOKED_AT = 30000  # bytes at the end of an output
RUNNING = re.compile(rb"^\[ RUN      \] (\S+)$", re.M)
SKIPPED, PASSED, FAILED = "skipped", "passed", "failed"


@dataclasses.dataclass
class Death:
    """A process that died or hung. Its tests run again, each in a process of its own."""

    what: str
    explained: bool = False  # whether a test that fails alone explains it


@dataclasses.dataclass
class Chunk:
    program: str
    tests: list
    death: Death | None = None


def listed(program, env):
    """Returns the full names of a program's tests, without disabled ones."""
    done = subprocess.run([program, "--gtest_list_tests"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LISTING_LIMIT, check=False)  # fmt: skip
    if done.returncode != 0:
        raise OSError(f"{program} --gtest_list_tests: exit {done.returncode}: {done.stderr[-300:]}")
    return parse_listing(done.stdout)


def parse_listing(text):
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if word.startswith("  "):
            names.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return [name for name in names if "DISABLED_" not in name]


def cut(tests, times, slow):
    """Returns (expected seconds, tests) for each process of one program: about SECONDS each; a longer test gets its own
    process."""
    packs, short = [], []
    for test in tests:
        known = [seconds for pattern, seconds in slow if fnmatch.fnmatch(test, pattern)]
        expected = max([times.get(test, USUAL), *known])
        if expected >= SECONDS:
            packs.append([(expected, test)])
            continue
        if not short or len(short) == MOST or expected + sum(seconds for seconds, _ in short) > SECONDS:
            short = []
            packs.append(short)
        short.append((expected, test))
    return [(sum(seconds for seconds, _ in pack), [test for _, test in pack]) for pack in packs]


def chunks_of(listing, times, slow):
    """Returns the chunks of all programs, the longest first."""
    packs = [(seconds, program, tests) for program, names in listing.items() for seconds, tests in cut(names, times, slow)]
    return [Chunk(program, tests) for _, program, tests in sorted(packs, key=lambda pack: -pack[0])]


def read_results(file):
    """Returns {test: (result, seconds)}; empty if GoogleTest wrote no file."""
    try:
        suites = json.loads(file.read_text())["testsuites"]
    except (OSError, ValueError, KeyError):
        return {}
    results = {}
    for suite in suites:
        for test in suite["testsuite"]:
            if test["status"] == "RUN":
                result = FAILED if test.get("failures") else SKIPPED if test["result"] == "SKIPPED" else PASSED
                results[f"{suite['name']}.{test['name']}"] = (result, float(test["time"].rstrip("s")))
    return results


class Process:
    """A running chunk. Its output and its results are in a folder of the run."""

    def __init__(self, chunk, number, folder, env):
        self.chunk, self.out, self.json = chunk, folder / f"{number}.out", folder / f"{number}.json"
        self.test, self.since = None, time.monotonic()
        words = [chunk.program, "--gtest_filter=" + ":".join(chunk.tests), f"--gtest_output=json:{self.json}"]
        with open(self.out, "wb") as out:
            self.pid = children.start(words, env=env, out=out)

    def overdue(self, limit_of):
        """Returns the test that has run longer than its limit, or None."""
        tests = RUNNING.findall(self.out.read_bytes()[-LOOKED_AT:])
        latest = tests[-1].decode(errors="replace") if tests else self.chunk.tests[0]
        if latest != self.test:
            self.test, self.since = latest, time.monotonic()
        return self.test if time.monotonic() - self.since > limit_of(self.test) else None

    def show(self, what):
        """Prints the output of the test `what`, or the end of all output if no test of that name failed."""
        text = self.out.read_bytes().decode(errors="replace")
        name = re.escape(what)
        own = re.search(rf"\[ RUN      \] {name}\n.*?\[  FAILED  \] {name}\b", text, re.DOTALL)
        print(f"---- {what}\n{(own[0] if own else text)[-LOOKED_AT:]}", flush=True)


class Run:
    """The tests of one unit. `may_skip` is a regular expression for the tests that this machine may skip."""

    def __init__(self, unit, env, may_skip, times):
        self.unit, self.env, self.times = unit, env, times
        self.may_skip = re.compile(may_skip or "$^")
        self.passed, self.failed, self.skipped = 0, [], []
        self.measured = {}
        self.queue, self.running, self.deaths = [], [], []

    def limit_of(self, test):
        return next((limit for pattern, limit in self.unit.limits.items() if fnmatch.fnmatch(test, pattern)), LIMIT)

    def all(self, listing):
        self.queue = chunks_of(listing, self.times, self.unit.slow)
        workers = self.unit.workers or os.cpu_count()
        with tempfile.TemporaryDirectory(prefix="tony-lanes-") as folder:
            number = 0
            while self.queue or self.running:
                while self.queue and len(self.running) < workers:
                    number += 1
                    self.running.append(Process(self.queue.pop(0), number, pathlib.Path(folder), self.env))
                for _ in range(LOOKS):
                    time.sleep(children.PAUSE)
                    if self.take_ended():
                        break
                else:
                    self.end_overdue()
        for death in self.deaths:
            if not death.explained:
                self.failed.append(f"{death.what}, although each of its tests passes alone")

    def take_ended(self):
        ended = children.reap()
        done = [process for process in self.running if process.pid in ended]
        for process in done:
            self.end(process, f"exit {ended[process.pid]}", ended[process.pid] in (0, 1))
        return done

    def end_overdue(self):
        for process in list(self.running):
            if test := process.overdue(self.limit_of):
                children.kill(process.pid)
                self.end(process, f"{test} ran longer than {self.limit_of(test)} s", False)

    def end(self, process, how, is_usual):
        self.running.remove(process)
        chunk, results = process.chunk, read_results(process.json)
        if is_usual and all(test in results for test in chunk.tests):
            for test in chunk.tests:
                self.take(test, *results[test], process)
            if how != "exit 0" and not any(results[test][0] == FAILED for test in chunk.tests):
                self.fail(process, f"{chunk.tests[0]} and {len(chunk.tests) - 1} more: {how} without a failed test")
        elif len(chunk.tests) > 1:
            self.deaths.append(Death(f"{pathlib.Path(chunk.program).name} in {process.test or chunk.tests[0]}: {how}"))
            process.show(self.deaths[-1].what)
            self.queue[:0] = [Chunk(chunk.program, [test], self.deaths[-1]) for test in chunk.tests]
        else:
            self.fail(process, f"{chunk.tests[0]}: no result, {how}")

    def take(self, test, result, seconds, process):
        self.measured[test] = seconds
        if result == PASSED:
            self.passed += 1
        elif result == FAILED:
            self.fail(process, test)
        else:
            self.skipped.append(test)
            if not self.may_skip.search(test):
                self.fail(process, f"{test}: skipped, although this machine has what it needs")

    def fail(self, process, what):
        self.failed.append(what)
        process.show(what)
        if process.chunk.death:
            process.chunk.death.explained = True

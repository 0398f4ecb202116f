"""Runs tests as gtest.py does, starts none after a deadline, and stops those that run much longer."""

import fnmatch
import json
import re
import time

import children
import execution
import gtest
import units

TIMES = execution.LOGS / "changed.times.json"
GRACE = 10  # seconds after the deadline for running tests
USUAL_END_TO_END = 1.0  # seconds of an end-to-end test that was never measured


class Deadline:
    def __init__(self, seconds):
        self.at = time.monotonic() + seconds

    def left(self):
        return max(0, self.at - time.monotonic())

    def is_long_past(self):
        return time.monotonic() > self.at + GRACE


class Run(gtest.Run):
    """A run that keeps only a failed test's own output."""

    def __init__(self, unit, env, times, deadline):
        super().__init__(unit, env, ".", times)
        self.deadline, self.said, self.left = deadline, {}, []

    def run(self, program, names):
        try:
            if self.deadline.left():
                self.all({str(program): names})
            else:
                self.left = names
        except BaseException:
            for process in self.running:
                children.kill(process.pid)
            raise

    def take_ended(self):
        if not self.deadline.left():
            self.left += [test for chunk in self.queue if not chunk.death for test in chunk.tests]
            self.queue = [chunk for chunk in self.queue if chunk.death]
        if self.deadline.is_long_past():
            for process in self.running:
                children.kill(process.pid)
                self.left += process.chunk.tests
            self.running = []
        return super().take_ended()

    def fail(self, process, what):
        self.failed.append(what)
        text = process.out.read_bytes()[-gtest.LOOKED_AT:].decode(errors="replace")
        name = re.escape(what.partition(":")[0])
        own = re.search(rf"\[ RUN      \] {name}\n.*?(?:\[  FAILED  \] {name}\b|\Z)", text, re.DOTALL)
        self.said[what] = own[0] if own else text
        if process.chunk.death:
            process.chunk.death.explained = True


def unit_of(file):
    """Returns the unit that has the tests of this source. The unit defines how many tests run at once, and their
    limits."""
    listed, _ = units.read()
    found = [unit for unit in listed.values() for source in unit.sources if f"{file}/".startswith(f"{source}/")]
    return found[0] if found else units.Unit("changed", "", "default", counts="gtest")


def read_times(file):
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {}


def run(program, names, file, env, deadline):
    """Runs tests of one program that contains the source FILE."""
    unit = unit_of(file)
    usual = dict.fromkeys(names, USUAL_END_TO_END) if fnmatch.fnmatch(unit.name, "e2e*") else {}
    run = Run(unit, {**execution.environment(unit), **env}, {**usual, **execution.known_times(unit), **read_times(TIMES)}, deadline)
    run.run(program, names)
    execution.LOGS.mkdir(parents=True, exist_ok=True)
    TIMES.write_text(json.dumps({**read_times(TIMES), **run.measured}))
    return run

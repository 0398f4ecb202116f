"""Runs the tests of one program in pieces, several processes at once, and begins none after a deadline."""

import concurrent.futures
import os
import re
import subprocess
import time

AT_ONCE = 2 * (os.cpu_count() or 1)  # tests wait half of their time
PIECES = 4 * AT_ONCE
LIMIT = 300  # seconds for a piece
# Anywhere in a line, because a test may have printed the beginning of it.
LINE = re.compile(r"\[( RUN      |       OK |  FAILED  |  SKIPPED )\] ([\w/]+\.[\w/]+)")


class Deadline:
    def __init__(self, seconds):
        self.at = time.monotonic() + seconds

    def left(self):
        return max(0, self.at - time.monotonic())


class Outcome:
    def __init__(self):
        self.passed, self.skipped, self.failed = [], [], {}  # what a test that failed printed

    def names(self):
        return {*self.passed, *self.skipped, *self.failed}

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed.update(other.failed)


def list_tests(program):
    said = subprocess.run([program, "--gtest_list_tests"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    names, suite = [], ""
    for line in said.splitlines():
        word = line.partition("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + word)
        elif word.endswith("."):
            suite = word
    return [name for name in names if "DISABLED_" not in name]


def read(text, end):
    """From what a process printed. It must end well, unless a test failed: a leak is seen after the last one."""
    outcome, running, at, last = Outcome(), "", 0, ""
    for found in LINE.finditer(text):
        word, name = found[1].strip(), found[2]
        if word == "RUN":
            running, at = name, found.start()
        elif name == running:
            if word == "OK":
                outcome.passed.append(name)
            elif word == "SKIPPED":
                outcome.skipped.append(name)
            else:
                outcome.failed[name] = text[at:found.end()]
            running, last = "", name
    if running or (end != "exit code 0" and last and not outcome.failed):
        outcome.failed[running or last] = f"{text[at:]}\n{end}"
        outcome.passed = [name for name in outcome.passed if name not in outcome.failed]
    return outcome


def start(program, names, variables):
    words = [program, "--gtest_color=no", f"--gtest_filter={':'.join(names)}"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env={**os.environ, **variables}) as process:
        try:
            return process.communicate(timeout=LIMIT)[0], f"exit code {process.wait()}"
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate()[0], f"has not ended in {LIMIT} s"


def run_piece(program, names, deadline, variables):
    """The tests behind one that ended the process run in another one."""
    outcome = Outcome()
    while names and deadline.left():
        text, end = start(program, names, variables)
        outcome.add(read(text, end))
        left = [name for name in names if name not in outcome.names()]
        if left == names:
            outcome.failed.update(dict.fromkeys(names, ""), **{names[0]: f"{text}\n{end}"})
        names = left if left != names else []
    return outcome


def run(program, names, deadline, variables=None):
    """A test without an outcome was not begun in time."""
    count = min(PIECES, len(names))
    outcome = Outcome()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for each in pool.map(lambda i: run_piece(program, names[i::count], deadline, variables or {}), range(count)):
                outcome.add(each)
        except KeyboardInterrupt:
            deadline.at = 0
            raise
    return outcome

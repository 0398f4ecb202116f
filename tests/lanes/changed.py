#!/usr/bin/env python3
"""Tests the changed files for a minute, the nearest tests first: `scripts/test --changed [BASE]`.

  tests/lanes/changed.py [--seconds N] [BASE]

  BASE         the commit to compare with, HEAD by default; commits since BASE count as changes
  --seconds N  stops after N seconds, 60 by default; all tests of the first program run

It runs the tests of the file's own folder, a simulation for am, executor and runtime/records, the programs that depend
on the changed files, and the end-to-end tests that have the name of the file or use its verb. It lists the tests that
it did not run. The last line is "N passed, N failed"; the exit code is 0 only if none failed."""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import choice  # noqa: E402
import dev_tree  # noqa: E402
import git_files  # noqa: E402
import gtest  # noqa: E402
import gtest_until  # noqa: E402
import test_names  # noqa: E402

SEEDS = 2000
SHOWN = 40  # lines of a failed test's output


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"scripts/test --changed: {message}\n{__doc__}", file=sys.stderr)
        sys.exit(64)


class Session:
    """The tests that ran so far, and their results."""

    def __init__(self, seconds):
        self.seconds, self.deadline, self.began = seconds, gtest_until.Deadline(seconds - gtest_until.GRACE), time.monotonic()
        self.passed = self.failed = self.count = 0
        self.left, self.ran = [], {}  # `left`: texts of tests that did not run; `ran`: the tests that ran, by target
        self.broken = set()  # failed build steps

    def say(self, text, result, began, built=None):
        self.count += 1
        more = f", {built:.1f} s for the build" if built is not None else ""
        print(f"  {text:<36} {result:<24} {time.monotonic() - began:5.1f} s{more}", flush=True)

    def fail(self, text, said):
        self.failed += 1
        lines = said.strip().splitlines()
        shown = lines if len(lines) <= SHOWN else [*lines[:SHOWN // 2], "...", *lines[-SHOWN // 2:]]
        print("\n".join([f"FAILED {text}", *(f"    {line}" for line in shown)]), flush=True)

    def command(self, command):
        if not self.deadline.left():
            self.left.append(command.text)
            return
        began = time.monotonic()
        try:
            folder = str(dev_tree.build_programs(self.deadline.left())) if command.needs_programs else ""
        except (dev_tree.Failed, subprocess.TimeoutExpired) as error:
            self.not_built(command.text, error, began)
            return
        words = [word.replace("{bin}", folder) for word in command.words]
        self.judge(command.text, words, "passed", began, {**os.environ, "TONY_BIN_DIR": folder})

    def judge(self, text, words, result, began, env=None, built=None):
        """Runs a command that counts as one test. A slow one may run on for a while."""
        try:
            dev_tree.run(words, self.deadline.left() + gtest_until.GRACE, env=env)
        except subprocess.TimeoutExpired:
            self.say(text, "not ended in time", began, built)
            self.left.append(text)
        except dev_tree.Failed as error:
            self.say(text, "failed", began, built)
            self.fail(text, str(error))
        else:
            self.say(text, result, began, built)
            self.passed += 1

    def not_built(self, text, error, began):
        if isinstance(error, subprocess.TimeoutExpired):
            self.say(text, "not built in time", began)
            self.left.append(text)
            return
        broken = set(re.findall(r"^FAILED: .*", str(error), re.MULTILINE))
        self.say(text, "not built", began)
        self.fail(text, "as above" if broken and broken <= self.broken else str(error))
        self.broken |= broken

    def part(self, tree, part):
        text = part.target + (f", {part.size} of its tests" if part.names else "")
        first = part.stage == choice.OWN and not self.ran
        if not self.deadline.left() and not first:
            self.left.append(text)
            return
        began = time.monotonic()
        try:
            program, variables = self.build(tree, part, None if first else self.deadline.left())
        except (dev_tree.Failed, subprocess.TimeoutExpired) as error:
            self.not_built(text, error, began)
            return
        built = time.monotonic() - began
        env, (ran, wanted) = {**os.environ, **variables}, (self.ran.setdefault(part.target, set()), set(part.names))
        try:
            listed = gtest.listed(program, env)
        except (OSError, subprocess.TimeoutExpired) as error:
            self.fail(part.target, str(error))
            return
        names = [name for name in listed
                 if name not in ran and (not wanted or test_names.core_of(name) in wanted)]
        if not names:
            return
        limit = gtest_until.Deadline(max(self.deadline.left(), self.seconds / 2)) if first else self.deadline
        run = gtest_until.run(program, names, part.file, env, limit)
        ran |= set(names) - set(run.left)
        self.passed += run.passed
        result = f"{run.passed} passed" + f", {len(run.skipped)} skipped" * bool(run.skipped)
        self.say(part.target, result + f", {len(run.failed)} failed" * bool(run.failed), began, built)
        for what in run.failed:
            self.fail(f"{part.target}: {what}", run.said.get(what, ""))
        if run.left:
            self.left.append(f"{len(run.left)} tests of {part.target}")

    def build(self, tree, part, seconds):
        if choice.is_end_to_end(part.file):
            return dev_tree.build_end_to_end(part.target, part.names, seconds)
        tree.build([part.target], seconds)
        return tree.program(part.target), {}

    def simulation(self, kind):
        """Runs a simulation. The dev preset runs an eighth of the seeds, which takes as long as compiling three batches
        for other presets."""
        text = f"tony-sim {kind}".rstrip()
        if not self.deadline.left():
            self.left.append(text)
            return
        began = time.monotonic()
        try:
            tree = dev_tree.build_cheapest({"dev": ["tony-sim"], "release": ["tony-sim"]}, self.deadline.left(), slow=3)
        except (dev_tree.Failed, subprocess.TimeoutExpired) as error:
            self.not_built(text, error, began)
            return
        built = time.monotonic() - began
        seeds = SEEDS // 8 if tree.preset == "dev" else SEEDS
        words = [tree.folder / "tests/tony-sim", "--seeds", str(seeds), *kind.split()]
        self.judge(f"{text}, preset {tree.preset}", words, f"{seeds} seeds passed", began, built=built)


def merged(parts):
    """Merges parts into one for each program and stage, the nearest first."""
    found = {}
    for part in sorted(parts):
        other = found.setdefault((part.stage, part.target), part)
        names = () if not part.names or not other.names else tuple(sorted({*part.names, *other.names}))
        found[part.stage, part.target] = dataclasses.replace(other, names=names, size=len(names) or max(part.size, other.size))
    return sorted(found.values())


def choose(files):
    """Returns (tree, commands, parts, simulations, files without a quick test)."""
    tree, commands, parts, simulations, without = dev_tree.Tree(), [], [], set(), []
    chosen = None
    for file in files:
        own = list(choice.commands(file))
        commands += own
        if any(not command.is_look for command in own):
            continue
        if chosen is None:
            tree.configure()
            chosen = choice.Choice(tree, test_names.all_tests(), dev_tree.Includes(git_files.all_files()))
        some = list(chosen.parts(file))
        by_name = []
        if choice.is_cc(file):
            some += chosen.end_to_end(file)
            simulations.update(chosen.simulations(file))
        elif not some:
            some, by_name = chosen.by_name(file, exact=bool(own))
            commands += by_name
        if not some and not by_name:
            without.append(file)
        parts += some + (chosen.layering() if choice.is_cc(file) and not file.startswith("tests/") else [])
    return tree, list(dict.fromkeys(commands)), merged(parts), sorted(simulations), without


def run(files, seconds):
    session = Session(seconds)
    print(f"{len(files)} files changed: {', '.join(files[:5])}{', ...' if len(files) > 5 else ''}", flush=True)
    try:
        tree, commands, parts, simulations, without = choose(files)
    except dev_tree.Failed as error:
        session.fail("cmake --preset dev", str(error))
        return session, []
    for command in commands:
        if not command.needs_programs:
            session.command(command)
    # The nearest program of the folder runs first, then the simulation, then everything slower.
    first = [part for part in parts[:1] if part.stage == choice.OWN]
    for part in first:
        session.part(tree, part)
    for kind in simulations:
        session.simulation(kind)
    for command in commands:
        if command.needs_programs:
            session.command(command)
    for part in parts[len(first):]:
        session.part(tree, part)
    return session, without


def main(arguments):
    parser = Parser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("base", nargs="?", default="HEAD")
    options = parser.parse_args(arguments)
    try:
        files = git_files.changed_since(options.base)
    except ValueError as error:
        parser.error(f"{options.base}: {error}")
    session, without = run(files, options.seconds)
    if session.left:
        print(f"not run, because {options.seconds:g} s were over: {', '.join(session.left)}")
    for file in without:
        unit = choice.unit_of(file)
        print(f"no quick test: {file}; scripts/test " + (f"--only {unit}" if unit else "runs all"))
    print(f"ran {session.count} in {time.monotonic() - session.began:.1f} s; scripts/test runs everything")
    print(f"{session.passed} passed, {session.failed} failed")
    return 1 if session.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)

"""Runs the tests in units. Units run in parallel if one of them mostly waits (tests/lanes/units.toml).

    scripts/test                    the default lane, which everybody runs
    scripts/test --ci               the default lane and the units that continuous integration adds
    scripts/test --long             all units, including the slow ones
    scripts/test --changed [BASE]   tests that an edit can break, within a minute (tests/lanes/changed.py)

    --only REGEX     units, and tests of GoogleTest programs, whose name matches; in all lanes
    --resume         leave out the units that passed for the same sources
    --part K/N       the K-th of N shares of the units, of about equal length; each share builds its own needs
    --until 170m     start no unit that would not end in time by its recorded seconds; exit code 75 if some are left
    --list           list the units with their recorded minutes and their results for these sources
    --verdict        print the results of earlier runs for these sources; exit code 75 while a unit lacks a result
    --record cold    take the seconds of the last runs into tests/lanes/seconds.json and units.md; or warm

A unit whose need failed has failed, too. The last line is "N passed, N failed"; the exit code is 0 only if
none failed and something ran, 64 for a wrong command line, 75 if --until left units out. Each unit's output is in
build/logs/lanes/UNIT.log, and build/results.jsonl has a line for each unit that ran."""

import argparse
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import execution  # noqa: E402
import machine  # noqa: E402
import record  # noqa: E402
import test_names  # noqa: E402
import units  # noqa: E402
from schedule import UNKNOWN, Schedule  # noqa: E402

USAGE, NOT_ALL_YET = 64, 75
HERE = pathlib.Path(__file__).resolve().parent


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"scripts/test: {message}\n\n{__doc__}", file=sys.stderr)
        sys.exit(USAGE)


def regular_expression(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text}: not a regular expression: {error}") from error


def share(text):
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text}: expected K/N, for example 2/4")
    return int(part), int(parts)


def minutes(text):
    if not re.fullmatch(r"\d+m", text):
        raise argparse.ArgumentTypeError(f"{text}: expected minutes, for example 170m")
    return 60.0 * int(text[:-1])


def parse(words):
    parser = Parser(add_help=False)
    lanes = parser.add_mutually_exclusive_group()
    for lane in ("ci", "long"):
        lanes.add_argument(f"--{lane}", dest="lane", action="store_const", const=lane, default="default")
    parser.add_argument("--only", type=regular_expression)
    parser.add_argument("--part", type=share)
    parser.add_argument("--until", type=minutes)
    parser.add_argument("--record", choices=("cold", "warm"))
    for name in ("resume", "list", "verdict", "help"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args(words)


def names_in_sources(unit):
    """Returns the tests of a unit from its sources, as "Suite.Name", for --only before anything is built."""
    for source in unit.sources:
        path = units.ROOT / source
        for file in [path] if path.is_file() else sorted(path.rglob("*.cc")):
            yield from test_names.cc_tests(file.read_text())


def matching(only, listed):
    """Returns the units that --only chooses. If only some tests of a unit match, the unit keeps only these tests."""
    chosen = []
    for unit in listed.values():
        if only.search(unit.name):
            chosen.append(unit)
        elif any(only.search(name) for name in names_in_sources(unit)):
            chosen.append(units.dataclasses.replace(unit, only=only.pattern))
    return chosen


def dealt(chosen, part, recorded):
    """Returns the K-th share. Each unit, the longest first, goes to the share that is the shortest so far."""
    sums = [0.0] * part[1]
    mine = []
    for unit in sorted(chosen, key=lambda unit: -seconds_of(unit, recorded)["wall"]):
        at = sums.index(min(sums))
        sums[at] += seconds_of(unit, recorded)["wall"]
        if at == part[0] - 1:
            mine.append(unit)
    return mine


def seconds_of(unit, recorded):
    return {**UNKNOWN, **recorded["units"].get(unit.name, {})}


class Run:
    """A call of scripts/test."""

    def __init__(self, options):
        self.options = options
        self.listed, self.groups = units.read()
        self.recorded = record.seconds()
        self.known = record.results()
        self.tree = units.working_tree()
        self.passed, self.failures, self.skipped = 0, [], []
        self.cpu, self.left_out, self.shown = 0.0, [], []
        self.machine = machine.Speed()
        self.running = {}

    def hash_of(self, unit):
        return units.inputs_hash(self.listed[unit.name], self.groups, self.tree)

    def chosen(self):
        options = self.options
        chosen = matching(options.only, self.listed) if options.only else units.of_lane(self.listed, options.lane)
        if not chosen:
            sys.exit(f"scripts/test: no unit and no test matches {options.only.pattern}")
        if options.part:
            chosen = dealt([unit for unit in chosen if unit.counts != "nothing"], options.part, self.recorded)
        if options.resume:
            self.shown = [unit for unit in chosen if unit.counts != "nothing" and self.is_shown(unit)]
            chosen = [unit for unit in chosen if unit.counts != "nothing" and unit not in self.shown]
        changed = {unit.name: unit for unit in chosen}
        return [changed.get(unit.name, unit) for unit in units.with_needs(self.listed, chosen)]

    def is_shown(self, unit):
        last = record.last(unit, self.hash_of(unit), self.known)
        return last is not None and not last["failed"]

    def all(self):
        chosen = self.chosen()
        began = self.began = time.monotonic()
        self.total, self.ended = len(chosen), 0
        schedule = Schedule(chosen, {unit.name: seconds_of(unit, self.recorded) for unit in chosen}, os.cpu_count())
        try:
            self.work(schedule)
        except KeyboardInterrupt:
            self.stop()
            return 130
        finally:
            self.machine.stop()
        return self.summary(time.monotonic() - began)

    def work(self, schedule):
        while not schedule.over():
            for name, need in schedule.blocked():
                self.report(self.listed[name], execution.Result(0, [f"did not run, because {need} failed"]))
            while (unit := schedule.next()) and self.may_start(unit, schedule):
                pid = execution.start(unit)
                self.running[pid] = (unit, os.pidfd_open(pid))
                schedule.started(unit.name)
            if not self.options.only:
                self.machine.look()
            for unit, result in self.take_ended():
                schedule.ended(unit.name, not result.failed)
                self.report(unit, result)

    def may_start(self, unit, schedule):
        limit = self.options.until
        recorded = self.recorded["units"].get(unit.name, {}).get("wall", unit.limit)
        if limit is None or time.monotonic() - self.began + recorded <= limit:
            return True
        self.left_out.append(unit.name)
        schedule.started(unit.name)
        schedule.ended(unit.name, False)
        for name, _ in schedule.blocked():
            self.left_out.append(name)
        return False

    def take_ended(self):
        """Waits at most a second for a unit to end. On a terminal the last line shows the running units."""
        if not self.running:
            return []
        poll = select.poll()
        for _, descriptor in self.running.values():
            poll.register(descriptor, select.POLLIN)
        poll.poll(1000)
        self.show_running()
        ended = []
        for pid, (unit, descriptor) in list(self.running.items()):
            if os.waitpid(pid, os.WNOHANG)[0]:
                os.close(descriptor)
                del self.running[pid]
                ended.append((unit, execution.result_of(unit)))
        return ended

    def show_running(self):
        if sys.stdout.isatty():
            text = ", ".join(sorted(unit.name for unit, _ in self.running.values()))
            print(f"\r\033[K{time.monotonic() - self.began:.0f} s: {text}"[:118], end="", flush=True)

    def report(self, unit, result):
        self.ended += 1
        self.passed += result.passed
        self.cpu += result.cpu
        self.failures += [f"{unit.name}: {what}" for what in result.failed]
        self.skipped += [f"{unit.name}: {what}" for what in result.skipped]
        record.append({"unit": unit.name, "inputs": self.hash_of(unit), "tree": self.tree, "passed": result.passed,
                       "failed": result.failed, "skipped": list(result.skipped), "cpu": result.cpu, "wall": result.wall,
                       "calibration": self.machine.seconds(), "partial": unit != self.listed[unit.name], "at": int(time.time())})  # fmt: skip
        tests = "" if unit.counts == "nothing" and not result.failed else f"{result.passed} passed"
        tests += f", {len(result.failed)} failed" if result.failed else ""
        clear = "\r\033[K" if sys.stdout.isatty() else ""
        print(f"{clear}[{self.ended}/{self.total}] {unit.name:<24} {result.wall:7.1f} s {result.cpu:7.1f} s of CPU   {tests}",
              flush=True)  # fmt: skip
        for what in result.failed:
            print(f"    FAILED {unit.name}: {what}", flush=True)
        if result.failed and result.wall:
            print("\n".join(f"    | {line[:200]}" for line in execution.tail(unit)), flush=True)
            print(f"    the whole output: {execution.log_file(unit)}", flush=True)

    def stop(self):
        for pid in self.running:
            os.kill(pid, signal.SIGTERM)
        for pid in self.running:
            os.waitpid(pid, 0)

    def summary(self, wall):
        for skipped in self.skipped:
            print(f"skipped {skipped}")
        for unit in self.shown:
            print(f"passed earlier for the same sources: {unit.name}")
        for name in self.left_out:
            print(f"left out, because it would not end in time: {name}")
        for failure in self.failures:
            print(f"failed in {failure}")
        cores = os.cpu_count()
        print(f"{self.total} units in {wall:.0f} s, {self.cpu:.0f} s of CPU, {cores} cores {100 * self.cpu / wall / cores:.0f} % busy; "
              f"{len(self.skipped)} skipped")  # fmt: skip
        self.compare()
        print(f"{self.passed} passed, {len(self.failures)} failed")
        if self.failures or not (self.passed or self.shown):
            return 1
        return NOT_ALL_YET if self.left_out else 0

    def compare(self):
        """Compares the times with the record, in seconds of the recorded machine. A slow run only warns, because
        machines differ."""
        sums = sum(entry["cpu"] for name, entry in self.recorded["units"].items()
                   if name in {unit.name for unit in units.of_lane(self.listed, "default")} and "cpu" in entry)  # fmt: skip
        mine = record.in_recorded_seconds(self.cpu, self.machine.seconds(), self.recorded)
        if mine is None or self.options.lane != "default" or self.options.part or self.options.resume:
            return
        print(f"calibration {self.machine.seconds()} s: {mine:.0f} s of CPU on the recorded machine, recorded {sums:.0f} s")
        if mine > record.TOLERANCE * sums:
            print(f"warning: this run needed {100 * mine / sums - 100:.0f} % more CPU time than is recorded")

    def list(self):
        print(f"{'unit':<24} {'lane':<8} {'min':>6} {'CPU':>6}")
        for unit in units.of_lane(self.listed, self.options.lane):
            known = self.recorded["units"].get(unit.name)
            time_known = f"{known['wall'] / 60:6.1f} {known['cpu'] / 60:6.1f}" if known else f"{'?':>6} {'?':>6}"
            state = "  shown for these sources" if self.is_shown(unit) else ""
            print(f"{unit.name:<24} {unit.lane:<8} {time_known}{state}")
        return 0

    def verdict(self):
        """Prints the results of earlier runs for these sources, including runs of other machines that share
        build/results.jsonl."""
        missing, red, passed = [], [], 0
        for unit in units.of_lane(self.listed, self.options.lane):
            if unit.counts == "nothing":
                continue
            last = record.last(unit, self.hash_of(unit), self.known)
            if last is None:
                missing.append(unit.name)
            elif last["failed"]:
                red += [f"{unit.name}: {what}" for what in last["failed"]]
            else:
                passed += last["passed"]
        for name in missing:
            print(f"not run yet for these sources: {name}")
        for failure in red:
            print(f"failed in {failure}")
        print(f"{passed} passed, {len(red)} failed")
        return 1 if red else NOT_ALL_YET if missing else 0


def main(words):
    if words[:1] == ["--changed"]:
        return subprocess.run([sys.executable, "-B", HERE / "changed.py", *words[1:]]).returncode
    options = parse(words)
    if options.help:
        print(__doc__)
        return 0
    if options.record:
        record.keep(options.record, units.read()[0])
        return 0
    run = Run(options)
    return run.list() if options.list else run.verdict() if options.verdict else run.all()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))

"""Finds processes and measures their memory and CPU by /proc."""

import contextlib
import pathlib
import re
import threading
from typing import NamedTuple

LOOK_EVERY = 0.02  # seconds


class Megabytes(NamedTuple):
    """The memory of one process, or of several together."""

    resident: float = 0  # shared pages count fully
    shared: float = 0  # shared pages count in part (PSS)
    own: float = 0  # anonymous pages: the cost of each further process

    def plus(self, other):
        return Megabytes(*(a + b for a, b in zip(self, other)))

    def most(self, other):
        """Returns the maximum of each kind, possibly from different times."""
        return Megabytes(*map(max, self, other))


def everybody():
    return pathlib.Path("/proc").glob("[0-9]*")


def of(pid):
    return pathlib.Path(f"/proc/{pid}")


def started(process):
    """Identifies a process: a later process with this number, or another program after an exec, differs."""
    return process.name, (process / "comm").read_bytes(), (process / "stat").read_text().rpartition(")")[2].split()[19]


def memory(process):
    """Returns the memory of a process. Raises OSError or ValueError if the process has ended."""
    rollup = (process / "smaps_rollup").read_text()
    fields = [re.search(rf"^{field}:\s+(\d+) kB", rollup, re.M) for field in ("Rss", "Pss", "Anonymous")]
    if None in fields:
        raise ValueError(f"{process}/smaps_rollup: empty")
    return Megabytes(*(int(field[1]) / 1024 for field in fields))


def cpu_ms(process):
    """Returns the CPU time of all threads from the kernel's scheduler, because stat only has ticks of 10 ms."""
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in (process / "task").iterdir()) / 1e6


class Watch:
    """Calls look() repeatedly in its own thread while the context is open."""

    def __enter__(self):
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        while not self.over.wait(LOOK_EVERY):
            self.look()


class FreeMemory(Watch):
    """Measures by how much the machine's available memory falls while the context is open."""

    def __init__(self):
        self.before = self.least = self.available()

    def look(self):
        self.least = min(self.least, self.available())

    def taken_mb(self):
        return (self.before - self.least) / 1024

    @staticmethod
    def available():
        return int(re.search(r"^MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M)[1])


class Memory(Watch):
    """Records in `most` the peak of all processes for which wanted() is true, while the context is open."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.most = Megabytes()
        self.foreign = set()

    def look(self):
        now = Megabytes()
        for process in everybody():
            with contextlib.suppress(OSError, ValueError):
                key = started(process)
                if key in self.foreign:
                    continue
                if self.wanted(process):
                    now = now.plus(memory(process))
                else:
                    self.foreign.add(key)
        self.most = self.most.most(now)

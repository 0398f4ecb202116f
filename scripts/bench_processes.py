"""What processes cost, and which there are, as /proc tells."""

import contextlib
import pathlib
import re
import threading
from typing import NamedTuple

LOOK_EVERY = 0.02  # seconds


class Megabytes(NamedTuple):
    """Of one process, or of several together."""

    resident: float = 0  # what others map, too, counts whole
    shared: float = 0  # ... counts in part (PSS)
    own: float = 0  # anonymous: written by the process itself, so that each further one costs a machine so much

    def plus(self, other):
        return Megabytes(*(a + b for a, b in zip(self, other)))

    def most(self, other):
        """Of each kind the most, which both may have had at different times."""
        return Megabytes(*map(max, self, other))


def everybody():
    return pathlib.Path("/proc").glob("[0-9]*")


def of(pid):
    return pathlib.Path(f"/proc/{pid}")


def started(process):
    """Tells a process from a later one of its number, or from what it was before it became another program."""
    return process.name, (process / "comm").read_bytes(), (process / "stat").read_text().rpartition(")")[2].split()[19]


def memory(process):
    """OSError or ValueError: it has ended."""
    rollup = (process / "smaps_rollup").read_text()
    fields = [re.search(rf"^{field}:\s+(\d+) kB", rollup, re.M) for field in ("Rss", "Pss", "Anonymous")]
    if None in fields:
        raise ValueError(f"{process}/smaps_rollup: empty")
    return Megabytes(*(int(field[1]) / 1024 for field in fields))


def cpu_ms(process):
    """Of all its threads, as the kernel's scheduler counts it in nanoseconds; stat has ticks of 10 ms."""
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in (process / "task").iterdir()) / 1e6


class Watch:
    """look() is called all the time, from a thread of its own, while this is open."""

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
    """The least that the machine had available while this is open, against what it had before."""

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
    """The most that the processes for which wanted() is true had together while this is open, in `most`."""

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

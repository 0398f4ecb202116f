"""Measures the speed of this machine while the units run, because parallel processes on few cores slow each other
down."""

import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import time

SOURCE = pathlib.Path(__file__).resolve().parent / "calibration.cc"
EVERY = 180  # seconds between two compiles


class Speed:
    """Compiles SOURCE now and then, next to the running units."""

    def __init__(self):
        self.measured = []  # CPU seconds of each compile
        self.pid, self.next = None, time.monotonic()

    def look(self):
        """Takes the result of a finished compile, and starts the next one when it is due. Never waits."""
        if self.pid:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.pid = None
                if status == 0:
                    self.measured.append(usage.ru_utime)
        elif time.monotonic() >= self.next and shutil.which("g++"):
            self.next = time.monotonic() + EVERY
            process = subprocess.Popen(["g++", "-std=c++20", "-O1", "-c", "-o", os.devnull, SOURCE])
            process.returncode = 0  # this module waits for the process, not the object
            self.pid = process.pid

    def stop(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def seconds(self):
        """Returns the median of all compiles so far; None before the first."""
        return round(statistics.median(self.measured), 2) if self.measured else None

"""The processes of one unit, with all their descendants.

A unit runs in a process of its own that is the subreaper of its descendants: a process that a program of the unit
leaves running becomes its child. So the unit's CPU time is complete, and at its end none of its processes runs on.
"""

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PAUSE = 0.02  # seconds between two checks of the children
GRACE = 30  # seconds for a command to clean up after SIGTERM, e.g. to stop a cluster
libc = ctypes.CDLL(None, use_errno=True)


class Stopped(BaseException):
    """Raised when the unit must end because its limit is over or the whole run is stopped."""


def become_unit(log):
    """Gives the forked process of a unit a session and a log of its own."""
    os.setsid()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)

    def stop(*_):
        raise Stopped

    signal.signal(signal.SIGTERM, stop)


def start(argv, env=None, out=None, cwd=None):
    """Starts a process and returns its id. The process has a session of its own, so that a signal to it reaches its
    whole group."""
    process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    process.returncode = 0  # this module waits for the process, not the object
    return process.pid


def give_way(pid, nice):
    """Lowers the priority of a process and its session. This also works on kernels that share the cores among sessions
    and apply nice values only within a session."""
    os.setpriority(os.PRIO_PROCESS, pid, nice)
    with contextlib.suppress(OSError):
        pathlib.Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def reap():
    """Returns {process id: exit code} of the children that have exited, including orphans; the code is negative after a
    signal."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended


def wait(pid, limit):
    """Returns the exit code; None after `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        ended = reap()
        if pid in ended:
            return ended[pid]
        if time.monotonic() > end:
            return None
        time.sleep(PAUSE)


def descendants():
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                fields = pathlib.Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents[int(entry)] = int(fields[1])
    found, new = set(), {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new and pid not in found}
        found |= new
    return found


def words_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return "?"


def kill(pid):
    """Sends SIGKILL to a process and its group. Their orphans live until the unit ends."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def end_group(pid):
    """Sends SIGTERM to a command and its group, then SIGKILL to everything that is left below this process."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGTERM)
    left_running(GRACE)


def end_descendants():
    while left := descendants():
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap()
        time.sleep(PAUSE)
    reap()


def left_running(patience):
    """Returns the processes that still run `patience` seconds after the unit's command has ended, and kills them."""
    end = time.monotonic() + patience
    while left := descendants():
        reap()
        if time.monotonic() > end:
            texts = [f"{pid} {words_of(pid)[:200]}" for pid in sorted(left)]
            end_descendants()
            return texts
        time.sleep(PAUSE)
    reap()
    return []

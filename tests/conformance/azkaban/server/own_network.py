"""A network of this process's own, in which a server that listens everywhere is heard by nobody else."""

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP, IFF_RUNNING = 0x1, 0x40  # linux/if.h


def enter():
    """Why that is not possible, or "". For good, for all that is started from now on; not while there are threads."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNET) != 0:
        # Who is not root may still be it in a user namespace, where everybody keeps the own number.
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return os.strerror(ctypes.get_errno())
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{user} {user} 1")
        write("/proc/self/gid_map", f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP | IFF_RUNNING))
    return ""


def write(file, text):
    with open(file, "w", encoding="ascii") as out:
        out.write(text)

"""A network namespace for this process, in which nobody else can reach a server that listens on all addresses."""

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP, IFF_RUNNING = 0x1, 0x40  # linux/if.h


def enter():
    """Enters the namespace, permanently, for this process and for all that it starts. It must have no threads yet.
    Returns why that is not possible, or ""."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNET) != 0:
        # An unprivileged user may do it in a user namespace in which every user keeps its number.
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

"""Accounts of this machine that exist during a suite. Needs root."""

import contextlib
import os
import pathlib
import pwd
import subprocess

from common import LIMIT, tool

MARK = "an account of TonY's tests, made by process "


def remove(name):
    subprocess.run(["userdel", name], capture_output=True, timeout=LIMIT, check=False)


def remove_leftovers():
    """Removes accounts that killed runs have left."""
    for account in pwd.getpwall():
        maker = account.pw_gecos.removeprefix(MARK)
        if maker != account.pw_gecos and not pathlib.Path("/proc", maker).exists():
            remove(account.pw_name)


def add(name, home):
    """Makes an account with a group and a home of its own."""
    words = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", home, "--shell",
             "/usr/sbin/nologin", "--comment", f"{MARK}{os.getpid()}", name]  # fmt: skip
    tool(f"making the user {name}", words, LIMIT)
    account = pwd.getpwnam(name)
    home.mkdir()
    os.chown(home, account.pw_uid, account.pw_gid)
    home.chmod(0o700)
    return account


@contextlib.contextmanager
def made(folder, names):
    """Makes an account for each name, with homes in the folder, and removes them at the end. No process may run as
    these users then."""
    remove_leftovers()
    folder.mkdir()
    accounts = []
    try:
        for name in names:
            accounts.append(add(f"tony-{name}-{os.getpid()}", folder / name))
        yield accounts
    finally:
        for account in accounts:
            remove(account.pw_name)

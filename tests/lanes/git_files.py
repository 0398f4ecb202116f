"""Git's view of the files, with names relative to the root."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words, "-z"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return {name for name in done.stdout.split("\0") if name}


def untracked():
    return git("ls-files", "--others", "--exclude-standard")


def all_files():
    return git("ls-files") | untracked()


def changed_since(base):
    """Returns files that were changed since the commit, in later commits or not, and files that git does not know
    yet."""
    if base.startswith("-"):
        raise ValueError("this is not a commit")
    return sorted(git("diff", "--name-only", "--no-renames", "--merge-base", base) | untracked())

"""Steps of two users by execute.as.user, in Azkaban 3.58.0's own process job: a part of scripts/test --long.

The server has a user of its own, and a setuid program that does the same as Azkaban's. All jobs have one home, in which
each user has a folder. The suite needs root, because it makes the users and removes them again.
"""

import contextlib
import dataclasses
import os
import pathlib
import pwd
import shutil
import stat
import subprocess

from common import LIMIT, Sandbox, compiled, fetched, tool
from level1.executor import AZKABAN, Executor
from level1.executor import HERE as LEVEL1

from . import checks, users

AT_ONCE = 4
CHECKS = checks.CHECKS
HELPER = "execute-as-user"


def install(sandbox):
    """Does nothing. started() installs the programs and the setuid program, because they have to be in a place that the
    users can reach."""


def give(source, target):
    """Copies or links files for users who may not be allowed to read the folder of this checkout."""
    target.mkdir()
    for file in source.iterdir():
        if file.is_file():
            try:
                os.link(file, target / file.name)
            except OSError:  # the target is on another file system
                shutil.copy2(file, target / file.name)


def build_helper(folder, group):
    """Builds the program as Azkaban's documents describe its installation: only the server's group may run it."""
    folder.mkdir()
    helper = folder / HELPER
    source = pathlib.Path(__file__).with_name(f"{HELPER}.c")
    tool("compiling the setuid program", ["cc", "-Wall", "-Wextra", "-O1", "-o", helper, source], LIMIT)
    for path, mode in ((helper, 0o6050), (folder, 0o750)):
        os.chown(path, 0, group)
        path.chmod(mode)


@dataclasses.dataclass
class Azkaban:
    """The executor server, and the accounts of the users whose steps it runs."""

    sandbox: Sandbox
    executor: Executor
    server: pwd.struct_passwd
    ann: pwd.struct_passwd
    bob: pwd.struct_passwd

    def run(self, write, flow):
        """Starts a flow in a folder that belongs to the server, like Azkaban's own folders."""

        def write_for_server(folder):
            write(folder)
            for path in (folder, *folder.rglob("*")):
                os.chown(path, self.server.pw_uid, self.server.pw_gid)
                path.chmod(0o2775 if stat.S_ISDIR(path.stat().st_mode) else 0o664)

        return self.executor.run(write_for_server, flow)

    def home(self, user):
        """Returns the folder for a user's jobs."""
        return self.sandbox.folder / "home" / str(user.pw_uid)

    def as_user(self, user, *words, **variables):
        """Runs a program as a user; returns its output and exit code."""
        environment = self.sandbox.environment(HOME=user.pw_dir, **variables)
        return subprocess.run(words, user=user.pw_uid, group=user.pw_gid, extra_groups=[], env=environment, cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                              check=False)  # fmt: skip


@contextlib.contextmanager
def started(sandbox):
    assert os.geteuid() == 0, "needs root, to make two users and a setuid program"
    assert not os.statvfs(sandbox.folder).f_flag & os.ST_NOSUID, f"{sandbox.folder} lets no setuid program be"
    os.umask(0o022)
    sandbox.folder.chmod(0o755)
    give(sandbox.bin, sandbox.folder / "bin")
    sandbox.bin = sandbox.folder / "bin"
    jars = fetched(LEVEL1 / "pom.xml", AZKABAN)
    shutil.copytree(jars, sandbox.folder / "jars")
    shutil.copytree(compiled(LEVEL1 / "java", jars, AZKABAN), sandbox.folder / "classes")
    for shared in ("home", "ledger"):
        (sandbox.folder / shared).mkdir(exist_ok=True)
        (sandbox.folder / shared).chmod(0o1777)
    with users.made(sandbox.folder / "users", ("server", "ann", "bob")) as (server, ann, bob):
        build_helper(sandbox.folder / "native", server.pw_gid)
        tool("installing the plugin", [sandbox.bin / "tony-azkaban", "install", sandbox.jobtypes], LIMIT,
             env=sandbox.environment())  # fmt: skip
        (sandbox.jobtypes / "commonprivate.properties").write_text(
            f"azkaban.native.lib={sandbox.folder}/native\nazkaban.group.name={server.pw_name}\n"
            "memCheck.enabled=false\n")  # fmt: skip
        executor = Executor(sandbox, classpath=f"{sandbox.folder}/classes:{sandbox.folder}/jars/*", umask=0o002,
                            user=server.pw_uid, group=server.pw_gid, extra_groups=[])  # fmt: skip
        try:
            yield Azkaban(sandbox, executor, server, ann, bob)
        finally:
            executor.close()
            sandbox.end_processes()

"""Helpers that the suites share: Azkaban's jars, a sandbox with the installed plugin, and checks."""

import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIMIT = 120  # seconds; far above any measured time, because test machines are noisy


def rest(began):
    """Sleeps between two checks of a condition, longer if the last check, which began at `began`, was slow."""
    time.sleep(min(max(0.05, 4 * (time.monotonic() - began)), 1))


def wait_for(what, condition, limit=LIMIT):
    """Waits until the condition returns a true value; returns that value."""
    end = time.monotonic() + limit
    while True:
        began = time.monotonic()
        if answer := condition():
            return answer
        assert began < end, f"waited {limit} s for {what}"
        rest(began)


def build_folder(version):
    """Returns the folder for the downloaded and compiled files of one version of Azkaban."""
    return ROOT / "build" / "conformance" / f"azkaban-{version}"


@contextlib.contextmanager
def alone(version):
    """Holds a lock, so that two runs do not fill the folder of one Azkaban at the same time."""
    build_folder(version).mkdir(parents=True, exist_ok=True)
    with (build_folder(version) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetched(pom, version):
    """Returns the folder of the jars that a pom names. Maven downloads them once, from the repository in this machine's
    settings."""
    jars = build_folder(version) / "jars"
    stamp = jars / "pom.sha256"
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()
    # Maven's own copies are in build/, too, as are all files that do not come from Debian.
    words = ["mvn", "-B", "-q", f"-Dmaven.repo.local={ROOT}/build/conformance/maven", "-f", pom,
             "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]  # fmt: skip
    with alone(version):
        if not stamp.is_file() or stamp.read_text() != wanted:
            shutil.rmtree(jars, ignore_errors=True)
            jars.mkdir()
            tool("fetching Azkaban's jars", words, limit=600)
            stamp.write_text(wanted)
    return jars


def compiled(sources, jars, version):
    """Returns the folder of the classes of our Java sources."""
    classes = build_folder(version) / "classes"
    files = sorted(sources.rglob("*.java"))
    wanted = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    stamp = classes / "sources.sha256"
    words = ["javac", "--release", "8", "-Xlint:-options", "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", classes]
    with alone(version):
        if not stamp.is_file() or stamp.read_text() != wanted:
            shutil.rmtree(classes, ignore_errors=True)
            classes.mkdir()
            tool("compiling", [*words, *files], limit=300)
            stamp.write_text(wanted)
    return classes


def tool(what, words, limit, **more):
    """Runs a program that must succeed."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=limit, check=False, **more)  # fmt: skip
    assert done.returncode == 0, f"{what}: exit {done.returncode}: {done.stdout.decode(errors='replace')}"
    return done.stdout.decode()


class Sandbox:
    """A folder with a $TONY_HOME, a ledger and an Azkaban home of its own, and the plugin installed in it.

    All its processes, of Azkaban and of jobs, have the folder's name in their environment, and are found by it.
    """

    def __init__(self, bin_folder, python_environment):
        self.bin = pathlib.Path(bin_folder).resolve()
        self.python = pathlib.Path(os.path.abspath(python_environment)) / "bin" / "python"  # keeps a link as a link
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-azkaban-"))
        self.jobtypes = self.folder / "azkaban/plugins/jobtypes"
        self.jobtypes.mkdir(parents=True)
        self.variables = {}  # set by a suite
        (self.folder / "ledger").mkdir()
        # no check waits for another check's job
        (self.folder / "ledger/machine.json").write_text('{"memory_mb":1000000000}')

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C.UTF-8",
                "TONY_HOME": str(self.folder / "home"), "TONY_LEDGER": str(self.folder / "ledger"),
                "TONY_CONF_DIR": str(self.folder / "conf"), **self.variables, **more}  # fmt: skip

    def install(self):
        """Installs the plugin as an administrator would, for an Azkaban that runs jobs as its own user."""
        words = [self.bin / "tony-azkaban", "install", self.jobtypes, "--no-execute-as-user"]
        tool("installing the plugin", words, LIMIT, env=self.environment())
        common = self.jobtypes / "commonprivate.properties"
        if not common.exists():  # for other steps than ours: Azkaban wants 3 GB of free memory for each
            common.write_text("execute.as.user=false\nmemCheck.enabled=false\n")

    def tony(self, *words, fails=False):
        """Returns the JSON object that a verb prints."""
        done = subprocess.run([self.bin / "tony", *words, "--json"], env=self.environment(), cwd=self.folder,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT, check=False)  # fmt: skip
        assert fails or done.returncode == 0, f"tony {words}: exit {done.returncode}: {done.stderr.decode()}"
        return json.loads(done.stdout)

    def processes(self, mark=""):
        """Returns the ids of the sandbox's processes; with a mark, only those that have it in their environment or
        command line, too."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):  # it has exited, or belongs to another user
                if entry.name.isdigit() and int(entry.name) != os.getpid():
                    environment = (entry / "environ").read_bytes()
                    known = environment + (entry / "cmdline").read_bytes()
                    if str(self.folder).encode() in environment and mark.encode() in known:
                        found.append(int(entry.name))
        return found

    def end_processes(self):
        """Kills all processes of the sandbox."""
        end = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < end:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def close(self):
        """Ends all processes and removes the folder, in whatever state they are."""
        self.end_processes()
        shutil.rmtree(self.folder, ignore_errors=True)


class Report:
    """Counts and prints the results of checks."""

    def __init__(self):
        self.passed = self.failed = 0
        self.interrupted = False

    def add(self, name, why=None):
        if self.interrupted:
            return
        self.passed, self.failed = self.passed + (why is None), self.failed + (why is not None)
        print(f"ok {name}" if why is None else f"FAILED {name}: {why}", flush=True)

    def guarded(self, name, action, *words):
        """Runs the action; returns True if it succeeded, and otherwise counts it as failed."""
        try:
            action(*words)
        except AssertionError as error:
            self.add(name, str(error) or traceback.extract_tb(error.__traceback__)[-1].line)
        except Exception as error:  # a check that breaks has failed; the others still run
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.add(name, f"{type(error).__name__}: {error} ({pathlib.Path(where.filename).name}:{where.lineno})")
        else:
            return True
        return False

    def check(self, suite, function, subject):
        name = f"{suite}: {function.__name__.replace('_', ' ')}"
        if self.guarded(name, function, subject):
            self.add(name)

    def run(self, suite, checks, subject, at_once):
        self.run_all([(suite, function) for function in checks], subject, at_once)

    def run_all(self, checks, subject, at_once):
        """Runs all pairs (suite, check), several at a time, because most of them wait."""
        pool = concurrent.futures.ThreadPoolExecutor(at_once)
        try:
            for running in [pool.submit(self.check, suite, function, subject) for suite, function in checks]:
                running.result()
        except KeyboardInterrupt:
            self.interrupted = True  # results of checks that still run are not printed any more
            raise
        finally:
            pool.shutdown(wait=not self.interrupted, cancel_futures=True)

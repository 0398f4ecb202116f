"""A copy of the sources with a build folder of its own, in which the mutants are built and tested one after the
other."""

import contextlib
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import catalogue

COPIED = ["CMakeLists.txt", "am", "azkaban-plugin", "executor", "runtime", "scripts", "tests"]
FIRST_SEEDS = 50  # these seeds catch most of the mutants that the simulator catches
MOST_MEMORY = 8 << 30
LONGEST_FILE = 6 << 30  # the tests make files with holes
# The compiler takes far longer than the programs.
BUILT_AS = ["-DCMAKE_CXX_COMPILER=clang++-14", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g0 -w",
            "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=48", "-DTONY_PRECOMPILE=ON"]  # fmt: skip
FAILED = re.compile(r"^\[  FAILED  \] (\w[\w/]*\.[\w/]+)", re.M)
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class Broken(Exception):
    """Something does not work even without a mutant."""


def write_if_changed(path, content, mode=0o644):
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def not_copied(root):
    """Returns folders of the repository that the build uses and that the copy lacks."""
    texts = [(root / name).read_text() for name in subprocess.run(
        ["git", "ls-files", "*CMakeLists.txt"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
        if name.partition("/")[0] in COPIED]  # fmt: skip
    named = {name for text in texts for name in re.findall(r"\$\{CMAKE_SOURCE_DIR\}/([\w-]+)", text)}
    return sorted(named - set(COPIED))


def be_parent():
    """Becomes the parent of processes that a test leaves running, so that they can be ended, even when this process is
    asked to end."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def descendants():
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry)] = int(pathlib.Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[1])
    found, new = set(), {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new and pid not in found}
        found |= new
    return found


def end_descendants():
    while left := descendants():
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)


def set_limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LONGEST_FILE, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


class Workshop:
    def __init__(self, root, folder, seeds, processors):
        self.root, self.folder, self.seeds, self.processors = pathlib.Path(root), pathlib.Path(folder), seeds, processors
        self.tree, self.build = self.folder / "tree", self.folder / "build"
        self.chosen, self.noted = self.folder / "chosen", self.folder / "noted"
        self.changed = None  # the file that contains a mutant now
        self.mutable = {}
        self.limits = {}  # limits in seconds, by suite
        self.without = {}  # tests that fail without a mutant, by suite

    def prepare(self, mutable, edited, suites):
        """Builds the programs in which every comparison is mutable. The sources in `edited` are compiled separately,
        because each row and each order changes the text of one source."""
        self.mutable = mutable
        self.copy_tree()
        define = 'inline constexpr const char* {} = "{}";\n'.format
        paths = define("kChosenFile", self.chosen) + define("kNotedFile", self.noted)
        header = self.tree / "tests/mutants/mutable_files.h"
        write_if_changed(header, f"#pragma once\nnamespace mutants {{\n{paths}}}\n".encode())
        self.choose(0)
        self.command(["cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja", *BUILT_AS,
                      f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.tree / 'scripts/ccache'}",
                      f"-DTONY_APART={';'.join(str(self.tree / name) for name in edited)}"])
        self.command(["ninja", "-C", self.build, "-j", str(self.processors), *{suite.target for suite in suites}])

    def copy_tree(self):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z", *COPIED], cwd=self.root, check=True,
                                capture_output=True, text=True).stdout.split("\0")
        wanted = {name for name in listed if name and (self.root / name).is_file()}
        for name in wanted:
            content = self.mutable[name].encode() if name in self.mutable else (self.root / name).read_bytes()
            write_if_changed(self.tree / name, content, (self.root / name).stat().st_mode)
        for path in self.tree.rglob("*"):
            if path.is_file() and str(path.relative_to(self.tree)) not in wanted and path.name != "mutable_files.h":
                path.unlink()

    def command(self, argv):
        done = subprocess.run([str(word) for word in argv], capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken("\n".join((done.stdout + done.stderr).splitlines()[-40:]))

    def choose(self, number):
        self.chosen.parent.mkdir(parents=True, exist_ok=True)
        self.chosen.write_text(f"{number}\n")

    def measure(self, suite):
        """Returns the numbers of the comparisons that would have changed a result in this suite. The suite must
        pass."""
        self.choose(-1)
        self.noted.unlink(missing_ok=True)
        began = time.monotonic()
        trouble = self.run(suite)
        self.limits[suite] = 5 + 5 * (time.monotonic() - began)
        self.choose(0)
        if trouble:
            raise Broken(f"without a mutant: {trouble}")
        return {int(line) for line in self.noted.read_text().split()} if self.noted.exists() else set()

    def leave_out_failing(self, suite):
        """Excludes failing tests. Returns False if the failure is not one of several tests."""
        done = subprocess.run([str(self.build / suite.program), "--gtest_brief=1"], capture_output=True, text=True, errors="replace")
        self.without[suite] = sorted(set(FAILED.findall(done.stdout)))
        return bool(self.without[suite])

    def test(self, mutant, noted):
        """Returns what caught the mutant; None if nothing did."""
        suites = [suite for suite in catalogue.FILES[mutant.file] if suite in noted]
        if mutant.kind == "comparison":
            self.put_back()
            suites = [suite for suite in suites if mutant.number in noted[suite]]
            self.choose(mutant.number)
        else:
            self.choose(0)
            if not self.put_in(mutant, suites):
                return "does not compile"
        for suite in suites:
            if trouble := self.run(suite):
                return trouble
        return None

    def put_in(self, mutant, suites):
        if self.changed != mutant.file:
            self.put_back()
        write_if_changed(self.tree / mutant.file, mutant.content.encode())
        self.changed = mutant.file
        try:
            self.command(["ninja", "-C", self.build, "-j", str(self.processors), *{suite.target for suite in suites}])
        except Broken:
            return False
        return True

    def put_back(self):
        if self.changed is None:
            return
        write_if_changed(self.tree / self.changed, self.mutable[self.changed].encode())
        targets = {suite.target for suite in catalogue.FILES[self.changed]}
        self.changed = None
        self.command(["ninja", "-C", self.build, "-j", str(self.processors), *targets])

    def run(self, suite):
        """Returns what went wrong; None if nothing did."""
        program = str(self.build / suite.program)
        if suite.target == "tony-sim":
            for first, count in ((1, FIRST_SEEDS), (1 + FIRST_SEEDS, self.seeds - FIRST_SEEDS)):
                trouble = count > 0 and self.run_once(suite, [[program, "--first", str(first), "--seeds", str(count)]])
                if trouble:
                    return trouble
            return None
        argv = [program, "--gtest_fail_fast", "--gtest_brief=1"]
        if suite in self.without:
            argv.append("--gtest_filter=-" + ":".join(self.without[suite]))
        trouble = self.run_once(suite, [argv] * suite.shards)
        if trouble and suite.timed:
            again = [word for word in argv if word != "--gtest_fail_fast"]
            if test := re.search(r": (\S+\.\S+)$", trouble):
                again.append(f"--gtest_filter={test.group(1)}")
                return self.run_once(suite, [again])
            return self.run_once(suite, [again] * suite.shards)
        return trouble

    def run_once(self, suite, commands):
        """Runs the shards of a suite in parallel."""
        scratch = tempfile.mkdtemp(prefix="tony-mutants-")
        os.chmod(scratch, 0o755)  # tests also run as other users
        try:
            return self.run_in(scratch, suite, commands)
        finally:
            end_descendants()
            shutil.rmtree(scratch, ignore_errors=True)

    def run_in(self, scratch, suite, commands):
        running = []
        for i, argv in enumerate(commands):
            output = open(os.path.join(scratch, f"output-{i}"), "w+", errors="replace")
            env = {**os.environ, "TMPDIR": scratch, "LC_ALL": "C", "TONY_FULL_ROUNDS": "1"}
            if len(commands) > 1:
                env.update(GTEST_TOTAL_SHARDS=str(len(commands)), GTEST_SHARD_INDEX=str(i))
            running.append((subprocess.Popen(argv, cwd=scratch, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                             stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=set_limits), output))
        end = time.monotonic() + self.limits.get(suite, 600)
        while running:
            for process, output in list(running):
                if process.poll() is None:
                    continue
                if process.returncode != 0:
                    return self.describe(suite, process.returncode, output)
                running.remove((process, output))
                output.close()
            if time.monotonic() > end:
                return f"{suite.target}: runs into its time limit"
            time.sleep(0.005)
        return None

    def describe(self, suite, code, output):
        output.seek(0)
        text = output.read(1 << 20)
        if test := FAILED.search(text):
            return f"{suite.target}: {test.group(1)}"
        if seed := re.search(r"^seed (\d+): .*", text, re.M):
            return f"{suite.target}: {seed.group()[:120]}"
        return f"{suite.target}: ends with {code}"

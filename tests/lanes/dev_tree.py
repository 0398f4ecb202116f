"""The build folder of a preset: its targets, their sources, and their dependencies, from CMake's file API."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import execution
import git_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
APART = 8  # files at most that are compiled separately
PACKAGES = ["clang-14", "libclang-rt-14-dev", "llvm-14"]


class Failed(Exception):
    """A step that failed, with its output."""


def run(words, seconds=None, quiet=True, env=None):
    """Returns the output of a command. If Ninja is stopped by the time limit, it keeps its finished steps."""
    out = subprocess.PIPE if quiet else None
    with subprocess.Popen(words, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as process:
        try:
            said = process.communicate(timeout=seconds)[0]
        except BaseException:
            process.terminate()
            process.communicate()
            raise
    if process.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: exit code {process.returncode}\n{said or ''}")
    return said or ""


class Tree:
    def __init__(self, preset="dev", root=ROOT):
        self.preset, self.root, self.folder = preset, root, root / "build" / preset
        self.targets, self.makers = {}, {}

    def is_there(self):
        return (self.folder / "build.ninja").exists()

    def configure(self, tried=()):
        """Configures the tree. TRIED are sources with tests that get programs of their own: CMakeLists.txt,
        tony_tried."""
        run([ROOT / "scripts/setup", *PACKAGES])
        query = self.folder / ".cmake/api/v1/query/codemodel-v2"
        query.parent.mkdir(parents=True, exist_ok=True)
        query.touch()
        run(["cmake", "--preset", self.preset, f"-DTONY_APART={';'.join(self.apart())}",
             f"-DTONY_TRY={';'.join(str(self.root / file) for file in tried)}"])
        self.read()

    def apart(self):
        """Returns edited sources that are compiled outside of their batches; CMakeLists.txt explains why."""
        try:
            files = [str(self.root / file) for file in git_files.changed_since("HEAD") if file.endswith(".cc")]
        except ValueError:
            return []  # this is not a git checkout
        return files if len(files) <= APART else []

    def read(self):
        reply = self.folder / ".cmake/api/v1/reply"
        index = json.loads(max(reply.glob("index-*.json")).read_text())
        model = json.loads((reply / index["reply"]["codemodel-v2"]["jsonFile"]).read_text())
        targets = [json.loads((reply / each["jsonFile"]).read_text()) for each in model["configurations"][0]["targets"]]
        self.take(targets)

    def take(self, targets):
        """Reads the targets of a reply. A target's dependencies include the indirect ones."""
        names = {each["id"]: each["name"] for each in targets}
        for each in targets:
            sources = [source["path"] for source in each.get("sources", [])]
            needs = {names[need["id"]] for need in each.get("dependencies", [])}
            paths = [artifact["path"] for artifact in each.get("artifacts", [])]
            self.targets[each["name"]] = Target(each["name"], each["type"], sources, needs, paths)
            for source in sources:
                self.makers.setdefault(source, []).append(each["name"])

    def program(self, target):
        return self.folder / self.targets[target].paths[0]

    def dependents(self, target):
        return [each.name for each in self.targets.values() if target in each.needs]

    def between(self, target, dependent):
        """Returns how many targets lie between a program and a library."""
        return sum(1 for each in self.targets[dependent].needs if target in self.targets[each].needs)

    def build(self, targets, seconds=None):
        if not targets:
            return  # without targets, ninja builds all
        words = ["ninja", "-C", self.folder]
        if jobs := os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL"):
            words += ["-j", jobs]
        run([*words, *([] if os.isatty(1) else ["--quiet"]), *targets], seconds, quiet=not os.isatty(1))

    def steps_left(self, targets):
        """Returns the steps of a build. A copy of the build file is used, because ninja would regenerate its own file
        first."""
        copy = self.folder / "dry_run.ninja"
        shutil.copyfile(self.folder / "build.ninja", copy)
        try:
            said = run(["ninja", "-C", self.folder, "-f", copy.name, "-n", *targets])
        finally:
            copy.unlink()
        return re.findall(r"^\[\d+/\d+\] (.*)", said, re.MULTILINE)

    def program_for(self, target):
        """Returns the program with all its tests, or, if these would all have to be compiled, the program with only the
        tried ones."""
        some = f"try_{target}"
        must_compile = any(f"CMakeFiles/{target}.dir/" in step for step in self.steps_left([target]))
        return some if must_compile and some in self.targets else target

    def made_of(self, file):
        """Returns the targets that have an object or a generated source made from this file, although no compiler reads
        the file."""
        try:
            said = run(["ninja", "-C", self.folder, "-t", "query", self.root / file])
        except Failed:
            return set()
        outputs = said.partition("outputs:")[2].split()
        found = {match[1] for match in (re.search(r"CMakeFiles/([^/]+)\.dir/", output) for output in outputs) if match}
        generated = [os.path.relpath(self.folder / output, self.root) for output in outputs]
        return found.union(*(self.makers.get(source, []) for source in generated))


def cheapest(wanted, slow=0):
    """Returns the existing tree, of the presets that these targets are named for, with the fewest steps until it has
    them. For dev, where everything runs slowly, a number of compile steps is added."""
    costs = {}
    for preset, targets in wanted.items():
        tree = Tree(preset)
        try:
            if tree.is_there():
                costs[tree] = sum(1 if step.startswith("Building") else 0.1 for step in tree.steps_left(targets))
                costs[tree] += slow if preset == "dev" else 0
        except Failed:
            pass  # ninja does not know the target
    return min(costs, key=costs.get)


def build_cheapest(wanted, seconds=None, slow=0):
    if not Tree().is_there():
        Tree().configure()
    tree = cheapest(wanted, slow)
    tree.build(wanted[tree.preset], seconds)
    return tree


def build_programs(seconds=None):
    """Builds the programs for jobs on this machine; returns their folder."""
    return build_cheapest({"dev": ["one_machine"], "release": ["one_machine"]}, seconds).folder / "bin"


def build_end_to_end(target, names, seconds=None, in_dev=None):
    """Builds an end-to-end test program; returns it, and the variable that names the folder of the built programs."""
    needs_dynamic = execution.matcher("tests/e2e/needs_dynamic_programs.txt")
    dynamic = any(needs_dynamic(name) or needs_dynamic(f"Instance/{name}") for name in names)
    programs = ["dynamic_programs"] if dynamic else ["one_machine", "tony-azkaban"]
    tree = build_cheapest({"dev": [in_dev or target], "release": [target, "e2e_programs", *programs]}, seconds, slow=5)
    folder = "dynamic/bin" if dynamic and tree.preset == "release" else "bin"
    program = in_dev or target if tree.preset == "dev" else target
    return tree.folder / "tests" / program, {"TONY_BIN_DIR": str(tree.folder / folder)}


class Target:
    def __init__(self, name, kind, sources, needs, paths):
        self.name, self.kind, self.sources, self.needs, self.paths = name, kind, sources, needs, paths


class Includes:
    """The include graph, from reading the files: ninja knows only the includes of files that it has built in this
    folder."""

    def __init__(self, files, root=ROOT):
        self.users = {}
        for file in files:
            if file.endswith((".cc", ".h")) and (root / file).exists():
                for name in INCLUDE.findall((root / file).read_text(encoding="utf-8", errors="replace")):
                    beside = str(pathlib.PurePosixPath(file).parent / name)
                    self.users.setdefault(name if name in files else beside, set()).add(file)

    def direct(self, file):
        return self.users.get(file, set())

    def all(self, file):
        """Returns FILE and all files that include it, directly or not."""
        found, todo = {file}, [file]
        while todo:
            new = self.direct(todo.pop()) - found
            found |= new
            todo += new
        return found

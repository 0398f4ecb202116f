"""Chooses the tests for a changed file, nearest first."""

import dataclasses
import pathlib
import re
import shutil

import python_tests
import test_names
import units

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN, DEPENDENT, END_TO_END = range(3)
PYTHON = ["/usr/bin/python3", "-B"]
SIMULATED = {"am": [""], "executor": [""], "am/core": [""], "runtime/records": ["--requests"], "tests/sim": ["", "--requests"]}
LAYERING = "tests/unit/layering/layering_test.cc"
# Units of tests/lanes/units.toml for files without a quick test, if the units' inputs do not name the file.
UNITS = {"runtime/python/": "python-all", "docs/": "docs-all", "tests/conformance/airflow/quick/": "airflow-quick",
         "airflow-operator/": "airflow-quick"}


@dataclasses.dataclass(frozen=True, order=True)
class Part:
    """The tests of one program that are in some of its sources."""
    stage: int
    distance: tuple
    size: int
    target: str
    file: str  # a source of these tests
    # Suite.Name; empty means all tests of the program, unless it is an end-to-end program
    names: tuple = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True)
class Command:
    """A test that is not a GoogleTest program."""
    text: str
    words: tuple  # {bin} stands for the folder of the programs
    needs_programs: bool = False
    is_look: bool = False  # whether it only checks that a file can be parsed


def is_end_to_end(file):
    """Returns whether the tests run the built programs."""
    return file.startswith(("tests/e2e/", "tests/cluster/"))


def is_cc(file):
    return file.endswith((".cc", ".h"))


class Choice:
    def __init__(self, tree, tests, includes, root=ROOT):
        self.tree, self.includes, self.root = tree, includes, root
        self.names = {}  # names of the tests in a file
        for test in tests:
            self.names.setdefault(test.file, []).append(test.name)
        self.files = {name: [source for source in target.sources if source in self.names]
                      for name, target in tree.targets.items()}
        self.files = {name: files for name, files in self.files.items() if files}

    def parts(self, file):
        """Returns the tests for a C++ file, or for another file that objects are generated from."""
        reached = self.includes.all(file) if is_cc(file) else {file}
        changed = {target for each in reached for target in self.tree.makers.get(each, [])}
        if not is_cc(file):
            changed |= self.tree.made_of(file)
        folder = f"{pathlib.PurePosixPath(file).parent}/"
        home = {each for each in changed if any(source.startswith(folder) for source in self.tree.targets[each].sources)}
        own = self.own_files(file) if changed or is_cc(file) else set()
        for target, files in self.files.items():
            depends = target in changed or changed & self.tree.targets[target].needs
            mine = [each for each in files if each in own]
            others = [each for each in files if each not in own and not is_end_to_end(each)]
            ends = [each for each in files if each not in own and is_end_to_end(each) and file.startswith("tests/")]
            if mine and (depends or not changed):
                near = sum(each == file or each in self.includes.direct(self.header_of(file)) for each in mine)
                yield self.part(OWN, (-near, -len(mine)), target, mine)
            if others and depends:
                yield self.part(DEPENDENT, (self.distance(target, home or changed),), target, others)
            if ends and depends:
                yield self.part(END_TO_END, (2,), target, ends)

    def layering(self):
        """Returns the test that reads the includes of the whole tree."""
        return [self.part(DEPENDENT, (0,), target, [LAYERING]) for target, files in self.files.items() if LAYERING in files]

    def part(self, stage, distance, target, files):
        names = tuple(name for each in files for name in self.names[each])
        whole = len(files) == len(self.files[target]) and not is_end_to_end(files[0])
        return Part(stage, distance, len(names), target, files[0], () if whole else names)

    def distance(self, target, home):
        """Returns the distance from the targets of the file's folder; targets that only include the file are further
        away."""
        near = [self.tree.between(each, target) + 1 for each in home if each in self.tree.targets[target].needs]
        return 0 if target in home else min(near, default=10)

    def header_of(self, file):
        return file.removesuffix(".cc") + ".h" if file.endswith(".cc") else file

    def own_files(self, file):
        """Returns the tests of the folder: tests/unit/client for runtime/client, and tests/unit/am for am/core."""
        if file in self.names:
            return {file}
        folder = pathlib.PurePosixPath(file).parent
        if file.startswith("tests/"):
            return {each for each in self.includes.all(file) if each in self.names}
        for each in [folder, *folder.parents]:
            name = str(each).removeprefix("runtime/").removesuffix("-plugin")
            found = {test for test in self.names if str(pathlib.PurePosixPath(test).parent) == f"tests/unit/{name}"}
            if found:
                return found
        return set()

    def simulations(self, file):
        """Returns the arguments of the simulations that run this file."""
        made = {target for each in self.includes.all(file) for target in self.tree.makers.get(each, [])}
        simulator = self.tree.targets.get("tony-sim")
        if not simulator or not made & {simulator.name, *simulator.needs}:
            return []
        return SIMULATED.get(str(pathlib.PurePosixPath(file).parent), [])

    def end_to_end(self, file):
        """Returns the end-to-end tests that have the name of the file or its folder, and those that use its verb."""
        path = pathlib.PurePosixPath(file)
        verbs = (self.root / "runtime/cli/commands.cc").read_text(encoding="utf-8")
        verb = path.stem if str(path.parent) == "runtime/cli" and f'"{path.stem}"' in verbs else None
        for target, files in self.files.items():
            for each in files:
                if not is_end_to_end(each):
                    continue
                stem = pathlib.PurePosixPath(each).stem.removesuffix("_test")
                if stem in (path.stem, path.parent.name):
                    yield self.part(END_TO_END, (0,), target, [each])
                elif verb and (names := self.tests_that_say(each, f'"{verb}"')):
                    yield Part(END_TO_END, (1,), len(names), target, each, names)

    def tests_that_say(self, file, words):
        bodies = test_names.CC_TEST.split((self.root / file).read_text(encoding="utf-8"))
        return tuple(f"{bodies[i]}.{bodies[i + 1]}" for i in range(1, len(bodies), 3) if words in bodies[i + 2])

    def by_name(self, file, exact=False):
        """Returns parts and commands of the tests that name a file from which no program is built, or else name the
        nearest folder above it."""
        sources = {each: (self.root / each).read_text(encoding="utf-8", errors="replace")
                   for each in [*self.names, *self.helpers()] if each != file and not each.startswith("tests/lanes/")}
        path = pathlib.PurePosixPath(file)
        found = []
        for each in [path, *(() if exact else path.parents[:-2])] if len(path.parts) > 1 else ():
            found = found or [source for source, text in sources.items() if str(each) in text]
        parts = [self.part(END_TO_END if is_end_to_end(files[0]) else DEPENDENT, (0,), target, files)
                 for target, all_files in self.files.items() if (files := [each for each in all_files if each in found])]
        return parts, [command for each in found if each.endswith(".py") for command in commands_of_python(each, self.root)]

    def helpers(self):
        """Returns the Python modules in the folders of tests."""
        folders = {pathlib.PurePosixPath(each).parent for each in self.names if each.endswith(".py")}
        return [str(each.relative_to(self.root)) for folder in folders for each in (self.root / folder).glob("*.py")]


def shebang(path):
    with open(path, "rb") as text:
        first = text.readline(100)
    return first.decode(errors="replace") if first.startswith(b"#!") else ""


def commands(file, root=ROOT):
    """Yields the commands that check a file that is not C++, within a second or two."""
    path = root / file
    if not path.is_file():
        return
    first = shebang(path)
    if file.endswith(".sh") or re.match(r"#!.*\b(ba)?sh\b", first):
        yield Command(f"bash -n {file}", ("bash", "-n", file), is_look=True)
        if shutil.which("shellcheck"):
            yield Command(f"shellcheck {file}", ("shellcheck", "-x", file), is_look=True)
    if file.endswith(".py") or "python" in first:
        tests = list(commands_of_python(file, root))
        check = "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')"
        yield from tests or [Command(f"syntax of {file}", (*PYTHON, "-c", check, file), is_look=True)]
    if file.endswith(".md") or file.startswith(("docs/generator/", "tests/docs/")):
        yield Command("tests/docs/docs_test.py", (*PYTHON, "tests/docs/docs_test.py"))
    in_product = is_cc(file) and not file.startswith("tests/")
    if in_product or file.startswith(("scripts/mutants", "tests/mutants/")):
        yield Command("scripts/mutants --list", ("scripts/mutants", "--list"), is_look=in_product)
    in_tests = is_cc(file) and not in_product
    if in_tests or file.startswith(("tests/conformance/proof", "tests/conformance/facts.md")):
        yield Command("tests/conformance/proof --check", (*PYTHON, "tests/conformance/proof", "--check"), is_look=in_tests)
    if file in ("scripts/try", "scripts/test", "tests/lanes/units.toml", "tests/lanes/tasks.sh"):
        for test in sorted(root.glob("tests/lanes/*_test.py")):
            yield Command(f"tests/lanes/{test.name}", (*PYTHON, str(test)))


def commands_of_python(file, root):
    for test in python_tests_of(file, root):
        words, _ = python_tests.command(test, [], "{bin}")
        yield Command(test, tuple(words), python_tests.needs_programs(test))


def python_tests_of(file, root=ROOT):
    """Returns the file itself if it is a test, and otherwise the tests that import this module."""
    if python_tests.unit_of(file) or not file.startswith("tests/"):
        return
    if file.endswith("_test.py"):
        yield file
        return
    name = pathlib.PurePosixPath(file).stem
    for test in sorted((root / file).parent.glob("*_test.py")):
        if re.search(rf"^(?:import|from) {name}\b", test.read_text(encoding="utf-8"), re.MULTILINE):
            yield str(test.relative_to(root))


def unit_of(file):
    """Returns the unit for this file: a sample's by the sample's name, and otherwise the unit with the narrowest inputs
    that contain the file."""
    listed, groups = units.read()
    if sample := re.match(r"samples/([^/]+)/", file):
        return next((unit.name for unit in listed.values()
                     if unit.counts != "nothing" and re.search(rf"\b{sample[1]}\b", unit.run)), "samples")
    wide = {"tests", *groups["build"], *groups["product"]}
    found = [(-len(path), unit.name) for unit in listed.values() for name in unit.inputs for path in groups.get(name, [name])
             if unit.counts != "nothing" and path not in wide and (file == path or file.startswith(f"{path}/"))]
    of_folder = next((unit for folder, unit in UNITS.items() if file.startswith(folder)), None)
    return of_folder or min(found, key=lambda each: each[0], default=(0, None))[1]

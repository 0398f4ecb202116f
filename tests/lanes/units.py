"""The list of units that scripts/test runs: the lane of each unit, and its needs."""

import dataclasses
import hashlib
import os
import pathlib
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "tests/lanes/units.toml"
LANES = ("default", "ci", "long")  # each lane includes the units of the lanes before it
COUNTS = ("nothing", "itself", "lines", "gtest")


class BadList(Exception):
    """The list contradicts itself. The text names the unit and the field."""


@dataclasses.dataclass(frozen=True)
class Unit:
    """A part of the tests. units.toml explains the fields."""

    name: str
    text: str
    lane: str
    run: str = ""
    counts: str = "itself"
    needs: tuple = ()
    builds: bool = False
    alone: bool = False
    limit: int = 1800
    inputs: tuple = ("product", "tests")
    covers: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    # The remaining fields are for counts = "gtest" only.
    preset: str = ""
    target: str = ""
    programs: tuple = ()
    workers: int = 0
    sources: tuple = ()
    only: str = ""
    without: str = ""
    only_of: str = ""
    without_those_of: str = ""
    slow: tuple = ()
    limits: dict = dataclasses.field(default_factory=dict)


def parse(text):
    """Returns the units by name, in the order of the list."""
    listed = tomllib.loads(text)
    fields = {field.name for field in dataclasses.fields(Unit)}
    units = {}
    for entry in (each for entry in listed["unit"] for each in shares_of(entry)):
        name = entry.get("name", "(without a name)")
        if unknown := set(entry) - fields:
            raise BadList(f"{name}: unknown field {', '.join(sorted(unknown))}")
        if name in units:
            raise BadList(f"{name}: listed twice")
        units[name] = Unit(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})
    for unit in units.values():
        check(unit, units, listed["inputs"])
    return units, listed["inputs"]


def shares_of(entry):
    """Returns the entries that an entry with "shares" stands for."""
    shares = entry.pop("shares", None)
    if shares is None:
        return [entry]
    numbers = [{"{share}": str(share), "{shares}": str(shares)} for share in range(1, shares + 1)]
    return [{**entry, "name": f"{entry['name']}-{each['{share}']}", "run": filled(entry["run"], each)} for each in numbers]


def filled(text, values):
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def check(unit, units, inputs):
    if unit.lane not in LANES:
        raise BadList(f"{unit.name}: lane is {unit.lane}, expected one of {', '.join(LANES)}")
    if unit.counts not in COUNTS:
        raise BadList(f"{unit.name}: counts is {unit.counts}, expected one of {', '.join(COUNTS)}")
    if (unit.counts == "gtest") == bool(unit.run):
        raise BadList(f"{unit.name}: a unit has a command to run, except one that counts gtest")
    for name in unit.covers:
        if name not in units:
            raise BadList(f"{unit.name}: covers {name}, which is not listed")
        if LANES.index(units[name].lane) >= LANES.index(unit.lane):
            raise BadList(f"{unit.name}: covers {name}, which is not of a smaller lane")
    for need in unit.needs:
        if need not in units:
            raise BadList(f"{unit.name}: needs {need}, which is not listed")
        if LANES.index(units[need].lane) > LANES.index(unit.lane):
            raise BadList(f"{unit.name}: needs {need}, which lane {unit.lane} lacks")
        if list(units).index(need) > list(units).index(unit.name):
            raise BadList(f"{unit.name}: needs {need}, which is listed later")
    for name in unit.inputs:
        if name not in inputs and not (ROOT / name).exists():
            raise BadList(f"{unit.name}: input {name} is neither a group of inputs nor a path")


def read():
    return parse(LIST.read_text())


def of_lane(units, lane):
    chosen = [unit for unit in units.values() if LANES.index(unit.lane) <= LANES.index(lane)]
    covered = {name for unit in chosen for name in unit.covers}
    return [unit for unit in chosen if unit.name not in covered]


def with_needs(units, chosen):
    """Returns the chosen units and all their needs, in the order of the list."""
    wanted, left = set(), [unit.name for unit in chosen]
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += units[name].needs
    return [unit for unit in units.values() if unit.name in wanted]


def working_tree():
    """Returns the id of git's tree for the current sources, including changed and new files, without ignored ones."""
    index = ROOT / "build/logs/index"
    index.parent.mkdir(parents=True, exist_ok=True)
    index.unlink(missing_ok=True)

    def git(*words):
        command = ["git", "-C", ROOT, *words]
        return subprocess.run(command, env={**os.environ, "GIT_INDEX_FILE": str(index)}, check=True, capture_output=True, text=True).stdout.strip()

    git("read-tree", "HEAD")
    git("add", "--all")
    return git("write-tree")


def inputs_hash(unit, groups, tree):
    """Hashes everything that a green result of this unit depends on: the content of all paths that can change it, and
    the unit."""
    paths = sorted({path for name in unit.inputs for path in groups.get(name, [name])})
    asked = "\n".join(f"{tree}:{path}" for path in paths)
    ids = subprocess.run(["git", "-C", ROOT, "cat-file", "--batch-check=%(objectname)"], input=asked, check=True,
                         capture_output=True, text=True).stdout  # fmt: skip
    return hashlib.sha256(f"{unit}\n{paths}\n{ids}".encode()).hexdigest()[:16]

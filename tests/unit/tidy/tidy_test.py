#!/usr/bin/env python3
"""The shape of the code, beside tests/unit/layering: what a reader may rely on in every file, and measures that only fall.

  tests/unit/tidy/tidy_test.py            the tests
  tests/unit/tidy/tidy_test.py --record   write today's measures into ratchet.json, after they fell

A measure above its number in ratchet.json fails. Raising a number is a decision that the commit has to explain."""

import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/lanes"))
import git_files  # noqa: E402

RATCHET = pathlib.Path(__file__).parent / "ratchet.json"
PRODUCT = ("runtime/", "am/", "executor/", "azkaban-plugin/")
FOLDERS = (*PRODUCT, "airflow-operator/", "docs/", "packaging/", "samples/", "scripts/", "tests/")
SMALL = 40  # lines of a header that is hardly a concept
README_LINES = 60  # of a folder's README, unless ratchet.json allows it more
# Words that stand ten times as often in prose that has to be read twice as in the sources of ninja, flux and Nomad.
RIDDLES = re.compile(
    r"(^(Of|Who|Whoever|What|Nobody|Those|One|So)\b)|\b(whoever|whosoever|anew|all the same|nobody|for so long|is told|"
    r"are told|was told|told of|and no more|none other|as it comes|whose it is|that there is|there is none|is no \w+)\b",
    re.I)  # fmt: skip
# A path that prose names: a folder of the repository, and more. "runtime/os/{files,users}.h" names two.
PATH = re.compile(r"(?<![\w/.$~}-])((?:" + "|".join(map(re.escape, FOLDERS)) + r")[\w./{},*-]*)")
FILE = re.compile(r"`([a-z][a-z0-9_]*\.(?:h|cc))`")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def is_product(name):
    return name.startswith(PRODUCT) and name.endswith((".h", ".cc"))


def comments(text):
    """The comments of a C++ source, a line each, without slashes."""
    for line in text.splitlines():
        if line.strip().startswith("//"):
            yield line.strip().lstrip("/! ")
        elif (behind := re.search(r"\S\s+// (.*)$", line)) and "namespace" not in behind.group(1):
            yield behind.group(1)


def prose(name):
    if name.endswith(".md"):
        return [re.sub(r"^[#>*|\-\s]+", "", line) for line in read(name).splitlines()]
    return list(comments(read(name)))


def riddles_per_1000(names):
    lines = [line for name in names for line in prose(name)]
    return 1000 * sum(len(RIDDLES.findall(line)) for line in lines) / max(1, sum(len(line.split()) for line in lines))


def code_lines(text):
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def alternatives(path):
    """The paths that braces stand for."""
    braces = re.search(r"\{([^{}]*)\}", path)
    if not braces:
        return [path]
    return [each for word in braces.group(1).split(",")
            for each in alternatives(path[:braces.start()] + word + path[braces.end():])]  # fmt: skip


class Tree:
    def __init__(self):
        self.names = sorted(name for name in git_files.all_files() if (ROOT / name).is_file())
        self.sources = [name for name in self.names if is_product(name)]
        self.pages = [name for name in self.names if name.endswith(".md")]
        folders = {str(parent) for name in self.names for parent in pathlib.PurePosixPath(name).parents}
        # Prose may leave out what follows the name: runtime/os/files stands for files.h and files.cc.
        self.known = {*self.names, *folders, *(name.rsplit(".", 1)[0] for name in self.names)}
        self.bases = {pathlib.PurePosixPath(name).name for name in self.names}

    def missing(self, line):
        for match in PATH.finditer(line):
            for path in alternatives(match.group(1)):
                path = path.rstrip("/.,-")
                if "*" not in path and "{" not in path and path not in self.known:
                    yield path
        for match in FILE.finditer(line):
            if match.group(1) not in self.bases:
                yield match.group(1)

    def measures(self):
        headers = [name for name in self.sources if name.endswith(".h")]
        small = [name for name in headers if read(name).count("\n") < SMALL]
        readmes = {name: read(name).count("\n") for name in self.pages if name.endswith("README.md")}
        return {
            "files per 1000 lines of code": len(self.sources) / (sum(code_lines(read(name)) for name in self.sources) / 1000),
            "headers under 40 lines, percent": 100 * len(small) / len(headers),
            "riddle words per 1000 in comments": riddles_per_1000(self.sources),
            "riddle words per 1000 in pages": riddles_per_1000(self.pages),
            **{f"lines of {name}": lines for name, lines in readmes.items() if lines > README_LINES},
        }


class TidyTest(unittest.TestCase):
    tree = Tree()

    def test_each_header_begins_with_a_comment(self):
        bare = [name for name in self.tree.sources if name.endswith(".h") and not read(name).startswith("//")]
        self.assertEqual([], bare)

    def test_each_cpp_test_belongs_to_a_program(self):
        lists = {name: read(name) for name in self.tree.names if name.endswith("CMakeLists.txt")}
        globbed = [pathlib.PurePosixPath(name).parent for name, text in lists.items() if "file(GLOB" in text]
        text = "\n".join(lists.values())
        lost = [name for name in self.tree.names if name.startswith("tests/") and name.endswith("_test.cc")
                and pathlib.PurePosixPath(name).name not in text
                and not any(folder in pathlib.PurePosixPath(name).parents for folder in globbed)
                and not name.startswith("tests/cluster/")]  # fmt: skip
        self.assertEqual([], lost)

    def test_pages_and_comments_name_files_that_exist(self):
        dead = [f"{name}: {path}" for name in [*self.tree.pages, *self.tree.sources] if name != "CHANGELOG.md"
                for line in prose(name) for path in self.tree.missing(line)]  # fmt: skip
        self.assertEqual([], dead)
        self.assertEqual(["runtime/os/novel.h", "novel.cc"], list(self.tree.missing("`runtime/os/{files,novel}.h`, `novel.cc`")))

    def test_no_measure_rises(self):
        allowed = json.loads(RATCHET.read_text(encoding="utf-8"))
        for measure, value in self.tree.measures().items():
            with self.subTest(measure):
                self.assertLessEqual(value, allowed.get(measure, README_LINES))

    def test_a_riddle_is_counted(self):
        self.assertEqual(2, len(RIDDLES.findall("Of many nobody")))
        self.assertEqual([], RIDDLES.findall("The newest of several processes wins"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        rounded = {name: round(value + 0.05, 1) if isinstance(value, float) else value for name, value in Tree().measures().items()}
        RATCHET.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    else:
        unittest.main()

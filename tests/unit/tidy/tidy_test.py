#!/usr/bin/env python3
"""The shape of the code, in addition to tests/unit/layering: rules for every file, and measures that may only fall.

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
SMALL = 40  # lines of a header that hardly holds a concept
README_LINES = 60  # lines of a folder's README, unless ratchet.json allows more
# Words that are ten times as frequent in prose that has to be read twice as in the sources of ninja, flux and Nomad.
RIDDLES = re.compile(
    r"(^(Of|Who|Whoever|What|Nobody|Those|One|So)\b)|\b(whoever|whosoever|anew|all the same|nobody|for so long|is told|"
    r"are told|was told|told of|and no more|none other|as it comes|whose it is|that there is|there is none|is no (?!longer\b)\w+)\b",
    re.I)  # fmt: skip
FIRST = re.compile(r"^(Of|Who|Whoever|What|Those|One)\b(?!-)", re.I)  # such a sentence lacks its noun
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
BEHIND = 6  # words in a comment behind code: a unit, a range, an example, a wire name
# A test in C++ or Python, or a row of a table of tests.
TEST = re.compile(r'^\s*(?:(?:TYPED_)?TEST(?:_F|_P)?\(\w+,\s*(\w+)\)|def test_(\w+)\(|\{"([A-Z][a-z]\w{5,})",)', re.M)
RIDDLE_NAME = re.compile(r"^(Of|Who|Whoever|What|Nobody|Those|One|So|It)(?=[A-Z])|Anew|Whoever|IsTold|AreTold|WasTold|Nobody|InVain|"
                         r"Fruitless|AllTheSame|ThatThereIs|AsItComes|(?<![a-z])IsNo(?=[A-Z])")  # fmt: skip
# A path in prose: a folder of the repository, and more. "runtime/os/{files,users}.h" names two files.
PATH = re.compile(r"(?<![\w/.$~}-])((?:" + "|".join(map(re.escape, FOLDERS)) + r")[\w./{},*-]*)")
NAMED_TEST = re.compile(r"`(\w+Test)\.(\w+)`")
FILE = re.compile(r"`([a-z][a-z0-9_]*\.(?:h|cc))`")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def is_product(name):
    return name.startswith(PRODUCT) and name.endswith((".h", ".cc"))


def comments(text):
    """Yields the lines of a C++ source's comments, without slashes: (line number, place, text). The place is "first" or
    "next" for the lines of a comment of its own, and "behind" for a comment behind code."""
    before = ""
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line.startswith("//"):
            yield number, "next" if before.startswith("//") else "first", line.lstrip("/! ")
        elif (behind := re.search(r"\S\s+// (.*)$", line)) and "namespace" not in behind.group(1):
            yield number, "behind", behind.group(1)
        before = line


def begins_without_a_noun(text):
    return [number for number, place, said in comments(text) if place != "next" and FIRST.match(said)]


def long_behind_code(text):
    return [number for number, place, said in comments(text) if place == "behind" and len(said.split()) > BEHIND
            and not said.startswith(("NOLINT", "clang-format"))]  # fmt: skip


def unclear_messages(text):
    """Yields the texts of a C++ source, of three words and more, that begin with one of the six words or have a riddle word."""
    for line in text.splitlines():
        if not line.strip().startswith(("//", "#include")):
            for said in LITERAL.findall(line):
                if len(said.split()) > 2 and (FIRST.match(said) and said[0].isupper() or RIDDLES.search("_" + said)):
                    yield said


def test_names(name):
    """Yields the names of the tests in a file; names in Python are converted to the form of C++."""
    for cpp, python, row in TEST.findall(read(name)):
        yield cpp or row or "".join(word.capitalize() for word in python.split("_"))


def prose(name):
    if name.endswith(".md"):
        return [re.sub(r"^[#>*|\-\s]+", "", line) for line in read(name).splitlines()]
    return [said for _, _, said in comments(read(name))]


def riddles_per_1000(names):
    lines = [line for name in names for line in prose(name)]
    return 1000 * sum(len(RIDDLES.findall(line)) for line in lines) / max(1, sum(len(line.split()) for line in lines))


def code_lines(text):
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def alternatives(path):
    """Yields the paths that braces stand for."""
    braces = re.search(r"\{([^{}]*)\}", path)
    if not braces:
        return [path]
    return [each for word in braces.group(1).split(",")
            for each in alternatives(path[:braces.start()] + word + path[braces.end():])]  # fmt: skip


class Tree:
    def __init__(self):
        self.names = sorted(name for name in git_files.all_files() if (ROOT / name).is_file())
        self.sources = [name for name in self.names if is_product(name)]
        self.tests = [name for name in self.names if name.startswith("tests/") and name.endswith(("_test.cc", "_test.py", "tests.h"))]
        self.pages = [name for name in self.names if name.endswith(".md")]
        folders = {str(parent) for name in self.names for parent in pathlib.PurePosixPath(name).parents}
        # Prose may leave out the extension: runtime/os/files stands for files.h and files.cc.
        self.known = {*self.names, *folders, *(name.rsplit(".", 1)[0] for name in self.names)}
        self.bases = {pathlib.PurePosixPath(name).name for name in self.names}

    def count(self, offences):
        return sum(1 for name in self.sources for _ in offences(read(name)))

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
            "comments that begin with one of the six words": self.count(begins_without_a_noun),
            "long comments behind code": self.count(long_behind_code),
            "messages with riddle words": self.count(unclear_messages),
            "test names with riddle words": sum(1 for name in self.tests for test in test_names(name) if RIDDLE_NAME.search(test)),
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

    def test_pages_name_tests_that_exist(self):
        sources = [name for name in self.tree.names if name.startswith("tests/") and name.endswith(".cc")]
        words = {word for name in sources for word in re.findall(r"\w+", read(name))}
        dead = [f"{name}: {suite}.{test}" for name in self.tree.pages for suite, test in NAMED_TEST.findall(read(name))
                if not {suite, test} <= words]  # fmt: skip
        self.assertEqual([], dead)

    def test_no_measure_exceeds_its_number_in_ratchet_json(self):
        allowed = json.loads(RATCHET.read_text(encoding="utf-8"))
        for measure, value in self.tree.measures().items():
            with self.subTest(measure):
                self.assertLessEqual(value, allowed.get(measure, README_LINES))

    def test_comments_that_begin_without_a_noun_or_are_too_long_are_found(self):
        text = "// Of many the last.\n// What wraps counts as the line above.\nint a;  // of each\nint b;  // a b c d e f g\n"
        self.assertEqual([1, 3], begins_without_a_noun(text))
        self.assertEqual([4], long_behind_code(text))

    def test_riddle_words_are_found_in_prose_and_in_test_names(self):
        self.assertEqual(2, len(RIDDLES.findall("Of many nobody")))
        self.assertEqual([], RIDDLES.findall("The newest of several processes wins"))
        self.assertTrue(RIDDLE_NAME.search("WhoHasSpokenMaySpeakAgain"))
        self.assertFalse(RIDDLE_NAME.search("AWholeLineIsPrinted"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        rounded = {name: round(value + 0.05, 1) if isinstance(value, float) else value for name, value in Tree().measures().items()}
        RATCHET.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    else:
        unittest.main()

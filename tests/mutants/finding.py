"""Finds the places to change in a source: comparisons, rows of transition tables, and the places that orders.py
names."""

import dataclasses
import re

NEIGHBOUR = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

# The code is formatted, so a comparison has blanks around it, and the brackets of template arguments do not.
COMPARISON = re.compile(r"(?<= )(<=|>=|==|!=|<|>)(?=[ \n])")
EXTREME = re.compile(r"\bstd::(min|max|clamp)(?:<([\w:]+)>)?\(")
# Comparisons that the compiler must evaluate are excluded, too.
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*|\bstatic_assert\([^;]*;', re.S | re.M
)
ROW = re.compile(r"(?:Transition)?\{(\w+)::(k\w+), (\w+)::(k\w+), (\w+)::(k\w+)\},")


class Unfit(Exception):
    """A change of orders.py does not fit its file any more."""


@dataclasses.dataclass
class Mutant:
    kind: str  # comparison, row or order
    file: str
    line: int
    what: str  # description for people
    key: str  # stays the same in another version of the sources if the changed place is the same
    number: int = 0  # number of a comparison in the instrumented build
    content: str = ""  # content of the file, for other kinds

    def __str__(self):
        return f"{self.file}:{self.line}: {self.what}"


class Keys:
    """Names that do not depend on line numbers: the text of the line, and its index among equal lines."""

    def __init__(self):
        self.seen = {}

    def make(self, file, text, change):
        base = f"{file}: {' '.join(text.split())}: {change}"
        self.seen[base] = self.seen.get(base, 0) + 1
        return base if self.seen[base] == 1 else f"{base} ({self.seen[base]})"


def blank_out(source):
    """Returns the text with blanks for comments, strings, preprocessor lines and static assertions, so that positions
    stay the same."""
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


def line_of(source, at):
    begin = source.rfind("\n", 0, at) + 1
    end = source.find("\n", at)
    return source.count("\n", 0, at) + 1, source[begin : end if end >= 0 else len(source)]


def comparisons(file, source, first):
    """Returns the mutants, numbered from `first` on, and the source that contains all of them."""
    code = blank_out(source)
    found = sorted([*COMPARISON.finditer(code), *EXTREME.finditer(code)], key=lambda match: match.start())
    keys, mutants, parts, done, number = Keys(), [], [f'#include "tests/mutants/mutable.h"\n#line 1 "{file}"\n'], 0, first
    for match in found:
        line, text = line_of(source, match.start())
        if match.group(1) in NEIGHBOUR:
            op = match.group(1)
            changes = [f"{op} -> {new}" for new in (NEIGHBOUR[op], OPPOSITE.get(op)) if new]
            replacement = f"{op} ::mutants::Op<{number}>() {op}"
        else:
            name, type_ = match.groups()
            other = {"min": ["min -> max"], "max": ["max -> min"]}
            changes = other.get(name, ["clamp without its lower limit", "clamp without its upper limit"])
            replacement = f"::mutants::{name.capitalize()}<{number}{', ' + type_ if type_ else ''}>("
        for i, change in enumerate(changes):
            what = f"{change} (at column {match.start() - source.rfind(chr(10), 0, match.start())}) in: {text.strip()}"
            key = keys.make(file, text, change)
            mutants.append(Mutant("comparison", file, line, what, key, number=number + i))
        number += 2
        parts += [source[done : match.start()], replacement]
        done = match.end()
    return mutants, "".join(parts) + source[done:], number


def rows(file, source):
    """Yields two mutants of each row: without the row, and with another state of its table as its target."""
    found = list(ROW.finditer(source))
    mutants = []
    for row in found:
        line, text = line_of(source, row.start())[0], row.group()
        mutants.append(Mutant("row", file, line, f"without the row {text}", f"{file}: without {text}",
                              content=source[: row.start()] + source[row.end() :]))
        targets = sorted({other.group(6) for other in found if other.group(5) == row.group(5)})
        others = [name for name in targets if name not in (row.group(6), row.group(2))]
        if others:
            # The target differs from row to row: the next state in alphabetical order, cyclically.
            new = next((name for name in others if name > row.group(6)), others[0])
            changed = source[: row.start(6)] + new + source[row.end(6) :]
            mutants.append(Mutant("row", file, line, f"{new} in the row {text}", f"{file}: {new} in {text}", content=changed))
    return mutants


def without_comments(text):
    """Without lines of comments, and without comments behind code: a comment may change, and a mutant still finds its place."""
    return re.sub(r"(?<=\S)[ \t]+//[^\n]*", "", re.sub(r"^[ \t]*//[^\n]*\n", "", text, flags=re.M))


def order(file, source, name, *texts):
    line, changed = None, without_comments(source)
    for old, new in zip(map(without_comments, texts[::2]), texts[1::2]):
        if changed.count(old) != 1:
            raise Unfit(f"tests/mutants/orders.py: '{name}': its text is {changed.count(old)} times in {file}:\n{old}")
        line = line or changed.count("\n", 0, changed.index(old)) + 1
        changed = changed.replace(old, new)
    return Mutant("order", file, line, name, f"{file}: {name}", content=changed)

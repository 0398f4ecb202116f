"""Compares the output that a page shows with the real output of its commands.

The page shows the output of one run, with its ids and times. So each id of a job or process matches some real id,
always the same one within the page. Each time, address, amount of memory, or number with three decimals matches any
other one. "..." matches any text within a line, and any lines if it is alone on a line. The number of blanks between
words does not count.
"""

import re

# Parts that differ from run to run: the kind, for an id that must match the same real id everywhere on the page, and a
# regular expression. A process id on a page has five digits, a real one any number of digits.
VARIES = [
    ("job", r"local-\d{8}-\d{6}-[0-9a-f]{6}"),
    ("application", r"application_\d+_\d+"),
    ("", r"https?://[\w.]+:\d+/[\w/-]*"),
    ("", r"127\.0\.0\.1:\d+"),
    ("", r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?"),
    ("", r"[+-]?(?:\d+ ?(?:d|h|min) )*\d+(?:\.\d+)? ?(?:ms|s|min|h|d)\b"),
    ("", r"(?:-|\d+(?:\.\d+)?)(?:/\d+(?:\.\d+)?)? ?(?:B|KB|MB|GB|MiB|GiB)\b"),
    ("", r"\d+(?:\.\d+)?%"),
    ("", r"\b\d\.\d{3}\b"),
    ("pid", r"\b[1-9]\d{4}\b"),
    ("", r"\.\.\."),
]
REAL = {"pid": r"\d+"}
TOKEN = re.compile("|".join(f"(?P<t{at}>{pattern})" for at, (_, pattern) in enumerate(VARIES)))


class Names:
    """The ids of a page, and the real ids that they match."""

    def __init__(self):
        self.real = {}

    def in_command(self, command):
        for shown, real in self.real.items():
            command = re.sub(rf"\b{re.escape(shown)}\b", real, command)
        return command

    def shown(self, line):
        for shown, real in self.real.items():
            line = re.sub(rf"\b{re.escape(real)}\b", shown, line)
        return line


def pattern_of(line, names):
    """Returns a regular expression for the line, with a group for each id that is not bound yet, and the list of these
    ids."""
    out, new, at = "", [], 0
    for found in TOKEN.finditer(line):
        out += words(line[at:found.start()])
        at = found.end()
        kind, pattern = VARIES[int(found.lastgroup[1:])]
        if found[0] == "...":
            out += ".*"
        elif not kind:
            out += f"(?:{pattern}|-)"
        elif found[0] in names.real:
            out += re.escape(names.real[found[0]])
        elif found[0] in new:
            out += f"(?P=n{new.index(found[0])})"
        else:
            out += f"(?P<n{len(new)}>{REAL.get(kind, pattern)})"
            new.append(found[0])
    return out + words(line[at:]), new


def words(text):
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text))


def line_matches(expected, line, names):
    pattern, new = pattern_of(expected.rstrip(), names)
    found = re.fullmatch(pattern, line.rstrip())
    if found:
        names.real |= {name: found[f"n{at}"] for at, name in enumerate(new)}
    return bool(found)


def matches(expected, lines, names):
    """Returns whether the lines match the page. Ids of the page are bound to real ids."""
    if not expected:
        return not lines
    if expected[0].strip() == "...":
        return any(matches(expected[1:], lines[at:], names) for at in range(len(lines) + 1))
    if not lines:
        return False
    before = dict(names.real)
    if line_matches(expected[0], lines[0], names) and matches(expected[1:], lines[1:], names):
        return True
    names.real = before
    return False


def matches_in_any_order(expected, lines, names):
    left = list(lines)
    for each in expected:
        if each.strip() == "...":
            continue
        found = next((line for line in left if line_matches(each, line, names)), None)
        if found is None:
            return False
        left.remove(found)
    return not left or any(each.strip() == "..." for each in expected)

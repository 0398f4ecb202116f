"""A page of docs/ for the generator and its test: plain Markdown, with comments that describe the blocks.

    <!-- about: A sentence. -->         the purpose of the page, for llms.txt and search engines; each page has one
    <!-- include: ../SECURITY.md -->    inserts the body of another file of the repository
    <!-- generate: keys -->             a part that reference.py makes from the output of the programs
    <!-- needs: SAMPLE as env -->       the test puts that sample's Python environment at ~/env
    <!-- needs: SAMPLE in PATH -->     ... or its programs where the shell finds them
    <!-- needs: the Python package -->  ... lets Python find it; <!-- needs: a Hadoop cluster --> starts one, in --long
    <!-- file: circle/train.py -->      the next block is that file: the page shows its name, and the test writes it
    <!-- not run: REASON -->            the test does not run the next block's commands, and prints the reason
    <!-- any order -->                  the next block's commands may print their lines in another order
"""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

DIRECTIVE = re.compile(r"<!-- (about|include|generate|needs|file|not run|any order)(?:: (.*?))? -->\s*$")
FENCE = re.compile(r"(\s*)(`{3,})(\S*)\s*$")


@dataclasses.dataclass
class Block:
    """A fenced block, with the directives of the lines before it."""

    language: str
    lines: list
    line: int  # number of the first line of content, from 1
    directives: dict


def page_files():
    return sorted(file for file in DOCS.rglob("*.md") if "generator" not in file.parts)


def title_of(text):
    return next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), "")


def read_blocks(text):
    """Returns all fenced blocks of a page in their order, and the directives that do not belong to a block."""
    blocks, alone, directives = [], [], {}
    lines, at = text.splitlines(), 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if found := DIRECTIVE.match(line.strip()):
            name, value = found[1], found[2] or ""
            if name in ("about", "include", "generate", "needs"):
                alone.append((name, value, at))
            else:
                directives[name] = value
            continue
        fence = FENCE.match(line)
        if not fence:
            if line.strip() and directives:
                raise ValueError(f"line {at}: a comment for the next block, but no block follows")
            continue
        begin = at
        while at < len(lines) and lines[at].strip() != fence[2]:
            at += 1
        if at == len(lines):
            raise ValueError(f"line {begin}: a block without an end")
        indent = len(fence[1])
        blocks.append(Block(fence[3], [each[indent:] for each in lines[begin:at]], begin + 1, directives))
        directives = {}
        at += 1
    return blocks, alone


def outside_code(text, replace):
    """Applies `replace` to each run of lines outside of code blocks."""
    out, run, fence = [], [], None
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line) or re.match(r"(\s*)(`{3,})(.*)$", line)
        if fence is None and mark:
            out += [replace("".join(run)), line]
            run, fence = [], mark[2]
        elif fence is not None:
            out.append(line)
            if line.strip() == fence:
                fence = None
        else:
            run.append(line)
    return "".join(out) + replace("".join(run))


CODE_OR_LINK = re.compile(r"(?P<code>`+[^`]+`+)|(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")


def replace_links(text, replace):
    """Applies `replace(image, text, target)` to each link into the repository that is not in code."""

    def one(found):
        if found["code"] or re.match(r"[a-z]+:", found["target"]):
            return found[0]
        return replace(bool(found["image"]), found["text"], found["target"])

    # A paragraph that begins with four blanks is code. A link may span two lines.
    return outside_code(text, lambda run: "".join(
        part if part.startswith("    ") else CODE_OR_LINK.sub(one, part) for part in re.split(r"(\n\s*?\n)", run)))


def slug(heading):
    """Returns the anchor of a heading, by the rules of code hosts and MyST."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(text):
    anchors = set()

    def collect(run):
        for heading in re.findall(r"^#{1,6} (.*)$", run, re.MULTILINE):
            anchor, number = slug(heading), 0
            while (name := anchor if number == 0 else f"{anchor}-{number}") in anchors:
                number += 1
            anchors.add(name)
        return ""

    outside_code(text, collect)
    return anchors

"""A page of docs/ as the generator and its test read it: plain Markdown, with comments that say what a block is.

    <!-- about: A sentence. -->         what the page is for, in llms.txt and for search engines; each page has one
    <!-- include: ../SECURITY.md -->    the body of another file of the repository, in this place
    <!-- generate: keys -->             a part that reference.py makes of what the programs print
    <!-- needs: SAMPLE as env -->       the test puts that sample's Python environment at ~/env
    <!-- needs: SAMPLE in PATH -->     ... or its programs where the shell finds them
    <!-- needs: the Python package -->  ... lets Python find it; <!-- needs: a Hadoop cluster --> starts one, in --long
    <!-- file: circle/train.py -->      the next block is that file: shown with its name, written by the test
    <!-- not run: REASON -->            the next block's commands are not run by the test, which prints the reason
    <!-- any order -->                  the lines that the next block's commands print may come in another order
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
    line: int  # of its first line of content, from 1
    directives: dict


def page_files():
    return sorted(file for file in DOCS.rglob("*.md") if "generator" not in file.parts)


def title_of(text):
    return next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), "")


def read_blocks(text):
    """All fenced blocks of a page, in their order, and the directives that stand alone."""
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
                raise ValueError(f"line {at}: a comment that speaks of the next block, and no block after it")
            continue
        begin = at
        while at < len(lines) and lines[at].strip() != fence[2]:
            at += 1
        if at == len(lines):
            raise ValueError(f"line {begin}: a block without its end")
        indent = len(fence[1])
        blocks.append(Block(fence[3], [each[indent:] for each in lines[begin:at]], begin + 1, directives))
        directives = {}
        at += 1
    return blocks, alone


def outside_code(text, replace):
    """`replace` of each run of lines that is in no code block."""
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
    """`replace(image, text, target)` for each link that is neither in code nor leads out of the repository."""

    def one(found):
        if found["code"] or re.match(r"[a-z]+:", found["target"]):
            return found[0]
        return replace(bool(found["image"]), found["text"], found["target"])

    # A paragraph that begins with four blanks is code. A link may go on in the next line.
    return outside_code(text, lambda run: "".join(
        part if part.startswith("    ") else CODE_OR_LINK.sub(one, part) for part in re.split(r"(\n\s*?\n)", run)))


def slug(heading):
    """The anchor of a heading, as code hosts and MyST make it."""
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

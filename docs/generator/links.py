"""Dead links in the Markdown of the repository: files that are not there, headings that are not there."""

import os
import pathlib

from generator import pages


def markdown_files():
    """Also where there is no repository, as in a source archive. Builds beside it come and go while this looks."""
    found = []
    for folder, folders, files in os.walk(pages.ROOT):
        folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        found += [pathlib.Path(folder, name) for name in files if name.endswith(".md")]
    return sorted(found)


def dead_links(files):
    """"FILE: TARGET: why", and how many links were followed."""
    dead, followed = [], 0
    generated = {name for name, _ in pages_with_parts()}
    for file in files:

        def look(_image, _words, target, file=file):
            nonlocal followed
            followed += 1
            path, _, anchor = target.partition("#")
            there = (file.parent / path).resolve() if path else file
            if why := what_is_wrong(there, anchor, generated):
                dead.append(f"{file.relative_to(pages.ROOT)}: {target}: {why}")
            return ""

        pages.replace_links(file.read_text(), look)
    return dead, followed


def pages_with_parts():
    """Pages whose headings are not all in their source: the generator's own check follows anchors there."""
    for page in pages.page_files():
        if any(name in ("include", "generate") for name, _, _ in pages.read_blocks(page.read_text())[1]):
            yield page, True


def what_is_wrong(file, anchor, generated):
    if not file.exists():
        return "no such file"
    if not file.is_relative_to(pages.ROOT):
        return "outside of the repository"
    if not anchor or file in generated:
        return None
    file = file / "README.md" if file.is_dir() else file
    if file.suffix != ".md" or not file.exists():
        return "an anchor in what has no headings"
    return None if anchor in pages.anchors_of(file.read_text()) else "no such heading"

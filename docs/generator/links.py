"""Finds links in the repository's Markdown to files and headings that do not exist."""

import os
import pathlib

from generator import pages


def markdown_files():
    """Returns all Markdown files, also in a source archive without git. Skips build folders, which may change."""
    found = []
    for folder, folders, files in os.walk(pages.ROOT):
        folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        found += [pathlib.Path(folder, name) for name in files if name.endswith(".md")]
    return sorted(found)


def dead_links(files):
    """Returns a list of "FILE: TARGET: why", and the number of links that were followed."""
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
    """Yields pages with included or generated parts. Sphinx checks the anchors in these pages."""
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
        return "an anchor in a file without headings"
    return None if anchor in pages.anchors_of(file.read_text()) else "no such heading"

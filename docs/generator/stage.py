"""Prepares docs/ for Sphinx: inserts parts, and turns links to other files into links to pages, or into names."""

import os
import re
import shutil

from generator import pages, reference


def body_of(file):
    """Returns the text of a file without its title."""
    return re.sub(r"\A# .*\n+", "", file.read_text())


def included_files():
    """Returns the included files of the repository, and for each the page that includes it."""
    where = {}
    for page in pages.page_files():
        for name, value, _ in pages.read_blocks(page.read_text())[1]:
            if name == "include":
                where[(page.parent / value).resolve()] = page
    return where


class Stage:
    def __init__(self, tony, target):
        self.tony = tony
        self.target = target
        self.included = included_files()

    def page_at(self, file):
        """Returns the page that shows this file of the repository, or None."""
        if file.is_dir():
            file = file / "README.md"
        if file in self.included:
            return self.included[file]
        return file if pages.DOCS in file.parents and file.suffix == ".md" else None

    def with_links(self, text, origin, page):
        """Returns `text` of the file `origin` with links that work on `page`."""

        def link(image, words, target):
            path, _, anchor = target.partition("#")
            file = (origin.parent / path).resolve() if path else origin
            if image:
                copy = self.target / "images" / file.name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy)
                return f"![{words}](/images/{file.name})"
            shown_on = self.page_at(file)
            if shown_on:
                to = os.path.relpath(shown_on, page.parent)
                return f"[{words}]({'' if shown_on == page else to}{'#' + anchor if anchor else ''})"
            if file.parent == reference.SCHEMAS:
                to = os.path.relpath(pages.DOCS / "reference/schemas.md", page.parent)
                return f"[{words}]({to}#{file.name.removesuffix('.schema.json')})"
            name = str(file.relative_to(pages.ROOT)).removesuffix("/README.md")
            plain = words.replace("`", "").rstrip("/")
            return f"`{name}`" if name.endswith(plain) else f"{words} (`{name}`)"

        return pages.replace_links(text, link)

    def fill(self, page):
        out, caption, skip = [], None, False
        for line in page.read_text().splitlines():
            found = pages.DIRECTIVE.match(line.strip())
            if not found:
                fence = pages.FENCE.match(line)
                if caption and fence:
                    line, skip = f"{fence[1]}{fence[2]}{{code-block}} {fence[3] or 'text'}\n:caption: {caption}\n", True
                    caption = None
                out.append(line)
                continue
            if found[1] == "include":
                file = (page.parent / found[2]).resolve()
                out.append(("included", file))
            elif found[1] == "generate":
                out.append(("generated", reference.PARTS[found[2]](self.tony)))
            elif found[1] == "file":
                caption = found[2]
        return self.joined(out, page)

    def joined(self, parts, page):
        text, run = "", []

        def flush():
            nonlocal text, run
            text += self.with_links("\n".join(run) + "\n", page, page)
            run = []

        for part in parts:
            if isinstance(part, str):
                run.append(part)
                continue
            flush()
            kind, content = part
            text += content + "\n" if kind == "generated" else self.with_links(self.without_comments(content), content, page)
        flush()
        return text

    @staticmethod
    def without_comments(file):
        return "".join(line for line in body_of(file).splitlines(keepends=True) if not pages.DIRECTIVE.match(line.strip()))

    def run(self):
        shutil.rmtree(self.target, ignore_errors=True)
        for page in pages.page_files():
            copy = self.target / page.relative_to(pages.DOCS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(self.fill(page))
        shutil.copy(pages.DOCS / "conf.py", self.target)
        shutil.copytree(pages.DOCS / "static", self.target / "static")
        shutil.copytree(reference.SCHEMAS, self.target / "extra/schemas/v1")

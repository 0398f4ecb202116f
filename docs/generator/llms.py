"""Writes llms.txt, llms-full.txt and SKILL.md: the pages as plain text for language models."""

import re

from generator import pages


def ordered_pages(source):
    """Returns the names of all pages, in the order of index.md's lists."""
    names = []
    for block in re.findall(r"```\{toctree\}\n(.*?)```", (source / "index.md").read_text(), re.DOTALL):
        names += [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
    return ["index", *names]


def about(name):
    found = [value for kind, value, _ in pages.read_blocks((pages.DOCS / f"{name}.md").read_text())[1] if kind == "about"]
    if len(found) != 1:
        raise ValueError(f"docs/{name}.md: expected one comment <!-- about: ... -->")
    return found[0]


def write(source, target):
    index, everything = ["# TonY", "", f"> {about('index')}", ""], []
    for name in ordered_pages(source):
        text = (source / f"{name}.md").read_text()
        text = re.sub(r"```\{toctree\}\n.*?```\n", "", text, flags=re.DOTALL)
        text = re.sub(r"```\{code-block\} (\S+)\n:caption: (.*)\n\n?", r"`\2`:\n\n```\1\n", text)
        text = re.sub(r"^!\[.*\n\n?", "", text, flags=re.MULTILINE)
        if name != "index":
            index.append(f"- [{pages.title_of(text)}]({name}.md): {about(name)}")
        page = target / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text)
        everything.append(text.strip() + "\n")
    skill = (target / "assistants.md").read_text()
    (target / "SKILL.md").write_text(f"---\nname: tony\ndescription: \"{about('assistants')}\"\n---\n\n{skill}")
    (target / "llms.txt").write_text("\n".join(index) + "\n")
    (target / "llms-full.txt").write_text("\n\n".join(everything))

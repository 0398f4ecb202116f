"""The parts of the reference that are generated from the tables in the built `tony`."""

import html
import json
import re
import subprocess

from generator.pages import ROOT

SCHEMAS = ROOT / "runtime/client/schema/v1"


class Program:
    def __init__(self, folder):
        self.path = folder / "tony"

    def says(self, *arguments):
        return subprocess.run([self.path, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def cell(text):
    """Escapes text for a cell of a table and for other places where Markdown would interpret it."""
    return re.sub(r"([|*<_\[])", r"\\\1", text)


# The first prefix that matches a key decides its part of the list.
KEY_PARTS = [
    ("tony.application.", "The job"),
    ("tony.<role>.", "A role"),
    ("tony.containers.", "All tasks"),
    ("tony.execution.", "All tasks"),
    ("tony.task.", "All tasks"),
    ("tony.restart.", "Restarts"),
    ("tony.checkpoint.", "Checkpoints"),
    ("tony.failure.", "What a failure means"),
    ("tony.am.", "The application master"),
    ("tony.yarn.", "A Hadoop cluster"),
    ("tony.local.", "One machine"),
    ("tony.tensorboard.", "TensorBoard"),
    ("tony.history.", "History"),
    ("tony.azkaban.", "Azkaban"),
    ("", "Other keys"),
]


def part_of(key):
    return next(title for prefix, title in KEY_PARTS if key.startswith(prefix))


def keys(tony):
    """Formats the rows of `tony help keys --markdown`: key, type, default, meaning, effect."""
    parts = {title: [] for _, title in KEY_PARTS}
    for row in tony.says("help", "keys", "--markdown").splitlines():
        key, kind, default, text, effect = (each.strip() for each in re.split(r"(?<!\\)\|", row)[1:-1])
        about = kind + (f", {default} if not set" if default else "")
        effect = f"<br>*{effect}*" if effect else ""
        parts[part_of(key.strip("`"))].append(f"{key}\n: {about}<br>{text}{effect}\n")
    return "\n".join(f"## {title}\n\n" + "\n".join(rows) for title, rows in parts.items() if rows)


def verbs(tony):
    """Returns the rows of `tony help`: "  VERB [WORDS]   meaning"."""
    overview = tony.says("help").split("\n\n")[1]
    return [re.match(r"  (\S+)(.*?)\s{2,}(\S.*)$", row).groups() for row in overview.splitlines()]


def commands(tony):
    out = []
    for verb, _, _ in verbs(tony):
        usage, rest = tony.says("help", verb).split("\n", 1)
        text, *options = rest.strip("\n").split("\n")
        out.append(f"## tony {verb}\n\n```text\n{usage}\n```\n\n{cell(text.strip())}.\n")
        for option in options:
            if not option.strip():
                continue
            name, meaning = re.match(r"  (-.*?)\s{2,}(\S.*)$", option).groups()
            out.append(f"`{name}`\n: {cell(meaning)}\n")
    return "\n".join(out)


def outcome_classes(tony):
    rows = json.loads(tony.says("explain-exit", "--json"))["classes"]
    lines = ["| class | another try may end better | a restart within the job is | meaning |", "|---|---|---|---|"]
    for row in rows:
        again = "yes" if row["retryable"] else "no"
        lines.append(f"| `{row['class']}` | {again} | {row['restart']} | {cell(row['meaning'])} |")
    return "\n".join(lines)


def kind_of(schema):
    if "$ref" in schema:
        name = schema["$ref"].rsplit(":", 1)[-1]
        return f"[{name}](#{name})" if not name.startswith("#") else "object"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(kind_of(each) for each in schema[choice]))
    kind = schema.get("type", "object" if "properties" in schema else "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if kind == "array" and "items" in schema:
        return f"list of {kind_of(schema['items'])}"
    inside = [f"`{name}`" for name in schema.get("properties", {})]
    return f"{kind} with {', '.join(inside)}" if inside else kind


def fields(schema):
    required = set(schema.get("required", []))
    for name, field in schema.get("properties", {}).items():
        about = kind_of(field) + ("" if name in required else ", optional")
        text = f"<br>{cell(html.escape(field['description'], quote=False))}" if "description" in field else ""
        yield f"`{name}`\n: {about}{text}\n"


def parts_of(schema):
    """Yields the parts of a schema that combines several objects."""
    if "properties" in schema:
        yield schema
    for combination in ("oneOf", "anyOf", "allOf"):
        for part in schema.get(combination, []):
            if "$ref" in part:
                yield {"see": kind_of(part)}
            else:
                yield from parts_of(part)


def schemas(_tony):
    out = []
    for file in sorted(SCHEMAS.glob("*.schema.json")):
        schema, name = json.loads(file.read_text()), file.name.removesuffix(".schema.json")
        out.append(f"## {name}\n\n{cell(schema.get('title', ''))}. `{file.relative_to(ROOT)}`\n")
        for number, part in enumerate(parts_of(schema)):
            if number > 0:
                out.append("or, or also:\n")
            out += [f"{part['see']}\n"] if "see" in part else fields(part)
    return "\n".join(out)


PARTS = {"keys": keys, "commands": commands, "outcome-classes": outcome_classes, "schemas": schemas}

"""The table in README.md with the results of the last runs: a line for each selection of mutants."""

import pathlib
import subprocess

KINDS = ("row", "order", "comparison")
BEGIN = "<!-- table of results: scripts/mutants --report --record writes its lines -->\n"
END = "<!-- end of the table of results -->\n"


def readme(root):
    return pathlib.Path(root, "tests/mutants/README.md")


def commit(root):
    """Returns the commit of the sources, with "-dirty" if files differ from it; "unknown" outside of git."""
    asked = subprocess.run(["git", "-C", root, "describe", "--always", "--exclude=*", "--abbrev=7", "--dirty"], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)  # fmt: skip
    return asked.stdout.strip() or "unknown"


def caught_of(mutants, results):
    """Returns how many of the mutants were caught."""
    return sum(results[mutant.key]["caught_by"] is not None for mutant in mutants)


def line(selection, mutants, results, reasons):
    """Returns the line of a selection of mutants, which all have been tried."""
    cells = [selection, ", ".join(sorted({results[mutant.key].get("commit", "unknown") for mutant in mutants}))]
    for kind in KINDS:
        of_kind = [mutant for mutant in mutants if mutant.kind == kind]
        cells.append(f"{caught_of(of_kind, results)} of {len(of_kind)}" if of_kind else "")
    caught = caught_of(mutants, results)
    cells.append(f"{caught} of {len(mutants)} ({100 * caught / len(mutants):.1f} %)")
    missed = [mutant for mutant in mutants if results[mutant.key]["caught_by"] is None]
    cells.append(f"{sum(bool(reasons.get(mutant.key)) for mutant in missed)} of {len(missed)}")
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells) + "\n"


def problems(text):
    """Yields an error if the page does not have both marks, in their order."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        yield "tests/mutants/README.md: the two comments around the table of results are not there"


def with_line(text, selection, new):
    """Returns the page with the new line in place of the older line of this selection, or at the table's end."""
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    lines = table.splitlines(keepends=True)
    at = next((i for i, each in enumerate(lines) if each.startswith(f"| {selection} |")), len(lines))
    lines[at : at + 1] = [new]
    return before + BEGIN + "".join(lines) + END + after

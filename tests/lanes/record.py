"""Results of earlier runs of this checkout, and the checked-in seconds of each unit."""

import json
import re

from units import ROOT

RESULTS = ROOT / "build/results.jsonl"  # one line for each unit that ran
SECONDS = ROOT / "tests/lanes/seconds.json"  # written by scripts/test --record
PAGE = ROOT / "tests/lanes/units.md"  # generated from the file above
BEGIN, END = "<!-- made by scripts/test --record -->", "<!-- end -->"
TOLERANCE = 1.25  # a run that needs more than this factor times the recorded CPU seconds warns


def append(line):
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with open(RESULTS, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def results():
    """Returns {unit: its results, oldest first}."""
    found = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            result = json.loads(line)
            found.setdefault(result["unit"], []).append(result)
    return found


def seconds():
    return json.loads(SECONDS.read_text()) if SECONDS.exists() else {"units": {}}


def last(unit, hashed, known):
    """Returns the last result of a whole unit for the same inputs, or None."""
    same = [result for result in known.get(unit.name, ()) if result["inputs"] == hashed and not result["partial"]]
    return same[-1] if same else None


def in_recorded_seconds(cpu, calibration, recorded):
    """Converts CPU seconds of this run to seconds of the recorded machine, by the compile that both machines did."""
    return cpu * recorded["calibration"] / calibration if calibration and recorded.get("calibration") else None


def keep(kind, units):
    """Writes the seconds of the last run of each unit into the checked-in file; `kind` is cold or warm."""
    kept, known = seconds(), results()
    newest = None
    for unit in units.values():
        last = known.get(unit.name, [None])[-1]
        if last is None or last["failed"] or (unit.counts != "nothing" and not last["passed"]):
            continue
        prefix = "" if kind == "cold" else "warm_"
        kept["units"].setdefault(unit.name, {}).update({f"{prefix}cpu": last["cpu"], f"{prefix}wall": last["wall"]})
        if unit.lane == "default" and last.get("calibration") and (newest is None or last["at"] >= newest["at"]):
            newest = last
    kept["units"] = {name: kept["units"][name] for name in units if name in kept["units"]}
    if kind == "cold" and newest:
        kept["calibration"] = newest["calibration"]
    rows = ",\n".join(f'  "{name}": {json.dumps(entry, sort_keys=True)}' for name, entry in kept.pop("units").items())
    SECONDS.write_text(f'{{"calibration": {kept["calibration"]}, "units": {{\n{rows}\n}}}}\n')
    write_table(units)


def write_table(units):
    kept = seconds()["units"]
    lines = ["| unit | lane | what it shows | cold: CPU s, wall s | warm: CPU s, wall s |", "|---|---|---|---|---|"]
    for unit in units.values():
        entry = kept.get(unit.name, {})
        cells = [", ".join(str(round(entry[f"{prefix}{what}"])) for what in ("cpu", "wall")) if f"{prefix}cpu" in entry else ""
                 for prefix in ("", "warm_")]  # fmt: skip
        lines.append(f"| `{unit.name}` | {unit.lane} | {unit.text} | {cells[0]} | {cells[1]} |")
    text = PAGE.read_text()
    table = BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END
    PAGE.write_text(re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: table, text, flags=re.S))

"""Reads a job in TonY's history with the standard Avro library, as TonY's portal and Dr. Elephant read it in Java.

    read_history.py FOLDER   prints {"name":..., "events":[...], "configuration":{...}}; exit 1: not TonY's format
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

import avro.datafile
import avro.io

TEXT = {"type": "string", "avro.java.string": "String"}
OPTIONAL_TEXT = ["null", TEXT]
# TonY 0.4.6, namespace com.linkedin.tony.events: the fields of each record, in order.
RECORDS = {
    "Event": ["type", "event", "timestamp"],
    "ApplicationInited": [("applicationId", TEXT), ("numTasks", "int"), ("host", TEXT), ("containerID", OPTIONAL_TEXT)],
    "ApplicationFinished": [("applicationId", TEXT), ("finishedTasks", "int"), ("failedTasks", "int"),
                            ("metrics", {"type": "array", "items": "Metric"})],
    "TaskStarted": [("taskType", TEXT), ("taskIndex", "int"), ("host", TEXT), ("containerID", OPTIONAL_TEXT)],
    "TaskFinished": [("taskType", TEXT), ("taskIndex", "int"), ("status", TEXT),
                     ("metrics", {"type": "array", "items": "Metric"}), ("containerDiagnostic", OPTIONAL_TEXT)],
    "Metric": [("name", TEXT), ("value", "double")],
}  # fmt: skip
TYPES = ["APPLICATION_INITED", "APPLICATION_FINISHED", "TASK_STARTED", "TASK_FINISHED"]
UNION = ["ApplicationInited", "ApplicationFinished", "TaskStarted", "TaskFinished"]


def check(condition, what):
    if not condition:
        sys.exit(f"not as TonY's: {what}")


def named(type_, records):
    """Returns the type with each record replaced by its name, and adds the records with their fields to `records`."""
    if isinstance(type_, dict) and type_["type"] == "record":
        records[type_["name"]] = [(field["name"], named(field["type"], records)) for field in type_["fields"]]
        for field in type_["fields"]:
            optional = isinstance(field["type"], list) and "null" in field["type"]
            check(("default" in field) == optional, f"default of {field['name']}")
        return type_["name"]
    if isinstance(type_, dict) and type_["type"] == "array":
        return {"type": "array", "items": named(type_["items"], records)}
    if isinstance(type_, list):
        return [named(branch, records) for branch in type_]
    return type_


def check_schema(schema):
    check(schema["namespace"] == "com.linkedin.tony.events", "namespace")
    records = {}
    named(schema, records)
    event = dict(records["Event"])
    check(list(event) == RECORDS["Event"], "fields of Event")
    check(event["type"] == {"type": "enum", "name": "EventType", "symbols": TYPES}, "EventType")
    check(event["event"] == UNION and event["timestamp"] == "long", "types of Event")
    for name in [*UNION, "Metric"]:
        check(records[name] == RECORDS[name], f"{name}: {records[name]}")


def check_name(name):
    """Checks the name as TonY's ParserUtils.isValidHistFileName does."""
    parts = name[: name.index(".")].split("-")
    check(re.fullmatch(r"application_\d+_\d+", parts[0]) and parts[1].isdigit(), name)
    if name.endswith(".inprogress"):
        return check(len(parts) == 3 and parts[2] == parts[2].lower(), name)
    check(len(parts) == 5 and parts[2].isdigit() and parts[3] == parts[3].lower() and parts[4] == parts[4].upper(), name)


def read_configuration(file):
    """Reads the file as TonY's ParserUtils.parseConfig does, which fails if any of the four elements is missing."""
    return {
        entry.findall("name")[0].text: {what: entry.findall(what)[0].text for what in ("value", "final", "source")}
        for entry in xml.etree.ElementTree.parse(file).getroot().iter("property")
    }


def main(folder):
    files = [file for file in folder.iterdir() if "jhist" in file.name]
    check(len(files) == 1, f"one history, not {files}")
    check_name(files[0].name)
    with avro.datafile.DataFileReader(files[0].open("rb"), avro.io.DatumReader()) as reader:
        check_schema(json.loads(reader.meta["avro.schema"]))
        events = list(reader)
    print(json.dumps({"name": files[0].name, "events": events,
                      "configuration": read_configuration(folder / "tony-final.xml")}))  # fmt: skip


main(pathlib.Path(sys.argv[1]))

"""Compares the types with the published schemas, and with the programs' answers."""

import dataclasses
import datetime
import json
import types
import typing
import unittest

import reader
import tony
from case import PackageCase
from tony import asks, documents
from tony.program import Ask
from tony.reading import read

KINDS = {
    "job-status": documents.JobStatus, "task": documents.TaskStatus, "verdict": documents.Verdict, "usage": documents.Usage,
    "outcome": documents.Outcome, "restart": documents.Restart, "log-line": documents.FollowedEntry,
    "log-answer": documents.LogAnswer, "outputs": documents.Outputs, "plan": documents.Plan, "version": documents.Version,
    "submit": documents.Submitted,
}  # fmt: skip
SCALARS = {"string": str, "integer": int, "boolean": bool}
# Members that the types leave to `document`, or to the exception that an answer has become.
LEFT_OUT = {"schema", "task of plan", "configuration", "without_effect", "completion of plan"}


def bare(hint):
    """Returns the type without "or None"."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        (hint,) = [choice for choice in typing.get_args(hint) if choice is not type(None)]
    return hint


def choices(schema):
    return {choice for choice in schema["enum"] if choice is not None}


class Differences:
    """Collects the differences between a type and its schema."""

    def __init__(self):
        self.found, self.compared = [], set()

    def compare(self, where, kind, schema):
        if "allOf" in schema:
            (schema,) = schema["allOf"]
        self.compared.add(kind)
        hints = typing.get_type_hints(kind)
        fields = {field.metadata.get("member", field.name): field for field in dataclasses.fields(kind)
                  if not field.metadata.get("whole")}  # fmt: skip
        members = {name: member for name, member in schema["properties"].items()
                   if not LEFT_OUT & {name, f"{name} of {where}"}}  # fmt: skip
        if set(fields) != set(members):
            self.found.append(f"{where}: only in one of both: {set(fields) ^ set(members)}")
        for name in set(fields) & set(members):
            field = fields[name]
            has_default = (field.default, field.default_factory) != (dataclasses.MISSING, dataclasses.MISSING)
            if has_default == (name in schema.get("required", ())):
                self.found.append(f"{where}.{name}: required in one of both")
            self.compare_hints(f"{where}.{name}", bare(hints[field.name]), members[name])

    def compare_hints(self, where, hint, schema):
        if "allOf" in schema and len(schema["allOf"]) == 1:
            schema = schema["allOf"][0]
        if "enum" in schema:
            right = typing.get_origin(hint) is typing.Literal and set(typing.get_args(hint)) == choices(schema)
        elif dataclasses.is_dataclass(hint):
            return self.compare(where, hint, schema)
        elif schema["type"] == "array":
            right = typing.get_origin(hint) is tuple
            if right and "enum" not in schema["items"]:
                return self.compare_hints(f"{where}[]", typing.get_args(hint)[0], schema["items"])
        elif schema["type"] == "object":
            right = typing.get_origin(hint) is not None
        elif schema.get("pattern", "").endswith("Z$"):
            right = hint is datetime.datetime
        else:
            right = hint is SCALARS[schema["type"]]
        if not right:
            self.found.append(f"{where}: {hint}, {schema}")


class SchemasTest(unittest.TestCase):
    def test_each_answer_type_matches_its_schema(self):
        differences = Differences()
        for name, kind in KINDS.items():
            differences.compare(name, kind, reader.inlined(reader.load(name)))
        self.assertEqual(differences.found, [])
        declared = {kind for kind in vars(documents).values() if dataclasses.is_dataclass(kind)}
        self.assertEqual(declared - differences.compared, set(), "a type that no schema is held against")

    def test_the_comparison_of_types_and_schemas_finds_a_difference(self):
        for change in ({"required": []}, {"properties": {}}):
            differences = Differences()
            differences.compare("usage", documents.Usage, {**reader.load("usage"), **change})
            self.assertNotEqual(differences.found, [])

    def test_the_job_document_type_matches_its_schema(self):
        members = reader.load("job-members")["properties"]
        self.assertEqual(set(asks.Members.__annotations__), set(members))
        document = reader.load("job-document")["properties"]
        self.assertEqual(set(typing.get_type_hints(asks.JobDocument)), set(members) | set(document))
        role = members["tasks"]["additionalProperties"]["properties"]
        hints = typing.get_type_hints(asks.Role)
        self.assertEqual(set(hints), set(role))
        for name, schema in role.items():
            if "enum" in schema:
                self.assertEqual(set(typing.get_args(bare(hints[name]))), choices(schema), name)


class AnswersTest(PackageCase):
    def test_answers_of_tony_are_read_without_losing_a_member(self):
        job = self.submit("echo hi; exit 3", conf={"tony.restart.task.budget": "1"}, request_id="r", env={"A": "1"})
        job.wait(check=False)
        for ask, kind, schema in (
            (asks.status(job.id), documents.JobStatus, "job-status"),
            (asks.logs(job.id, asks.Reading(timestamps=True)), documents.LogAnswer, "log-answer"),
            (asks.outputs(job.id), documents.Outputs, "outputs"),
            (Ask(("version",)), documents.Version, "version"),
        ):
            with self.subTest(schema):
                document = tony.Program().call(ask)
                self.assertEqual(reader.complaints(schema, document), [])
                value = read(kind, document)
                self.assertEqual(self.lost(value, document), [])

    def lost(self, value, document, where=""):
        """Yields members of a document that its value lacks or has otherwise."""
        found = []
        fields = {field.metadata.get("member", field.name): getattr(value, field.name) for field in dataclasses.fields(value)}
        for name, member in document.items():
            mine = fields.get(name)
            if isinstance(mine, datetime.datetime):
                mine = mine.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            if dataclasses.is_dataclass(mine):
                found += self.lost(mine, member, f"{where}.{name}")
            elif isinstance(mine, tuple) and mine and dataclasses.is_dataclass(mine[0]):
                for one, other in zip(mine, member, strict=True):
                    found += self.lost(one, other, f"{where}.{name}")
            elif name != "schema" and (list(mine) if isinstance(mine, tuple) else mine) != member:
                found.append(f"{where}.{name}: {mine} for {member}")
        return found

    def test_unknown_members_of_an_answer_are_available_in_the_raw_document(self):
        job = self.submit()
        job.wait()
        document = {**tony.Program().call(asks.status(job.id)), "mood": "good"}
        document["verdict"] = {**document["verdict"], "mood": "good"}
        self.assertEqual(read(documents.JobStatus, document).document["mood"], "good")

    def test_an_answer_without_a_required_member_raises_a_one_line_error(self):
        self.one_line(tony.VersionMismatch, lambda: read(documents.JobStatus, json.loads('{"schema":1,"job":"j"}')), "name")

    def test_the_python_package_and_the_programs_have_the_same_version(self):
        self.assertEqual(tony.version().version, tony.__version__)

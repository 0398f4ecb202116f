"""The schemas themselves, without running a program: they are valid, match their description, and refuse bad
documents."""

import copy
import json
import re
import unittest

import jsonschema

import reader

TIME = "2026-11-21T19:08:10.082Z"
USAGE = {"samples": 1, "memory_bytes": 1, "mean_memory_bytes": 1, "most_memory_bytes": 1, "cpu_ms": 1, "millicores": 1,
         "most_millicores": 1, "elapsed_ms": 1}  # fmt: skip
OUTCOME = {"class": "user_error", "message": "", "exit_code": 3, "stderr_tail": "no\n"}
VERDICT = {"state": "FAILED", "class": "user_error", "retryable": True, "message": "it failed", "task": "worker:0",
           "attempt": 1, "host": "h", "exit_code": 3, "stderr_tail": ""}  # fmt: skip
TASK = {"task": "worker:0", "state": "done", "attempt": 1, "attempt_state": "failed", "host": "h", "pid": 0,
        "suspect": False, "started": TIME, "ended": TIME, "outcome": OUTCOME, "usage": USAGE}  # fmt: skip
RESTART = {"number": 1, "time": TIME, "scope": "task", "task": "worker:0", "attempt": 1, "reason": "it failed",
           "charged": True}  # fmt: skip
JOB = {"schema": 1, "job": "local-1", "name": "n", "user": "u", "framework": "jax", "state": "FAILED", "seq": 9,
       "epoch": 1, "generation": 1, "submitted": TIME, "ended": TIME, "verdict": VERDICT, "tasks": [TASK],
       "restart_count": 1, "restarts": [RESTART]}  # fmt: skip
ERROR = {"schema": 1, "error": {"code": 69, "class": "unavailable", "message": "no", "retryable": True}}

# Documents that programs write and `tony` reads: an unknown member is refused.
CLOSED = ("job-document", "job-members")

# Maps each shared definition and each answer to a document that holds all required members.
SAMPLES = {"usage": USAGE, "outcome": OUTCOME, "verdict": VERDICT, "task": TASK, "restart": RESTART, "job-status": JOB,
           "error": ERROR, "failure": ERROR["error"], "status": JOB, "wait": JOB,
           "version": {"schema": 1, "version": "0.1.0", "schemas": [1]}}  # fmt: skip


def wrong_types(document):
    """Yields copies of the document in which one value has another type, for every value."""
    for key, value in list(document.items()):
        changed = copy.deepcopy(document)
        changed[key] = 7 if isinstance(value, (str, bool, dict, list)) else "seven"
        yield key, changed
        if isinstance(value, dict):
            for inner, below in wrong_types(value):
                yield f"{key}.{inner}", {**document, key: below}
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for inner, below in wrong_types(value[0]):
                yield f"{key}[0].{inner}", {**document, key: [below, *value[1:]]}


class SchemasTest(unittest.TestCase):
    def test_every_schema_is_valid_and_named_like_its_file(self):
        for name in reader.names():
            with self.subTest(name):
                schema = reader.load(name)
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertEqual(schema["$id"], f"urn:tony:schema:1:{name}")
                self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")

    def test_every_schema_reference_names_an_existing_schema(self):
        for name in reader.names():
            for reference in re.findall(r'"\$ref": "([^"]*)"', json.dumps(reader.load(name))):
                self.assertIn(reference.removeprefix("urn:tony:schema:1:"), reader.names(), name)

    def test_every_required_field_is_defined_and_every_answer_allows_additional_fields(self):
        def look(name, schema):
            if isinstance(schema, list):
                return [look(name, item) for item in schema]
            if not isinstance(schema, dict):
                return None
            for key in ("additionalProperties", "unevaluatedProperties"):
                self.assertIsNot(schema.get(key), False, f"{name}: fields are added within a schema")
            if "properties" in schema and "required" in schema and isinstance(schema["required"], list):
                self.assertLessEqual(set(schema["required"]), set(schema["properties"]), name)
            return [look(name, value) for value in schema.values()]

        for name in set(reader.names()) - set(CLOSED):
            look(name, reader.load(name))

    def test_sample_documents_are_accepted_with_and_without_unknown_fields(self):
        for name, document in SAMPLES.items():
            self.assertEqual(reader.complaints(name, document), [], name)
            self.assertEqual(reader.complaints(name, {**document, "news": {"of": 2027}}), [], name)

    def test_a_document_without_a_required_field_is_refused(self):
        for name, document in SAMPLES.items():
            for field in reader.inlined(reader.load(name)).get("required", []):
                changed = {key: value for key, value in document.items() if key != field}
                self.assertTrue(reader.complaints(name, changed), f"{name} without {field}")

    def test_a_value_of_the_wrong_type_is_refused_at_every_depth(self):
        for name, document in SAMPLES.items():
            for place, changed in wrong_types(document):
                self.assertTrue(reader.complaints(name, changed), f"{name} with another type at {place}")

    def test_enum_values_and_numbers_outside_the_contract_are_refused(self):
        for name, document, place, value in [
            ("job-status", JOB, "state", "DONE"), ("job-status", JOB, "schema", 2),
            ("verdict", VERDICT, "class", "bad_luck"), ("verdict", VERDICT, "state", "RUNNING"),
            ("outcome", OUTCOME, "class", "SUCCESS"), ("outcome", OUTCOME, "signal", 9),
            ("task", TASK, "state", "asleep"), ("task", TASK, "attempt_state", "asleep"), ("task", TASK, "pid", -1),
            ("task", TASK, "task", "worker"), ("restart", RESTART, "scope", "all"), ("restart", RESTART, "number", 0),
            ("restart", RESTART, "time", "2026-11-21 19:08"), ("failure", ERROR["error"], "code", 1),
            ("failure", ERROR["error"], "code", 66), ("failure", ERROR["error"], "retryable", False),
            ("failure", ERROR["error"], "message", ""), ("version", SAMPLES["version"], "schemas", [2]),
        ]:  # fmt: skip
            self.assertTrue(reader.complaints(name, {**document, place: value}), f"{name} with {place} {value}")

    def test_a_job_status_must_have_a_verdict_exactly_when_the_job_has_ended(self):
        without = {key: value for key, value in JOB.items() if key not in ("verdict", "ended")}
        self.assertTrue(reader.complaints("job-status", without))
        self.assertEqual(reader.complaints("job-status", {**without, "state": "RUNNING"}), [])
        self.assertTrue(reader.complaints("job-status", {**JOB, "state": "RUNNING"}))

    def test_the_strict_reader_rejects_duplicate_keys_nan_and_trailing_text(self):
        for text in ('{"a":1,"a":2}', '{"a":NaN}', "{} {}", "", "{", "[1]"):
            with self.assertRaises((AssertionError, ValueError), msg=text):
                reader.Answer(["x"], 0, text.encode() + b"\n", b"").document()
        with self.assertRaises(UnicodeDecodeError):
            reader.Answer(["x"], 0, b'{"a":"\xff"}\n', b"").document()
        for out in (b"{}\n{}\n", b"{}", b"\n", b"{}\nhello\n"):
            with self.assertRaises((AssertionError, ValueError), msg=out):
                reader.Answer(["x"], 0, out, b"").document()


class ManualTest(unittest.TestCase):
    """The page docs/reference/json.md agrees with the schemas."""

    manual = (reader.SCHEMAS.parents[3] / "docs/reference/json.md").read_text(encoding="utf-8")

    def test_each_verb_in_the_manuals_table_links_to_an_existing_schema(self):
        rows = re.findall(r"^\| `([a-z-]+)[^|]*\| \[([a-z-]+)\]\([^)]*/v1/([a-z-]+)\.schema\.json\)", self.manual, re.M)
        every = re.findall(r"^\| `[a-z-]+[^|]*\| \[", self.manual, re.M)
        self.assertEqual(len(rows), len(every), "rows of another form")
        for _, text, name in rows:
            self.assertEqual(text, name)
            self.assertIn(name, reader.names())

    def test_the_manuals_table_of_outcome_classes_equals_the_schema(self):
        self.assertEqual([row[0] for row in outcome_rows(self.manual)], reader.load("outcome-class")["enum"])

    def test_the_manuals_table_of_errors_equals_the_schema(self):
        rows = re.findall(r"^\| (6\d|7\d) \| `([a-z_]+)` \|", self.manual, re.M)
        self.assertEqual({int(code): name for code, name in rows}, reader.ERROR_CLASSES)


def outcome_rows(manual):
    return re.findall(r"^\| `([a-z_]+)` \| (yes|no) \| (never|charged|free) \| ([^|]+) \|$", manual, re.M)


if __name__ == "__main__":
    unittest.main()

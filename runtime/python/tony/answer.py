"""Converts the output of one run of the program into an answer, or into the exception for its exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tony.errors import Unavailable, VersionMismatch, error_of
from tony.where import NAME

SCHEMA = 1

Document = dict[str, Any]


def answer(verb: str, program: str | None, code: int | None, out: bytes, err: bytes) -> Document:
    """Returns the answer of a verb, or raises the exception for its exit code."""
    try:
        document = as_document(json.loads(out))
    except ValueError:
        last = err.decode(errors="replace").strip().rpartition("\n")[2]
        raise Unavailable(f"tony {verb}: exit {code} without an answer{': ' if last else ''}{last}") from None
    expect_schema(program, document)
    # If one log cannot be read, the answer still has the other logs, and an error that names the unreadable log.
    if code not in (0, 1) and "entries" not in document:
        failure = document.get("error") or {"code": code, "message": f"tony {verb}: exit {code}"}
        raise error_of(failure, document)
    return document


def as_document(value: Any) -> Document:
    if not isinstance(value, dict) or "schema" not in value:
        raise ValueError("not an answer of tony")
    return cast(Document, value)


def expect_schema(name: str | None, document: Mapping[str, Any]) -> None:
    if document.get("schema") == SCHEMA:
        return
    raise VersionMismatch(
        f"{name or NAME} answers in schema {document.get('schema')}, but this package reads schema {SCHEMA}: "
        "install both in the same version"
    )


def line_of(verb: str, program: str | None, line: bytes) -> Document:
    try:
        document = as_document(json.loads(line))
    except ValueError:
        raise Unavailable(f"tony {verb}: expected a JSON object, not the line {line[:80]!r}") from None
    expect_schema(program, document)
    if set(document) == {"schema", "error"}:
        raise error_of(document["error"], document)
    return document


def expect_end(verb: str, code: int | None) -> None:
    if code not in (0, 1):
        raise Unavailable(f"tony {verb}: ended with exit code {code} before its last answer")

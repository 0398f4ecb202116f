"""Converts the JSON of an answer into the types of documents.py."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from tony.errors import VersionMismatch

Value = TypeVar("Value")


def read(kind: type[Value], document: Mapping[str, Any]) -> Value:
    """Returns the document as a value of type `kind`."""
    values: dict[str, Any] = {}
    for name, member, hint in _fields(typing.cast(Any, kind)):
        if member is None:
            values[name] = document
        elif document.get(member) is not None:
            values[name] = _as(hint, document[member])
    try:
        return kind(**values)
    except TypeError as error:
        raise VersionMismatch(f"an answer lacks a member that this package requires: {error}") from None


@functools.cache
def _fields(kind: type[Any]) -> list[tuple[str, str | None, Any]]:
    """Returns each field's name, member (None: the whole document) and type. Cached for jobs with 10,000 tasks."""
    hints = typing.get_type_hints(kind)
    return [(field.name, None if field.metadata.get("whole") else field.metadata.get("member", field.name),
             _needed(hints[field.name])) for field in dataclasses.fields(kind)]  # fmt: skip


def _needed(hint: Any) -> Any:
    """Returns the type without its `None`."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(choice for choice in typing.get_args(hint) if choice is not type(None))
    return hint


def _as(hint: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(hint):
        return read(typing.cast(Any, hint), value)
    if hint is datetime.datetime:
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    if typing.get_origin(hint) is tuple:
        return tuple(_as(typing.get_args(hint)[0], item) for item in value)
    return value

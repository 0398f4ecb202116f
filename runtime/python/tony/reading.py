"""From the JSON of an answer to the types of documents.py."""

from __future__ import annotations

import dataclasses
import datetime
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from tony.errors import VersionMismatch

Value = TypeVar("Value")


def read(kind: type[Value], document: Mapping[str, Any]) -> Value:
    """The document as such a value."""
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(typing.cast(Any, kind)):
        name = field.metadata.get("member", field.name)
        if field.metadata.get("whole"):
            values[field.name] = document
        elif document.get(name) is not None:
            values[field.name] = _as(hints[field.name], document[name])
    try:
        return kind(**values)
    except TypeError as error:
        raise VersionMismatch(f"an answer that does not fit this package: {error}") from None


def _as(hint: Any, value: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(choice for choice in typing.get_args(hint) if choice is not type(None))
    if dataclasses.is_dataclass(hint):
        return read(typing.cast(Any, hint), value)
    if hint is datetime.datetime:
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    if typing.get_origin(hint) is tuple:
        return tuple(_as(typing.get_args(hint)[0], item) for item in value)
    return value

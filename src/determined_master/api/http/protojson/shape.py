"""The facts of a message for the JSON code, read once from its annotations."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from determined_wire.proto import FieldMask, Message, WireEnum

Container = Literal["", "list", "map"]
FREE_FORM = frozenset({"google.Struct", "google.ListValue", "google.Value"})
"""Kinds that hold any JSON."""
PLAIN = {str: "string", bool: "bool", bytes: "bytes"}


class FieldShape(msgspec.Struct, frozen=True):
    """One field; `kind` is a scalar's word, `message`, `enum` or a `google.*` type."""

    name: str
    json_name: str
    kind: str
    container: Container
    target: Any
    """Class of the message or enum, else None."""
    is_absent: bool
    """Left out of the JSON when None."""


class Shape(msgspec.Struct, frozen=True):
    """The fields of one message, in order and by both of their names."""

    cls: type[Message]
    fields: tuple[FieldShape, ...]
    by_name: dict[str, FieldShape]


@cache
def shape_of(cls: type[Message]) -> Shape:
    """The shape of a message class."""
    hints = get_type_hints(cls, include_extras=True)
    fields = tuple(
        _field(info.name, info.encode_name, hints[info.name], cls.__absent__)
        for info in msgspec.structs.fields(cls)
    )
    by_name = {f.json_name: f for f in fields} | {f.name: f for f in fields}
    return Shape(cls, fields, by_name)


def _field(name: str, json_name: str, hint: Any, absent: frozenset[str]) -> FieldShape:
    container, inner = _container(_without_none(hint))
    kind, target = _kind(inner)
    return FieldShape(name, json_name, kind, container, target, name in absent)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        return next(arg for arg in get_args(hint) if arg is not type(None))
    return hint


def _container(hint: Any) -> tuple[Container, Any]:
    origin = get_origin(hint)
    if origin is Sequence:
        return "list", get_args(hint)[0]
    if origin is Mapping:
        return "map", get_args(hint)[1]
    return "", hint


def _kind(hint: Any) -> tuple[str, Any]:
    if get_origin(hint) is Annotated:
        extra: dict[str, str] = hint.__metadata__[0].extra
        return extra["kind"], None
    if hint in PLAIN:
        return PLAIN[hint], None
    if hint is FieldMask:
        return "google.FieldMask", FieldMask
    return ("enum" if issubclass(hint, WireEnum) else "message"), hint

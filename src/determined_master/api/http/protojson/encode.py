"""Messages to JSON.

A message of plain fields is written by msgspec as it stands. Where a message holds, at any
depth, something that proto-JSON writes in its own way (64-bit integers as text, NaN as text,
times with the shortest fraction, keys of maps and objects in order, absent fields), it is
first turned into a dict by a plan that is made once for its class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from determined_master.api.http.protojson.shape import FieldShape, shape_of
from determined_wire.proto import Message

M = TypeVar("M", bound=Message)
Convert = Callable[[Any], Any]
Plan = tuple[tuple[str, str, Convert | None, bool], ...]
"""Attribute, JSON name, conversion where one is needed, left out when None."""

SAFE_INTEGER = 2**53

_encoder = msgspec.json.Encoder()


def encode(message: Message) -> bytes:
    """The JSON text of a message."""
    return _encoder.encode(to_json(message))


def to_json(message: Message) -> Any:
    """The message in the form that msgspec writes: itself, or a dict where it needs conversion."""
    convert = _converter(type(message))
    return message if convert is None else convert(message)


def raw_json(text: str | bytes) -> Mapping[str, Any]:
    """JSON text as the value of a JsonObject field; it is written without being parsed.

    The text must be an object, without NaN; the order of its keys is kept.
    """
    return cast(Mapping[str, Any], msgspec.Raw(text.encode() if isinstance(text, str) else text))


def ready(cls: type[M], text: bytes) -> M:
    """JSON text that is written unchanged in place of a message of that class.

    Only for a field, or a member of a list, of another message.
    """
    return cast(M, msgspec.Raw(text))


def ready_text(text: bytes) -> str:
    """A JSON string, in its quotes, that is written unchanged in place of a text."""
    return cast(str, msgspec.Raw(text))


def json_number(value: float) -> Any:
    """A double as JSON can say it."""
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    # whole numbers go without a fraction, as the clients of the public API expect
    return int(value) if value.is_integer() and abs(value) < SAFE_INTEGER else value


def json_object(value: Any) -> Any:
    """A value of any JSON type; keys of objects in order."""
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is float:
        return json_number(value)
    if kind is dict:
        return {k: v if type(v) in _LEAVES else json_object(v) for k, v in sorted(value.items())}
    if isinstance(value, Mapping):
        return {str(k): json_object(v) for k, v in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [v if type(v) in _LEAVES else json_object(v) for v in value]
    return value


def ready_list(cls: type[M], text: bytes) -> Sequence[M]:
    """JSON text that is written unchanged in place of a list of messages of that class."""
    return cast(Sequence[M], msgspec.Raw(text))


@cache
def _converter(cls: type[Message]) -> Convert | None:
    if not _is_special(cls, set()):
        return None
    plan: Plan = ()

    def convert(message: Message) -> dict[str, Any]:
        nonlocal plan
        plan = plan or _plan(cls)  # made late: a message may hold others of its own class
        out: dict[str, Any] = {}
        for name, json_name, conversion, is_absent in plan:
            value = getattr(message, name)
            if value is None:
                if not is_absent:
                    out[json_name] = None
            elif conversion is None:
                out[json_name] = value
            else:
                out[json_name] = conversion(value)
        return out

    return convert


def _plan(cls: type[Message]) -> Plan:
    return tuple((f.name, f.json_name, _field(f), f.is_absent) for f in shape_of(cls).fields)


def _is_special(cls: type[Message], seen: set[type[Message]]) -> bool:
    seen.add(cls)
    for field in shape_of(cls).fields:
        if field.is_absent or field.container == "map" or field.kind in _SCALARS:
            return True
        is_new = field.kind == "message" and field.target not in seen
        if is_new and _is_special(field.target, seen):
            return True
    return False


def _field(field: FieldShape) -> Convert | None:
    one = _converter(field.target) if field.kind == "message" else _SCALARS.get(field.kind)
    if field.container == "list":
        if one is None:
            return None
        return lambda values: (
            values
            if type(values) is msgspec.Raw
            else [v if type(v) is msgspec.Raw else one(v) for v in values]
        )
    if field.container == "map":
        each = one or (lambda value: value)
        return lambda values: {k: each(v) for k, v in sorted(values.items())}
    if one is None or field.kind != "message":
        return one
    message = one
    return lambda value: value if type(value) is msgspec.Raw else message(value)


def _timestamp(value: datetime) -> Any:
    if value.tzinfo is not UTC:
        value = value.astimezone(UTC)
    if value.microsecond % 1000 or not value.microsecond:
        return value
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _mask(value: Any) -> Any:
    return {"paths": list(value.paths)}


_LEAVES = frozenset({str, int, bool, type(None)})
"""Values that need no conversion: most of what objects hold, so they are looked for first."""

_SCALARS: dict[str, Convert] = {
    "int64": str,
    "uint64": str,
    "double": json_number,
    "google.Timestamp": _timestamp,
    "google.DoubleValue": json_number,
    "google.Struct": json_object,
    "google.ListValue": json_object,
    "google.Value": json_object,
    "google.FieldMask": _mask,
}

"""Requests with one value in them that no database, clock or counter holds.

For each field of a route's request there are a few such values, by the field's kind; each is
sent in a request that names real things otherwise, so that it gets as far as it can.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from determined_master.api.http.protojson.shape import FieldShape, shape_of
from determined_wire.bounds import MAX_STEPS
from determined_wire.proto import Message

LONG = random.Random(1).randbytes(6000).hex()
"""Longer than what an index of PostgreSQL holds, and nothing that could be compressed."""
DEEP: Any = []
for _ in range(90):
    DEEP = [DEEP]
HUGE = {"n": 10**400}
OBJECT = {"a\0b": {"c": "\ud800", "n": 10**40}, "deep": DEEP, "long": LONG}
INTEGERS = ("9223372036854775807", "-9223372036854775808")
SMALL_INTEGERS = ("2147483647", "-2147483648")
TEXTS = ("a\0b\ud800", LONG)
TIMES = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00")
VALUES: dict[str, tuple[Any, ...]] = {
    "string": TEXTS,
    "google.StringValue": TEXTS,
    "bytes": ("//79",),
    "bool": (),
    "google.BoolValue": (),
    "enum": (),
    "google.FieldMask": ("x\0",),
    "double": ("1e308", "NaN", 10**400),
    "google.DoubleValue": ("1e308", "NaN", 10**400),
    "int32": SMALL_INTEGERS,
    "google.Int32Value": SMALL_INTEGERS,
    "uint32": ("4294967295",),
    "steps": (str(MAX_STEPS), str(-MAX_STEPS)),
    "int64": INTEGERS,
    "uint64": ("18446744073709551615",),
    "google.Timestamp": TIMES,
    "google.Struct": (OBJECT, HUGE),
    "google.ListValue": ([OBJECT], [HUGE]),
    "google.Value": (OBJECT, HUGE, LONG),
}
PATHS = ("9223372036854775808", "9223372036854775807", "a%00%FF%ED%A0%80", LONG)
"""Values of parameters of a path."""
WAITING = {"follow", "period_seconds"}
"""Fields of requests that wait for more on purpose."""


Values = Callable[[type[Message], FieldShape], Iterator[Any]]
"""The values that a field of a message gets, one at a time."""


def bad_values(cls: type[Message], field: FieldShape) -> Iterator[Any]:
    """Those that nothing holds."""
    for value in VALUES.get(field.kind, ()):
        if field.container == "list":
            yield [value, value]
        elif field.container == "map":
            yield {"a\0b": value, LONG: value}
        else:
            yield value


def bodies(
    cls: type[Message], base: dict[str, Any], values: Values = bad_values
) -> Iterator[dict[str, Any]]:
    """The base with each of the values of each field of a message, one at a time."""
    for path, value in _leaves(cls, frozenset(), values):
        yield _laid(base, path, value)


def queries(cls: type[Message], base: str, values: Values = bad_values) -> Iterator[str]:
    """The same for a request that is read from the address."""
    for path, value in _leaves(cls, frozenset(), values):
        sent = [_parameter(path, one) for one in (value if isinstance(value, list) else [value])]
        yield "&".join(filter(None, (base, *sent)))[:60000]


def _parameter(path: tuple[str, ...], value: Any) -> str:
    """One parameter of an address; empty for what has no form there."""
    if not isinstance(value, str | bool | int):
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{'.'.join(path)}={quote(text.encode('utf-8', 'surrogatepass'), safe='')}"


def _leaves(
    cls: type[Message], above: frozenset[type[Message]], values: Values
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for field in shape_of(cls).fields:
        if field.name in WAITING:
            continue
        for value in values(cls, field):
            yield (field.json_name,), value
        if field.kind == "message" and field.target not in above and len(above) <= 3:
            for path, value in _leaves(field.target, above | {cls}, values):
                yield _contained(field, path, value)


def _contained(field: FieldShape, path: tuple[str, ...], value: Any) -> tuple[Any, Any]:
    if not field.container:
        return (field.json_name, *path), value
    inner: Any = value
    for name in reversed(path):
        inner = {name: inner}
    return (field.json_name,), [inner] if field.container == "list" else {"k\0": inner}


def _laid(base: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The base with a value at a path; of an object in a list its other fields stay."""
    whole = copy.deepcopy(base)
    inner = whole
    for name in path[:-1]:
        if not isinstance(inner.get(name), dict):
            inner[name] = {}
        inner = inner[name]
    known = inner.get(path[-1])
    if isinstance(known, list) and known and isinstance(known[0], dict):
        value = [{**known[0], **one} if isinstance(one, dict) else one for one in value]
    inner[path[-1]] = value
    return whole


def encoded(body: Any) -> bytes:
    """JSON of a body; halves of surrogate pairs stay, as escapes."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body).encode()


_NESTED = 100_000
RAW = (
    b"[" * _NESTED + b"]" * _NESTED,
    b'{"a":' * _NESTED + b"1" + b"}" * _NESTED,
    b'{"a": "\xff\xfe"}',
    b'{"a": ' + b"9" * 5000 + b"}",
    b"\0",
    b'"\\ud800"',
    b"[1]",
)
"""Bodies that are no JSON, or JSON that nobody should have to read."""

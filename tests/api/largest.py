"""Requests with as much in one of their fields as its bound allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from determined_master.api.http.protojson.shape import FREE_FORM, FieldShape
from determined_wire.bounds import bound_of, text_bound_of
from determined_wire.proto import Message

FREE_TEXT = 1024 * 1024
"""Characters of a text that another rule bounds."""
INTEGERS = frozenset({"int32", "int64", "uint32", "uint64", "google.Int32Value", "steps"})
TEXTS = frozenset({"string", "google.StringValue"})
_UUID = "c4f0ad88-6e57-4538-a111-{:012d}"


def large_values(cls: type[Message], field: FieldShape) -> Iterator[Any]:
    """The largest values of a field, one at a time."""
    is_free = field.kind in FREE_FORM
    count = bound_of(cls.__name__, field.name, is_free=is_free).items
    if field.container:
        items = _items(field, count)
        is_map = field.container == "map"
        yield {str(n): item for n, item in enumerate(items)} if is_map else items
    elif is_free:
        yield from _free(field.kind, count - 1)
    elif field.kind in TEXTS:
        bound = text_bound_of(cls.__name__, field.name)
        size = bound.items if bound else FREE_TEXT
        yield "a\n" * (size // 2)


def _items(field: FieldShape, count: int) -> list[Any]:
    """Different ones, as far as their kind has them."""
    if field.kind == "message":
        return [{}] * count
    if field.kind in INTEGERS:
        return list(range(1, count + 1))
    if field.kind in TEXTS:
        form = _UUID if "uuid" in field.name else "v{}"
        return [form.format(n) for n in range(count)]
    return []


def _free(kind: str, count: int) -> Iterator[Any]:
    if kind != "google.ListValue":
        yield {f"k{n}": n for n in range(count)}
        yield {"k": [{"k": n} for n in range(count // 2)]}
    if kind != "google.Struct":
        yield [{}] * count

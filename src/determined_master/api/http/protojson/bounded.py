"""Refuses requests whose lists, maps or free values have more items than their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from determined_master.api.http.protojson.shape import FREE_FORM, FieldShape, shape_of
from determined_master.domain.errors import InvalidArgument
from determined_wire.bounds import TEXT, Bound, bound_of, text_bound_of
from determined_wire.proto import Message

Check = Callable[[Any, str, int], None]
Checks = tuple[tuple[str, Check, int], ...]
"""Attribute, check, and the fewest bytes of a body that can exceed the bounds within."""

TEXTS = frozenset({"string", "google.StringValue"})


def check_bounds(message: Message, size: int) -> None:
    """Refuse a request that is over a bound.

    Args:
        message: as it was read.
        size: bytes of its body; a short one is not looked at.

    Raises:
        InvalidArgument: with the name of the field, its size, the bound and the remedy.
    """
    for name, check, fewest_bytes in _checks(type(message)):
        if size >= fewest_bytes:
            value = getattr(message, name)
            if value:
                check(value, "", size)


def fields_of(cls: type[Message], seen: set[type[Message]]) -> Iterable[tuple[str, str, Bound]]:
    """Message, field and bound of everything in a message that has one."""
    if cls in seen:
        return
    seen.add(cls)
    for field in shape_of(cls).fields:
        bound = _bound(cls, field)
        if bound is not None:
            yield cls.__name__, field.name, bound
        if field.kind == "message":
            yield from fields_of(field.target, seen)


def refuse(field: str, count: int, bound: Bound, what: str = "values") -> InvalidArgument:
    """The error of a field with too many items."""
    return InvalidArgument(
        f"the field {field} has {count} {what}, at most {bound.items} are allowed in one request: "
        f"{bound.remedy}"
    )


@cache
def _checks(cls: type[Message]) -> Checks:
    return tuple(
        (field.name, _check(cls, field), fewest)
        for field in shape_of(cls).fields
        if (fewest := _fewest_bytes(cls, field, ())) is not None
    )


def _bound(cls: type[Message], field: FieldShape) -> Bound | None:
    is_free = field.kind in FREE_FORM
    if _is_text(field):
        return text_bound_of(cls.__name__, field.name)
    if not is_free and not field.container:
        return None
    return bound_of(cls.__name__, field.name, is_free=is_free)


def _is_text(field: FieldShape) -> bool:
    return field.kind in TEXTS and not field.container


def _has_texts(field: FieldShape) -> bool:
    """Whether a value is a list or map of texts; a list without a shape may be one of labels."""
    return bool(field.container) if field.kind in TEXTS else field.kind == "google.ListValue"


def _fewest_bytes(
    cls: type[Message], field: FieldShape, above: tuple[type[Message], ...]
) -> int | None:
    """Of a body that can be over a bound in a field; None where there is none."""
    own = _bound(cls, field)
    found = []
    if own is not None:  # a value has one byte at least, and a comma before the next
        found.append(own.items if _is_text(field) else 2 * own.items - 1)
    if own is not None and field.kind in FREE_FORM:
        found.append(own.characters)
    if _has_texts(field):
        found.append(TEXT.items)
    if field.kind == "message" and field.target not in above:
        for inner in shape_of(field.target).fields:
            fewest = _fewest_bytes(field.target, inner, (*above, cls))
            if fewest is not None:
                found.append(fewest)
    return min(found, default=None)


def _check(cls: type[Message], field: FieldShape) -> Check:
    bound = _bound(cls, field)
    is_free = field.kind in FREE_FORM
    what = "characters" if _is_text(field) else "values"
    has_texts = _has_texts(field)
    is_deep = field.kind == "message" and any(
        _fewest_bytes(field.target, inner, (cls,)) is not None
        for inner in shape_of(field.target).fields
    )

    def check(value: Any, above: str, size: int) -> None:
        name = f"{above}{field.json_name}"
        if bound is not None:
            count, characters = _measure(value, bound) if is_free else (len(value), 0)
            if count > bound.items:
                raise refuse(name, count, bound, what)
            if characters > bound.characters:
                texts = Bound(bound.characters, bound.remedy)
                raise refuse(name, characters, texts, "characters")
        if has_texts:
            for text in (*value, *value.values()) if isinstance(value, Mapping) else value:
                if isinstance(text, str) and len(text) > TEXT.items:
                    raise refuse(f"{name}[]", len(text), TEXT, "characters")
        if is_deep:
            due = [(inner, each) for inner, each, least in _checks(field.target) if size >= least]
            for item in _items(field, value) if due else ():
                for inner, each in due:
                    held = getattr(item, inner)
                    if held:
                        each(held, f"{name}.", size)

    return check


def _items(field: FieldShape, value: Any) -> Iterable[Message]:
    if field.container == "list":
        return value  # type: ignore[no-any-return]
    return value.values() if field.container == "map" else (value,)


def _measure(value: Any, bound: Bound) -> tuple[int, int]:
    """Values in lists and objects, and characters of keys and texts: no further than the bound."""
    count = characters = 0
    waiting = [value]
    while waiting and count <= bound.items and characters <= bound.characters:
        one = waiting.pop()
        if isinstance(one, Mapping):
            characters += sum(map(len, one))
            items = one.values()
        else:
            items = one
        count += len(items)
        characters += sum(len(item) for item in items if isinstance(item, str))
        waiting += [item for item in items if isinstance(item, dict | list)]
    return count, characters

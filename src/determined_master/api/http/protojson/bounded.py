"""Refuses requests whose lists, maps or free values have more items than their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import inf
from typing import Any, NamedTuple

from determined_master.api.http.protojson.shape import FREE_FORM, FieldShape, shape_of
from determined_master.domain.errors import InvalidArgument
from determined_wire.bounds import TEXT, Bound, bound_of, text_bound_of
from determined_wire.proto import Message

TEXTS = frozenset({"string", "google.StringValue"})
BACKSLASH = ord("\\")
MAX_ESCAPED = 8
"""Quotes within texts that are passed over; with more of them all texts are measured."""


class Sizes(NamedTuple):
    """Bytes of a body, and of its longest text."""

    body: float
    text: float

    def reach(self, least: Sizes) -> bool:
        """Whether a body of these sizes can be over a bound that needs at least those."""
        return self.body >= least.body or self.text >= least.text


Check = Callable[[Any, str, Sizes], None]
Checks = tuple[tuple[str, Check, Sizes], ...]
"""Attribute, check, and the least sizes of a body that can exceed the bounds within."""
_NONE = Sizes(inf, inf)


def check_bounds(message: Message, body: bytes) -> None:
    """Refuse a request that is over a bound.

    Args:
        message: as it was read.
        body: its bytes. A field that a body of this size cannot overfill is not checked.

    Raises:
        InvalidArgument: with the name of the field, its size, the bound and the remedy.
    """
    sizes = Sizes(len(body), _longest_text(body))
    for name, check, least in _checks(type(message)):
        if sizes.reach(least):
            value = getattr(message, name)
            if value:
                check(value, "", sizes)


def _longest_text(body: bytes) -> int:
    """No text of a body is longer than this; 0 if none is over the bound that most have.

    A thousand log lines have eight thousand texts. Between two quotes there is one at most, so it
    is enough to go through the body in steps of that bound.
    """
    start = 0
    while len(body) - start > TEXT.items:
        quote = _last_quote(body, start, start + TEXT.items + 1)
        if quote < 0:
            return len(body)
        start = quote + 1
    return 0


def _last_quote(body: bytes, start: int, end: int) -> int:
    """The last quote that surely ends or begins a text; negative if there seems to be none."""
    for _ in range(MAX_ESCAPED):
        quote = body.rfind(b'"', start, end)
        if quote < 1 or body[quote - 1] != BACKSLASH:
            return quote
        end = quote
    return -1


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
        (field.name, _check(cls, field), least)
        for field in shape_of(cls).fields
        if (least := _least_sizes(cls, field, ())) != _NONE
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


def _least_sizes(cls: type[Message], field: FieldShape, above: tuple[type[Message], ...]) -> Sizes:
    """Of a body that can be over a bound in a field."""
    own = _bound(cls, field)
    body: float = inf
    text: float = TEXT.items + 1 if _has_texts(field) else inf
    if own is not None and _is_text(field):
        text = own.items + 1
    elif own is not None:  # a value has one byte at least, and a comma before the next
        body = 2 * own.items - 1
    if own is not None and field.kind in FREE_FORM:
        body = min(body, own.characters)
    inner = [Sizes(body, text)]
    if field.kind == "message" and field.target not in above:
        fields = shape_of(field.target).fields
        inner += [_least_sizes(field.target, one, (*above, cls)) for one in fields]
    return Sizes(*map(min, zip(*inner, strict=True)))


def _check(cls: type[Message], field: FieldShape) -> Check:
    bound = _bound(cls, field)
    is_free = field.kind in FREE_FORM
    what = "characters" if _is_text(field) else "values"
    has_texts = _has_texts(field)
    is_deep = field.kind == "message" and any(
        _least_sizes(field.target, inner, (cls,)) != _NONE
        for inner in shape_of(field.target).fields
    )

    def check(value: Any, above: str, sizes: Sizes) -> None:
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
            checks = _checks(field.target)
            due = [(inner, each) for inner, each, least in checks if sizes.reach(least)]
            for item in _items(field, value) if due else ():
                for inner, each in due:
                    held = getattr(item, inner)
                    if held:
                        each(held, f"{name}.", sizes)

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

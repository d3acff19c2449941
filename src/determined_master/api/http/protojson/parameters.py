"""Values of a path and of a query, put into the request's message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from determined_master.api.http.protojson.misread import Misread
from determined_master.api.http.protojson.scalars import read_text
from determined_master.api.http.protojson.shape import FREE_FORM, FieldShape, shape_of
from determined_master.domain.errors import InvalidArgument
from determined_wire.proto import Message

WITHOUT_TEXT = FREE_FORM | {"google.FieldMask"}
"""Kinds that have no form in a query."""


class PathParameter:
    """One `{name}` of a path, which may be dotted: `{experiment.id}`."""

    def __init__(self, cls: type[Message], name: str) -> None:
        *parents, last = name.split(".")
        self.name = name
        self._parents: list[FieldShape] = []
        for parent in parents:
            field = shape_of(cls).by_name[parent]
            self._parents.append(field)
            cls = field.target
        self._field = shape_of(cls).by_name[last]

    def put(self, message: Message, text: str) -> None:
        """Set the value in a message that was just decoded and is not shared yet.

        Raises:
            InvalidArgument: the text is not of the field's type.
        """
        try:
            value = read_text(self._field, text)
        except InvalidArgument as error:
            raise InvalidArgument(
                f"type mismatch, parameter: {self.name}, error: {error.text}"
            ) from error
        for parent in self._parents:
            inner = getattr(message, parent.name)
            if inner is None:
                inner = parent.target()
                msgspec.structs.force_setattr(message, parent.name, inner)
            message = inner
        msgspec.structs.force_setattr(message, self._field.name, value)


def read_query(cls: type[Message], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Fields of a request from query parameters; unknown names are ignored.

    Lists are given by repeating the name; of a single value given twice the first counts.

    Raises:
        InvalidArgument: a value is not of its field's type.
    """
    values: dict[str, Any] = {}
    inner: dict[str, tuple[FieldShape, list[tuple[str, str]]]] = {}
    for key, text in pairs:
        head, _, rest = key.partition(".")
        field = shape_of(cls).by_name.get(head)
        if field is None or field.container == "map" or field.kind in WITHOUT_TEXT:
            continue
        if field.kind == "message":
            if rest and not field.container:
                inner.setdefault(field.name, (field, []))[1].append((rest, text))
        elif not rest or rest == "value":
            try:
                _put(values, field, text)
            except InvalidArgument as error:
                raise Misread.at(error, "parameter", head) from error
    for name, (field, nested) in inner.items():
        try:
            values[name] = field.target(**read_query(field.target, nested))
        except Misread as error:
            raise Misread.at(error, "parameter", name) from error
    return values


def _put(values: dict[str, Any], field: FieldShape, text: str) -> None:
    if field.container == "list":
        values.setdefault(field.name, []).append(read_text(field, text))
    elif field.name not in values:
        values[field.name] = read_text(field, text)

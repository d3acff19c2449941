"""JSON to messages.

msgspec decodes the canonical form (camelCase, known fields, exact types) in one step, once escapes
of characters that cannot be stored are replaced. Anything else, valid or not, is parsed again and
walked by the message's shape, which accepts snake_case, numbers of enums, integers as text, null
for unset fields, and unknown fields. Its errors have the texts that clients know. Only names of
fields have two forms: keys of maps and free objects are data and stay unchanged.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from determined_master.api.http.protojson.bounded import check_bounds
from determined_master.api.http.protojson.misread import Misread
from determined_master.api.http.protojson.scalars import read_scalar, word
from determined_master.api.http.protojson.shape import FREE_FORM, FieldShape, shape_of
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.json_depth import MAX_DEPTH, is_too_deep
from determined_master.domain.storable import storable
from determined_wire.proto import FieldMask, Message
from determined_wire.rest.tasks import PostTaskLogsRequest
from determined_wire.rest.types.common import Metrics

M = TypeVar("M", bound=Message)

NUL = b"\\u0000"
WITH_NUL: frozenset[type[Message]] = frozenset({PostTaskLogsRequest})
"""Messages whose receiver can store a NUL; lines of logs keep it."""
_HIGH = rb"u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"u[dD][c-fC-F][0-9a-fA-F]{2}"
_LOST = rb"u0000|%b(?!\\%b)|%b" % (_HIGH, _LOW, _LOW)
_ESCAPES = re.compile(rb"\\(?:(%b)|%b\\%b|.)" % (_LOST, _HIGH, _LOW), re.DOTALL)
"""Every escape of a JSON text, so that one after a backslash that is escaped is none; the first
group is one that cannot be stored."""


def decode(cls: type[M], body: bytes) -> M:
    """Read the body of a request.

    Raises:
        InvalidArgument: malformed JSON, a value of the wrong type, or more values than allowed.
    """
    message = decode_at_once(cls, body)
    if message is not None:
        return message
    if b"\\u" in body:
        # One byte of a task's output that is no text must not cost its thousand lines the walk.
        cleaned = _ESCAPES.sub(_storable_escape, body)
        message = None if cleaned == body else _decode_exact(cls, cleaned)
    message = message or read_message(cls, parse(body))
    check_bounds(message, body)
    return message


def decode_at_once(cls: type[M], body: bytes) -> M | None:
    """The message when the body has the canonical form, in a tenth of the walk's time; else None.

    Raises:
        InvalidArgument: it is nested too deeply, or has more values than allowed.
    """
    if not body:
        return cls()
    if _is_free(cls):
        _check_depth(body)
    message = None if NUL in body and cls not in WITH_NUL else _decode_exact(cls, body)
    if message is not None:
        check_bounds(message, body)
    return message


def decode_field(cls: type[M], name: str, body: bytes) -> M:
    """Read a body that is one field of the request, here called by its snake_case name."""
    field = shape_of(cls).by_name[name]
    if field.kind == "message" and not field.container:
        value: Any = decode(field.target, body)
    else:
        _check_depth(body)
        value = parse(body)
        value = None if value is None else _read_field(field, value)
    message = cls() if value is None else cls(**{field.name: value})
    check_bounds(message, body)
    return message


def parse(body: bytes) -> Any:
    """The first JSON value of a body; None when there is none.

    msgspec reads all that it can, in a third of the time; it accepts only JSON.

    Raises:
        InvalidArgument: the text is not JSON.
    """
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = msgspec.json.decode(body)
        return _storable(value) if NUL in body else value
    try:
        text = body.decode().lstrip(" \t\r\n")
        value = _json.raw_decode(text)[0] if text else None
        return _storable(value) if b"\\u" in body else value
    except json.JSONDecodeError as error:
        raise InvalidArgument(_syntax(text, error.pos)) from error
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"the body is not UTF-8: byte {error.start}") from error
    except RecursionError as error:
        raise InvalidArgument("the body is nested too deeply") from error
    except ValueError as error:  # NaN, or a number that no double holds
        raise InvalidArgument(f"invalid number in the body: {error}") from error


def read_message(cls: type[M], value: Any) -> M:
    """Read a parsed object as a message; None is the empty message."""
    if value is None:
        return cls()
    if not isinstance(value, dict):
        raise InvalidArgument(_mismatch(value, cls.__name__))
    by_name = shape_of(cls).by_name
    fields: dict[str, Any] = {}
    for key, item in value.items():
        field = by_name.get(key)
        if field is not None and item is not None:
            try:
                fields[field.name] = _read_field(field, item)
            except InvalidArgument as error:
                raise Misread.at(error, "field", key) from error
    return cls(**fields)


def _check_depth(body: bytes) -> None:
    if is_too_deep(body):
        raise InvalidArgument(
            f"the body is nested too deeply: more than {MAX_DEPTH} lists and objects are within "
            "each other, flatten it"
        )


@cache
def _is_free(cls: type[Message]) -> bool:
    """Whether a message holds, at any depth, a value without a shape of its own."""
    return _holds_free(cls, set())


def _holds_free(cls: type[Message], seen: set[type[Message]]) -> bool:
    seen.add(cls)
    if cls is Metrics:  # the error for too deep values names the metric
        return False
    for field in shape_of(cls).fields:
        if field.kind in FREE_FORM:
            return True
        is_new = field.kind == "message" and field.target not in seen
        if is_new and _holds_free(field.target, seen):
            return True
    return False


def _decode_exact(cls: type[M], body: bytes) -> M | None:
    try:
        return cast(M, _decoder(cls).decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # the walk understands it, or reports the fault


def _storable_escape(found: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if found[1] else found[0]


def _read_field(field: FieldShape, value: Any) -> Any:
    if field.container == "list":
        if not isinstance(value, list):
            raise InvalidArgument(_mismatch(value, f"[]{word(field)}"))
        return [_read_one(field, item) for item in value]
    if field.container == "map":
        if not isinstance(value, dict):
            raise InvalidArgument(_mismatch(value, f"map[string]{word(field)}"))
        return {key: _read_one(field, item) for key, item in value.items()}
    return _read_one(field, value)


def _read_one(field: FieldShape, value: Any) -> Any:
    if field.kind == "message":
        return read_message(field.target, value)
    if field.kind == "google.FieldMask":
        return _mask(value)
    return read_scalar(field, value)


def _mask(value: Any) -> FieldMask:
    """Proto-JSON's form (names joined by commas) and the plain object are both taken."""
    if isinstance(value, str):
        return FieldMask(paths=[name for name in value.split(",") if name])
    return read_message(FieldMask, value)


def _mismatch(value: Any, wanted: str) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "bool"}
    return (
        f"json: cannot unmarshal {kinds.get(type(value), 'number')} into Go value of type {wanted}"
    )


def _syntax(text: str, position: int) -> str:
    if position >= len(text):
        return "unexpected EOF"
    if text[position] == '"' and '"' not in text[position + 1 :]:
        return "unexpected EOF"
    return f"invalid character {text[position]!r} looking for beginning of value"


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return value


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is out of range")
    return number


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON: write it in quotes")


_json = json.JSONDecoder(parse_float=_finite, parse_constant=_constant)


@cache
def _decoder(cls: type[Message]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cls)

"""Single values of a body, a query or a path, by the kind of their field."""

from __future__ import annotations

import binascii
import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from determined_master.api.http.protojson.shape import FieldShape
from determined_master.domain.errors import InvalidArgument
from determined_wire.bounds import MAX_STEPS

INTEGERS = {
    "int32": (-(2**31), 2**31 - 1),
    "google.Int32Value": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "steps": (-MAX_STEPS, MAX_STEPS),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
_Aware = Annotated[datetime, msgspec.Meta(tz=True)]
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE | re.ASCII,
)
_WORDS = {
    "double": "float64",
    "google.DoubleValue": "float64",
    "google.StringValue": "string",
    "steps": "int32",
}
BASE64_PIECE = 1024 * 1024
"""Characters, a multiple of four."""
_TRUE = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE = {"0", "f", "F", "FALSE", "false", "False"}


def word(field: FieldShape) -> str:
    """The type's name in error texts."""
    if field.target is not None:
        return str(field.target.__name__)
    return _WORDS.get(field.kind, field.kind.replace("google.", "").replace("Value", "").lower())


def read_scalar(field: FieldShape, value: Any) -> Any:
    """Read one value of parsed JSON.

    Raises:
        InvalidArgument: the value is of another type, or out of its range.
    """
    if field.kind == "enum":
        return _enum(field, value)
    return _READERS[field.kind](field, value)


def read_text(field: FieldShape, text: str) -> Any:
    """Read one value given as text in a query or a path; wrappers, enums and times too.

    Raises:
        InvalidArgument: the text is not such a value.
    """
    kind = field.kind
    if kind in ("string", "google.StringValue"):
        return text
    if kind in INTEGERS:
        return parse_integer(field, text)
    if kind == "google.BoolValue":
        if text not in ("true", "false"):
            raise InvalidArgument(f"bad BoolValue: {text}")
        return text == "true"
    if kind == "bool":
        if text not in _TRUE | _FALSE:
            raise InvalidArgument(f'strconv.ParseBool: parsing "{text}": invalid syntax')
        return text in _TRUE
    if kind in ("double", "google.DoubleValue"):
        return parse_double(text)
    if kind == "enum":
        return _enum_text(field, text)
    return read_scalar(field, text)


def parse_integer(field: FieldShape, text: str) -> int:
    """Read decimal digits of one of the integer kinds, with its bounds."""
    kind = field.kind
    function = "ParseUint" if kind.startswith("u") else "ParseInt"
    if not _INTEGER.fullmatch(text):
        raise InvalidArgument(f'strconv.{function}: parsing "{text}": invalid syntax')
    number = int(text)
    low, high = INTEGERS[kind]
    if kind == "steps" and not low <= number <= high:
        raise InvalidArgument(f"{field.json_name} is {text}: steps go from {low} to {high}")
    if not low <= number <= high:
        raise InvalidArgument(f'strconv.{function}: parsing "{text}": value out of range')
    return number


def parse_double(text: str) -> float:
    """Read a number as text, also `NaN`, `Infinity` and `-Infinity`; no other is beyond a double.

    Raises:
        InvalidArgument: the text is no number, or one that no double holds.
    """
    if not _DOUBLE.fullmatch(text):
        raise InvalidArgument(f'strconv.ParseFloat: parsing "{text}": invalid syntax')
    number = float(text)
    if math.isinf(number) and not text.lower().lstrip("+-").startswith("inf"):
        raise InvalidArgument(_out_of_range(text))
    return number


def _out_of_range(text: str) -> str:
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return f'strconv.ParseFloat: parsing "{shown}": value out of range'


def _enum(field: FieldShape, value: Any) -> Any:
    found = None
    if isinstance(value, str):
        found = field.target._value2member_map_.get(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        found = next((m for m in field.target if m.number == value), None)
    if found is None:
        shown = f'"\\"{value}\\""' if isinstance(value, str) else f'"{value}"'
        name = f"determined.{field.target.__proto__}"
        raise InvalidArgument(f"unknown value {shown} for enum {name}")
    return found


def _enum_text(field: FieldShape, text: str) -> Any:
    found = field.target._value2member_map_.get(text)
    if found is None and _INTEGER.fullmatch(text):
        found = next((m for m in field.target if m.number == int(text)), None)
    if found is None:
        package, _, name = field.target.__proto__.partition(".")
        name = name.partition(".")[2].replace(".", "_")
        raise InvalidArgument(f"{text} is not a valid {package}v1.{name}")
    return found


def _string(field: FieldShape, value: Any) -> str:
    if not isinstance(value, str):
        raise _mismatch(field, value)
    return value


def _bool(field: FieldShape, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _mismatch(field, value)
    return value


def _integer(field: FieldShape, value: Any) -> int:
    if isinstance(value, str):
        return parse_integer(field, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _mismatch(field, value)
    return parse_integer(field, str(value))


def _double(field: FieldShape, value: Any) -> float:
    if isinstance(value, str):
        return parse_double(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mismatch(field, value)
    try:
        return float(value)
    except OverflowError:
        raise InvalidArgument(_out_of_range(str(value))) from None


def _bytes(field: FieldShape, value: Any) -> bytes:
    text = _string(field, value)
    try:
        return b"".join(_decoded(text))
    except (binascii.Error, ValueError):
        bad = re.search(r"[^A-Za-z0-9+/]", text)
        at = bad.start() if bad else len(text)
        raise InvalidArgument(f"illegal base64 data at input byte {at}") from None


def _decoded(text: str) -> Iterator[bytes]:
    """Base64 in pieces: nothing else runs while one is decoded, and a file may have 70 MB."""
    for start in range(0, len(text), BASE64_PIECE):
        end = start + BASE64_PIECE
        piece = text[start:end]
        if end < len(text) and piece.endswith("="):
            raise ValueError("there is something after the padding")
        yield binascii.a2b_base64(piece, strict_mode=True)


def _timestamp(field: FieldShape, value: Any) -> datetime:
    try:
        return msgspec.convert(value, _Aware).astimezone(UTC)
    except msgspec.ValidationError:
        raise InvalidArgument(f"bad Timestamp: {value!r} is not RFC 3339 with a zone") from None
    except OverflowError:
        raise InvalidArgument(
            f"bad Timestamp: {value!r} is not within the years 1 to 9999 in UTC"
        ) from None


def _struct(field: FieldShape, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidArgument(f"bad StructValue: expected an object, got {_json_kind(value)}")
    return value


def _list(field: FieldShape, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidArgument(f"bad ListValue: expected a list, got {_json_kind(value)}")
    return value


def _any(field: FieldShape, value: Any) -> Any:
    return value


def _json_kind(value: Any) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}
    return kinds.get(type(value), "number")


def _mismatch(field: FieldShape, value: Any) -> InvalidArgument:
    return InvalidArgument(
        f"json: cannot unmarshal {_json_kind(value)} into Go value of type {word(field)}"
    )


_READERS: dict[str, Callable[[FieldShape, Any], Any]] = {
    "string": _string,
    "google.StringValue": _string,
    "bool": _bool,
    "google.BoolValue": _bool,
    "double": _double,
    "google.DoubleValue": _double,
    "bytes": _bytes,
    "google.Timestamp": _timestamp,
    "google.Struct": _struct,
    "google.ListValue": _list,
    "google.Value": _any,
    **dict.fromkeys(INTEGERS, _integer),
}

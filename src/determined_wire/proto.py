"""Bases of the generated messages and enums, and the scalar types of their fields.

In Python an unset field is None, or the zero value of a scalar, list, map or enum. In JSON it is
null, or left out if `__absent__` names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from msgspec import Meta, Struct

from determined_wire.bounds import MAX_STEPS


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Base of all messages; JSON names are the camelCase of the attributes."""

    __absent__: ClassVar[frozenset[str]] = frozenset()
    """Attributes that are left out of the JSON when None; all others are written as null."""


class WireEnum(StrEnum):
    """Base of all enums: the value is the name on the wire, `number` its protobuf number."""

    number: int

    def __new__(cls, name: str, number: int) -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.number = number
        return member


class Endpoint(Struct, frozen=True):
    """One route of the public API; messages are named as `<module>.<class>`.

    `body` is empty (no body is read), `*` (the body is the request), or the snake_case name of
    the field of the request that the body fills.
    """

    rpc: str
    method: str
    path: str
    request: str
    response: str
    body: str = ""
    is_stream: bool = False


def _kind(name: str) -> Meta:
    return Meta(extra={"kind": name})


Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, extra={"kind": "int32"})]
UInt32 = Annotated[int, Meta(ge=0, le=2**32 - 1, extra={"kind": "uint32"})]
Steps = Annotated[int, Meta(ge=-MAX_STEPS, le=MAX_STEPS, extra={"kind": "steps"})]
"""A number of batches: int32 in the published API, and a JSON number as there."""
Int64 = Annotated[int, _kind("int64")]
UInt64 = Annotated[int, Meta(ge=0, extra={"kind": "uint64"})]
Double = Annotated[float, _kind("double")]
Timestamp = Annotated[datetime, Meta(tz=True, extra={"kind": "google.Timestamp"})]
StringValue = Annotated[str, _kind("google.StringValue")]
BoolValue = Annotated[bool, _kind("google.BoolValue")]
Int32Value = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, extra={"kind": "google.Int32Value"})]
DoubleValue = Annotated[float, _kind("google.DoubleValue")]
JsonObject = Annotated[Mapping[str, Any], _kind("google.Struct")]
"""Any JSON object; a handler may also use `msgspec.Raw`, which is written unchanged."""
JsonList = Annotated[Sequence[Any], _kind("google.ListValue")]
JsonValue = Annotated[Any, _kind("google.Value")]


class FieldMask(Message, frozen=True):
    """Names of the fields that a PATCH changes."""

    paths: Sequence[str] = ()

"""The runtime of the generated messages, and their JSON form.

Tasks run it on Python 3.9 with the standard library only, and every command imports it. For a fast
import a message is a plain class with class-level defaults, not a dataclass.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Dict,
    Mapping,
    Tuple,
    Type,
    TypeVar,
)

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """Has no effect at run time; type checkers treat the fields as keyword arguments."""
        return lambda cls: cls


M = TypeVar("M", bound="Message")
EMPTY: Mapping[str, Any] = MappingProxyType({})
Field = Tuple[str, str, str, str, Any]
"""Attribute, JSON name, kind, container (`list`, `map` or empty), and class (None: its own)."""


class WireEnum(str, Enum):
    """Base of the enumerations; values are the names on the wire."""

    def __str__(self) -> str:
        return str(self.value)


@dataclass_transform(kw_only_default=True)
class Message:
    """Base of the messages. A field that is not set has the class's default."""

    FIELDS: ClassVar[Tuple[Field, ...]] = ()

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - {field[0] for field in self.FIELDS}
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        self.__dict__.update(values)

    @classmethod
    def from_json(cls: Type[M], obj: Mapping[str, Any]) -> M:
        """Build from parsed JSON; ignore unknown names; null and missing fields stay unset."""
        message = cls.__new__(cls)
        values = message.__dict__
        for name, json_name, kind, container, target in cls.FIELDS:
            value = obj.get(json_name)
            if value is None:
                continue
            read = _reader(kind, target or cls)
            if container == "list":
                value = [read(item) for item in value]
            elif container == "map":
                value = {key: read(item) for key, item in value.items()}
            else:
                value = read(value)
            values[name] = value
        return message

    def to_json(self) -> Dict[str, Any]:
        """The fields that are set and not None, as JSON values."""
        return {
            field[1]: _to_json(self.__dict__[field[0]])
            for field in self.FIELDS
            if self.__dict__.get(field[0]) is not None
        }

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({given})"


def _reader(kind: str, target: Any) -> Any:
    if kind == "message":
        return target.from_json
    if kind == "enum":
        return lambda value: target._value2member_map_.get(value, value)
    return _READERS.get(kind, _same)


def _same(value: Any) -> Any:
    return value


_READERS = {"int64": int, "uint64": int, "double": float, "float": float}


def _to_json(value: Any) -> Any:
    if isinstance(value, Message):
        return value.to_json()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items()}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value

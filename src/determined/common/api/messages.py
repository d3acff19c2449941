"""The runtime of the generated bindings: messages, their JSON form, and calls.

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
    Iterator,
    List,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    Type,
    TypeVar,
)
from urllib.parse import quote

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


class ResponseProtocol(Protocol):
    """The response interface that calls need; error statuses are raised before."""

    def json(self) -> Any:
        """The parsed body."""

    def iter_lines(self) -> Iterator[Any]:
        """The lines of a streamed body, as text or bytes, without line ends."""


class SessionProtocol(Protocol):
    """The session interface that calls need. It adds address and token, and raises errors."""

    def _do_request(
        self,
        method: str,
        path: str,
        *,
        params: Optional[Sequence[Tuple[str, str]]] = None,
        json: Any = None,
        timeout: Optional[float] = None,
        stream: bool = False,
    ) -> ResponseProtocol:
        """Send one request; `path` starts with a slash and is percent-encoded."""


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


def call(
    session: SessionProtocol,
    route: Tuple[str, str],
    response: Type[M],
    *,
    query: Optional[Mapping[str, Any]] = None,
    body: Any = None,
    timeout: Optional[float] = None,
) -> M:
    """Send one request (`route` is method and path) and return its response."""
    answer = session._do_request(
        route[0], route[1], params=flatten(query), json=_to_json(body), timeout=timeout
    )
    return response.from_json(answer.json() or {})


def stream(
    session: SessionProtocol,
    route: Tuple[str, str],
    response: Type[M],
    *,
    query: Optional[Mapping[str, Any]] = None,
    timeout: Optional[float] = None,
) -> Iterator[M]:
    """Send one request and yield the messages of its streamed response.

    Raises:
        RuntimeError: the master reported an error inside the stream.
    """
    import json

    answer = session._do_request(
        route[0], route[1], params=flatten(query), timeout=timeout, stream=True
    )
    for line in answer.iter_lines():
        if line:
            item = json.loads(line)
            if "error" in item:
                raise RuntimeError(item["error"].get("message") or str(item["error"]))
            yield response.from_json(item["result"])


def segment(value: Any) -> str:
    """A value as a percent-encoded path segment."""
    return quote(_text(value), safe="")


def flatten(query: Optional[Mapping[str, Any]], prefix: str = "") -> List[Tuple[str, str]]:
    """Query parameters: None is dropped, lists are repeated, messages use dotted names."""
    pairs: List[Tuple[str, str]] = []
    for name, value in (query or {}).items():
        if value is None:
            continue
        if isinstance(value, Message):
            pairs += flatten(value.to_json(), f"{prefix}{name}.")
        elif isinstance(value, (list, tuple)):
            pairs += [(prefix + name, _text(item)) for item in value]
        elif isinstance(value, dict):
            pairs += flatten(value, f"{prefix}{name}.")
        else:
            pairs.append((prefix + name, _text(value)))
    return pairs


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


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

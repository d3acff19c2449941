"""Makes the names that `bindings` of 0.38.1 exports, each when it is first used.

`rest/published.py` has the table: `name:type` for each field or parameter, the required ones
before a `?`. A type is `bool`, `int`, `float`, `str`, `dict`, `any` or a published name. `[T]` is
a list and `{T}` a map from text. 64-bit numbers and times are text, as they are in JSON.
"""

from __future__ import annotations

import inspect
import json
import math
import typing
from enum import Enum
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple
from urllib.parse import quote

from determined.common.api import bindings
from determined.common.api.rest.published import CALLS, ENUMS, MESSAGES, PAGINATED

Json = Any
_HOME = "determined.common.api.bindings"
_Types = Dict[str, str]


class Unset:
    """The class of the default of fields that a message leaves out."""


_unset = Unset()


class APIHttpError(Exception):
    """A call got an answer that is no success, and the session has not raised for it."""

    def __init__(self, operation_name: str, response: Any) -> None:
        self.operation_name = operation_name
        self.response = response
        self.message = f"{operation_name}: the master answered {response.reason}"

    def __str__(self) -> str:
        return self.message


class APIHttpStreamError(APIHttpError):
    """The master reported an error inside a streamed answer."""

    def __init__(self, operation_name: str, error: Any) -> None:
        self.operation_name = operation_name
        self.error = error
        self.message = f"{operation_name}: the stream ended with an error: {error.message}"


class DetEnum(Enum):
    """Base of the enumerations. The text of a member is its name on the wire less the prefix."""

    def __str__(self) -> str:
        return str(self.value)[len(self.prefix()) :]

    @classmethod
    def prefix(cls) -> str:
        """What all names on the wire start with, such as `STATE_`."""
        return ENUMS[cls.__name__][0] if cls.__name__ in ENUMS else ""


class Printable:
    """Base of the messages. Fields that are not set read as None."""

    REQUIRED: typing.ClassVar[_Types] = {}
    OPTIONAL: typing.ClassVar[_Types] = {}

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.REQUIRED.keys() - self.OPTIONAL.keys()
        missing = self.REQUIRED.keys() - values.keys()
        if unknown or missing:
            problem, names = ("has no", unknown) if unknown else ("needs", missing)
            raise TypeError(f"{type(self).__name__} {problem} field {', '.join(sorted(names))}")
        self.__dict__.update((k, v) for k, v in values.items() if v is not _unset)

    @classmethod
    def from_json(cls, obj: Json) -> Any:
        """Build from parsed JSON. Unknown names are ignored; a missing field reads as None."""
        message = cls.__new__(cls)
        for name, word in (*cls.REQUIRED.items(), *cls.OPTIONAL.items()):
            if name in obj:
                message.__dict__[name] = _read(word, obj[name])
        return message

    def to_json(self, omit_unset: bool = False) -> Dict[str, Any]:
        """The fields as JSON values; unset ones are null unless they are omitted."""
        types = {**self.REQUIRED, **self.OPTIONAL}
        return {
            name: _write(word, getattr(self, name), omit_unset)
            for name, word in types.items()
            if name in self.__dict__ or not omit_unset
        }

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({fields})"


def dump_float(val: Any) -> Any:
    """A number as JSON has it: infinite ones and NaN are text."""
    if val is None or math.isfinite(val):
        return val
    return "NaN" if math.isnan(val) else "Infinity" if val > 0 else "-Infinity"


_WRITTEN_HERE = {
    "APIHttpError": APIHttpError,
    "APIHttpStreamError": APIHttpStreamError,
    "DetEnum": DetEnum,
    "Json": Json,
    "Printable": Printable,
    "Unset": Unset,
    "_unset": _unset,
    "dump_float": dump_float,
}


def names() -> List[str]:
    """All names that `make` knows."""
    return [*_WRITTEN_HERE, "Paginated", *ENUMS, *MESSAGES, *CALLS]


def make(name: str) -> Any:
    """The class or function of this name.

    Raises:
        AttributeError: the bindings have no such name.
    """
    if name in MESSAGES:
        return _message(name)
    if name in ENUMS:
        return _enum(name)
    if name in CALLS:
        return _call(name)
    if name == "Paginated":
        return typing.Union[tuple(getattr(bindings, each) for each in PAGINATED.split())]
    if name in _WRITTEN_HERE:
        return _WRITTEN_HERE[name]
    raise AttributeError(f"module {_HOME!r} has no attribute {name!r}")


def _enum(name: str) -> Any:
    prefix, members = ENUMS[name]
    values = [(member, prefix + member) for member in members.split()]
    make_enum: Any = DetEnum  # the functional form, because a body cannot have a table's members
    return make_enum(name, values, module=_HOME)


def _message(name: str) -> Any:
    required, optional = _types(MESSAGES[name])
    body = {
        **dict.fromkeys((*required, *optional)),
        "REQUIRED": required,
        "OPTIONAL": optional,
        "__annotations__": {k: _annotation(t) for k, t in {**required, **optional}.items()},
        "__module__": _HOME,
        "__doc__": f"{name} of the REST API.",
        "__signature__": _signature(required, optional, "typing.Union[{}, None, Unset]", _unset),
    }
    return type(name, (Printable,), body)


def _call(name: str) -> Callable[..., Any]:
    method, path, answer, rest = CALLS[name].split(" ", 3)
    required, optional = _types(rest)
    signature = _signature(required, optional, "typing.Optional[{}]", None, session=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs).arguments
        session = bound.pop("session")
        body = _plain(bound.pop("body", None), omit_unset=True)
        in_path = {key: quote(_text(bound.pop(key)), safe="") for key in _in_path(path, required)}
        response = session._do_request(
            method,
            path.format(**in_path),
            params=list(_parameters(bound)),
            json=body,
            stream=answer.startswith("["),
        )
        if response.status_code >= 300:
            raise APIHttpError(name, response)
        if answer.startswith("["):
            return _stream(name, response, answer[1:-1])
        return None if answer == "None" else _read(answer, response.json())

    call.__name__ = call.__qualname__ = name
    call.__module__ = _HOME
    call.__doc__ = f"{method} {path}"
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _types(text: str) -> Tuple[_Types, _Types]:
    first, _, last = text.partition("?")
    required, optional = (dict(w.split(":") for w in part.split()) for part in (first, last))
    return required, optional


def _signature(
    required: _Types, optional: _Types, form: str, default: Any, *, session: bool = False
) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("session", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters = parameters if session else []
    parameters += [
        inspect.Parameter(key, kind, annotation=_annotation(word))
        for key, word in required.items()
    ]
    parameters += [
        inspect.Parameter(key, kind, default=default, annotation=form.format(_annotation(word)))
        for key, word in optional.items()
    ]
    return inspect.Signature(parameters)


def _annotation(word: str) -> str:
    if word[0] in "[{":
        inner = _annotation(word[1:-1])
        return f"typing.Sequence[{inner}]" if word[0] == "[" else f"typing.Dict[str, {inner}]"
    return {"dict": "typing.Dict[str, typing.Any]", "any": "typing.Any"}.get(word, word)


def _in_path(path: str, required: _Types) -> List[str]:
    return [key for key in required if f"{{{key}}}" in path]


def _parameters(arguments: Mapping[str, Any]) -> Iterator[Tuple[str, str]]:
    """Parameters of the query; `a_b` is the field `b` of the message `a`."""
    for key, value in arguments.items():
        for item in value if isinstance(value, (list, tuple, set, frozenset)) else [value]:
            if item is not None:
                yield key.replace("_", "."), _text(item)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value if isinstance(value, Enum) else value)


def _stream(name: str, response: Any, word: str) -> Iterator[Any]:
    for line in response.iter_lines():
        if line:
            item = json.loads(line)
            if item.get("error") is not None:
                error = bindings.runtimeStreamError.from_json(item["error"])
                raise APIHttpStreamError(name, error)
            yield _read(word, item["result"])


def _read(word: str, value: Any) -> Any:
    if value is None:
        return None
    if word[0] == "[":
        return [_read(word[1:-1], item) for item in value]
    if word[0] == "{":
        return {key: _read(word[1:-1], item) for key, item in value.items()}
    if word == "float":
        return float(value)
    if word in ENUMS:
        kind = getattr(bindings, word)
        # A newer master may have members that this table does not.
        return kind._value2member_map_.get(value, value)
    return getattr(bindings, word).from_json(value) if word in MESSAGES else value


def _write(word: str, value: Any, omit_unset: bool) -> Any:
    return dump_float(value) if word == "float" else _plain(value, omit_unset)


def _plain(value: Any, omit_unset: bool) -> Any:
    """A value as JSON."""
    if isinstance(value, Printable):
        return value.to_json(omit_unset)
    if hasattr(value, "to_json"):  # a message of ours
        return value.to_json()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [_plain(item, omit_unset) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item, omit_unset) for key, item in value.items()}
    return dump_float(value) if isinstance(value, float) else value

"""Config files: reading YAML 1.2, and overriding keys."""

from __future__ import annotations

import datetime
import io
import os
from typing import Any, Dict, Iterable, Iterator, List

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, SequenceNode
from ruamel.yaml.scalarbool import ScalarBoolean

from determined.common._plain import NotSerializable, plain_key
from determined.common._plain import plain as json_value

_LISTS = frozenset(
    (
        "add_capabilities",
        "bind_mounts",
        "devices",
        "drop_capabilities",
        "environment_variables",
        "labels",
        "log_policies",
        "proxy_ports",
    )
)


_READER_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""Errors of ruamel.yaml about values without the form of their tag, such as `2001-99-99`, about
mappings as keys, and about deep nesting."""


class ConfigTextError(Exception):
    """An invalid config text; the message has the file or key, the position and a remedy."""


def load(text: str, name: str) -> Any:
    """Read a config as a mapping that keeps comments and order.

    Args:
        text: the YAML text.
        name: the file's name, for messages.

    Raises:
        ConfigTextError: the text is not YAML, has a duplicate key, or is not a mapping.
    """
    try:
        config = YAML().load(text)
    except DuplicateKeyError:
        twice = "; ".join(_duplicates(YAML().compose(text), ""))
        raise ConfigTextError(f"{name}: {twice}; keep one of each") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigTextError(f"{name}: {where}{_one_line(error.problem)}") from None
    except YAMLError as error:
        raise ConfigTextError(f"{name}: {_one_line(str(error))}") from None
    except _READER_ERRORS as error:
        raise ConfigTextError(f"{name}: {_unreadable(error)}") from None
    if not isinstance(config, dict):
        kind = "empty" if config is None else "a list" if isinstance(config, list) else "one value"
        raise ConfigTextError(f"{name}: a config is a mapping of keys to values, this is {kind}")
    return config


def dump(config: Any) -> str:
    """The YAML text of a config."""
    out = io.StringIO()
    YAML().dump(config, out)
    return out.getvalue()


def plain(config: Any, name: str) -> Any:
    """A config as plain JSON data; numbers and arrays of NumPy are Python's.

    Args:
        config: a mapping, as `load` returns it or a program makes it.
        name: the file's name, for messages.

    Raises:
        ConfigTextError: a key or value has no form in JSON, such as a tagged value of YAML.
    """
    try:
        return _plain_value(config, "")
    except RecursionError:
        raise ConfigTextError(f"{name}: it contains itself, or is nested too deeply") from None
    except _NotPlain as error:
        raise ConfigTextError(f"{name}: {error}") from None


def override(config: Any, settings: Iterable[str]) -> None:
    """Set keys of a config from `--config key=value` options.

    Dots in the key separate nested keys. A value with commas is a list. A value that starts with
    `[`, `{` or a quote is parsed as YAML or JSON. An empty value is null.

    Raises:
        ConfigTextError: there is no `=`, the value is not YAML, or a parent key is not a mapping.
    """
    for setting in settings:
        path, equals, value = setting.partition("=")
        if not equals or not all(path.split(".")):
            raise ConfigTextError(
                f"--config {setting!r} is not of the form key=value, such as "
                "resources.slots_per_trial=4"
            )
        *parents, last = path.split(".")
        place = config
        for depth, key in enumerate(parents):
            if place.get(key) is None:
                place[key] = {}
            place = place[key]
            if not isinstance(place, dict):
                inner = ".".join(parents[: depth + 1])
                raise ConfigTextError(
                    f"--config {setting!r}: '{inner}' holds a value, not a mapping"
                )
        place[last] = _value(setting, last, value)


class _NotPlain(Exception):
    """A key or value without a form in JSON."""


def _plain_value(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return {
            _plain_key(key, path): _plain_value(item, f"{path}.{key}" if path else str(key))
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain_value(item, f"{path}[{at}]") for at, item in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (float, str)):
        return float(value) if isinstance(value, float) else str(value)
    if isinstance(value, ScalarBoolean):
        return bool(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (datetime.date, os.PathLike)):
        return value.isoformat() if isinstance(value, datetime.date) else os.fspath(value)
    try:
        return json_value(value)
    except NotSerializable as error:
        tag = getattr(getattr(value, "tag", None), "value", None)
        kind = f"has the tag {tag}" if tag else f"is of type {error.kind}"
        raise _NotPlain(
            f"the value of '{path}' {kind}: write text, a number, true, false, a list or a mapping"
        ) from None


def _plain_key(key: Any, path: str) -> str:
    if key is None or isinstance(key, (str, bool, int, float)):
        return str(plain_key(key))
    where = f" in '{path}'" if path else ""
    raise _NotPlain(f"the key {key!r}{where} is of type {type(key).__name__}: write text")


def _unreadable(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"a value cannot be read: {_one_line(error)}"


def _value(setting: str, key: str, text: str) -> Any:
    reader = YAML(typ="safe", pure=True)
    try:
        if text[:1] in ("[", "{", '"', "'") or "," not in text:
            value = reader.load(text)
        else:
            value = [reader.load(part) for part in text.split(",")]
    except YAMLError as error:
        fault = _one_line(getattr(error, "problem", None) or error)
        raise ConfigTextError(f"--config {setting!r}: {fault}") from None
    except _READER_ERRORS as error:
        raise ConfigTextError(f"--config {setting!r}: {_unreadable(error)}") from None
    value = plain(value, f"--config {setting!r}")
    if key in _LISTS and value is not None and not isinstance(value, (list, dict)):
        return [value]
    return [value] if key in _LISTS - {"labels"} and isinstance(value, dict) else value


def _duplicates(node: Any, path: str) -> Iterator[str]:
    """A message for each duplicate key below `node`."""
    if isinstance(node, MappingNode):
        lines: Dict[str, int] = {}
        for key, value in node.value:
            inner = f"{path}{key.value}"
            line = key.start_mark.line + 1
            if inner in lines:
                yield f"key '{inner}' is on lines {lines[inner]} and {line}"
            lines.setdefault(inner, line)
            yield from _duplicates(value, f"{inner}.")
    elif isinstance(node, SequenceNode):
        for number, item in enumerate(node.value):
            yield from _duplicates(item, f"{path[:-1]}[{number}].")


def _one_line(text: Any) -> str:
    lines: List[str] = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[0] if lines else "it cannot be read"

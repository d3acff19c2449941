"""Config files: reading YAML 1.2, and overriding keys."""

from __future__ import annotations

import io
from typing import Any, Dict, Iterable, Iterator, List

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, SequenceNode

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
    if not isinstance(config, dict):
        kind = "empty" if config is None else "a list" if isinstance(config, list) else "one value"
        raise ConfigTextError(f"{name}: a config is a mapping of keys to values, this is {kind}")
    return config


def dump(config: Any) -> str:
    """The YAML text of a config."""
    out = io.StringIO()
    YAML().dump(config, out)
    return out.getvalue()


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

"""Reads YAML 1.2 text as plain JSON values; errors have the line.

The library composes the text into nodes, which are converted to values here. So the text cannot
build objects, repeat itself without bound, or contain one key twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.storable import find_unstorable

MAX_CHARACTERS = 256 * 1024
"""This number of characters of numbers keeps a thread busy for some seconds."""
MAX_DEPTH = 64
MAX_VALUES = 200_000
"""Values in all, including each use of an alias: a small text can stand for billions."""

FREE_FORM = ("hyperparameters", "data")
"""Sections whose values have no schema that could tell a boolean from a word."""

_PREFIX = "unable to convert yaml to json: "
_TAG = "tag:yaml.org,2002:"
_WORDS = frozenset(("y", "yes", "on", "n", "no", "off"))


class ParsedYaml(msgspec.Struct, frozen=True):
    """The value of a text, and warnings for its author."""

    value: Any
    warnings: tuple[str, ...] = ()


def parse_yaml(text: str, *, free_form: tuple[str, ...] = FREE_FORM) -> ParsedYaml:
    """Read one YAML document.

    `1e-4` is a number. `yes`, `no`, `on` and `off` are texts, with a warning in the sections named
    in `free_form`. A date stays a text; keys are texts.

    Raises:
        InvalidArgument: it is not YAML, has several documents, has a key twice (the error has
            both lines), or is too long or nested too deeply.
    """
    if len(text) > MAX_CHARACTERS:
        raise InvalidArgument(
            f"{_PREFIX}it has {len(text)} characters, at most {MAX_CHARACTERS} are read: "
            "put data into files"
        )
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Composer
    try:
        node = yaml.compose(text)
    except MarkedYAMLError as e:
        raise InvalidArgument(_PREFIX + _describe(e)) from None
    except (YAMLError, ValueError, RecursionError) as e:
        reason = "it is nested too deeply" if isinstance(e, RecursionError) else str(e)
        raise InvalidArgument(_PREFIX + " ".join(reason.split())) from None
    if node is None:
        return ParsedYaml(None)
    reader = _Reader(free_form)
    value = reader.read(node, 0, False)
    return ParsedYaml(value, tuple(reader.warnings))


def _describe(error: MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    reason = " ".join(str(part) for part in (error.context, error.problem) if part)
    return f"line {mark.line + 1}: {reason}" if mark else reason


class _Composer(Composer):
    """Stops at the first node that is too deep.

    The library's own recursion has no such bound, and its scanner looks at all open lists for
    each token: a text with 500,000 brackets kept a thread busy for a minute.
    """

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A node with all that is in it. Raises InvalidArgument: it is nested too deeply."""
        if self.depth > MAX_DEPTH:
            raise _fault(parent, f"nested more than {MAX_DEPTH} levels deep")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Reader:
    """Turns nodes into values."""

    def __init__(self, free_form: tuple[str, ...]) -> None:
        self.warnings: list[str] = []
        self._free_form = free_form
        self._left = MAX_VALUES

    def read(self, node: Node, depth: int, is_free: bool) -> Any:
        self._left -= 1
        if depth > MAX_DEPTH:
            raise _fault(node, f"nested more than {MAX_DEPTH} levels deep")
        if self._left < 0:
            raise _fault(node, f"more than {MAX_VALUES:,} values")
        match node:
            case ScalarNode():
                return self._scalar(node, is_free)
            case SequenceNode():
                return [self.read(item, depth + 1, is_free) for item in node.value]
            case MappingNode():
                return self._mapping(node, depth, is_free)
            case _:
                raise _fault(node, "not a value")

    def _mapping(self, node: MappingNode, depth: int, is_free: bool) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge" or _is_merge(key_node):
                for source in _sources(value_node):
                    read = self.read(source, depth + 1, is_free)
                    merged = {**read, **merged}
                continue
            key, line = self._key(key_node), key_node.start_mark.line + 1
            if key in lines:
                raise _fault(key_node, f'key "{key}" is given twice, first in line {lines[key]}')
            lines[key] = line
            is_section = depth == 0 and key in self._free_form
            own[key] = self.read(value_node, depth + 1, is_free or is_section)
        return {**merged, **own}

    def _key(self, node: Node) -> str:
        if not isinstance(node, ScalarNode):
            raise _fault(node, "a key must be a text")
        return _text(node)

    def _scalar(self, node: ScalarNode, is_free: bool) -> Any:
        text = _text(node)
        match node.tag.removeprefix(_TAG) if node.tag else "str":
            case "str" | "timestamp" | "value":
                if is_free and node.style is None and text.lower() in _WORDS:
                    line = node.start_mark.line + 1
                    self.warnings.append(
                        f"line {line}: `{text}` is read as a text; write true or false if you "
                        f'mean a boolean, "{text}" in quotes if you mean the text'
                    )
                return text
            case "null":
                return None
            case "bool":
                return text.lower() in ("true", "yes", "on", "y")
            case "int":
                return _number(node, text)
            case "float":
                return _number(node, text, is_float=True)
            case _:
                raise _fault(node, f"tag {node.tag} is not allowed")


def _text(node: ScalarNode) -> str:
    text = str(node.value)
    problem = find_unstorable(text)
    if problem is not None:
        raise _fault(node, f"{text[:40]!r} {problem}: leave it out")
    return text


def _number(node: Node, text: str, *, is_float: bool = False) -> int | float:
    plain = text.replace("_", "").lower()
    try:
        if not is_float:
            sign = -1 if plain.startswith("-") else 1
            digits = plain.lstrip("+-")
            base = {"0x": 16, "0o": 8, "0b": 2}.get(digits[:2])
            number = sign * (int(digits[2:], base) if base else int(digits))
            if abs(number) > sys.float_info.max:  # nothing can calculate with it, or even write it
                raise _fault(node, f'"{text[:40]}…" is too large: numbers go to 1.8e308')
            return number
        return float(plain.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:  # also of an integer of over 4,300 decimal digits
        raise _fault(node, f'"{text[:40]}" is not a number') from None


def _is_merge(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value == "<<" and node.style is None


def _sources(node: Node) -> Iterator[MappingNode]:
    for source in node.value if isinstance(node, SequenceNode) else [node]:
        if not isinstance(source, MappingNode):
            raise _fault(source, "`<<` merges maps only")
        yield source


def _fault(node: Node, text: str) -> InvalidArgument:
    return InvalidArgument(f"{_PREFIX}line {node.start_mark.line + 1}: {text}")

"""Problems of a configuration as the master lists them, in plain words and one on each line."""

from __future__ import annotations

import re

ROOT = "<config>"
_HEAD = re.compile(
    r"(?:version 0 experiment config is invalid: )?config is (?:invalid or incomplete|invalid): "
)
_UNKNOWN = re.compile(r'additionalProperties "(.*?)" not allowed')
_MISSING = re.compile(r"^(\S+) is a required property$")
_KINDS = {
    "string": "text",
    "array": "a list",
    "object": "a mapping",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}
_TYPE = re.compile(r"^expected (.+), but got (\w+)$")


def in_lines(text: str) -> str:
    """The text of an error; if it lists problems, each stands on a line of its own."""
    if ROOT not in text:
        return text
    head, root, rest = text.partition(ROOT)
    head = _HEAD.sub("", head).rstrip()
    return "\n  ".join([head, *map(_plain, f"{root}{rest}".splitlines())])


def _plain(line: str) -> str:
    path, colon, problem = line.partition(": ")
    if not colon or not path.startswith(ROOT):
        return line
    problem = _UNKNOWN.sub(r'unknown key "\1"', problem)
    problem = _MISSING.sub(r"missing: \1", problem)
    problem = _TYPE.sub(_expected, problem)
    place = path[len(ROOT) :].lstrip(".")
    return f"{place}: {problem}" if place else problem


def _expected(match: re.Match[str]) -> str:
    kinds = [k for k in re.split(r", | or ", match[1]) if k != "null"]
    return f"must be {' or '.join(map(_plain_kind, kinds))}, not {_plain_kind(match[2])}"


def _plain_kind(kind: str) -> str:
    return _KINDS.get(kind, kind)

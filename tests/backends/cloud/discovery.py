"""What Google's discovery document says of a call to Compute Engine and of its answer.

The shapes lie in `tests/data/compute_v1.json`; `tools/take_compute_shapes.py` takes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

SHAPES = json.loads((Path(__file__).parents[2] / "data" / "compute_v1.json").read_text())
_WHOLE = re.compile(r"-?\d+")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_NUMBERS_AS_TEXT = ("int64", "uint64")
"""Formats of numbers that JSON has as text."""


def method_of(verb: str, path: str) -> str:
    """The name of the method that a path belongs to, such as `instances.list`; empty for none."""
    for name, method in SHAPES["methods"].items():
        if method["httpMethod"] == verb and _pattern(method).fullmatch(path):
            return str(name)
    return ""


def request_faults(
    name: str, path: str, query: Mapping[str, str], body: Any | None
) -> Iterator[str]:
    """What of a request the document does not know or has otherwise."""
    method = SHAPES["methods"][name]
    given: dict[str, Any] = dict(query)
    if found := _pattern(method).fullmatch(path):
        given |= {key: unquote(value) for key, value in found.groupdict().items()}
    known = {**SHAPES["parameters"], **method.get("parameters", {})}
    for key, value in given.items():
        if key not in known:
            yield f"{name}: parameter {key} is not known"
        else:
            yield from _faults_of_text(f"{name}: parameter {key}", known[key], value)
    for key, shape in known.items():
        if shape.get("required") and key not in given:
            yield f"{name}: parameter {key} is missing"
    if body is None and "request" in method:
        yield f"{name}: the body is missing"
    elif body is not None:
        yield from faults(f"{name}: body", method.get("request", {"properties": {}}), body)


def answer_faults(name: str, answer: Any) -> Iterator[str]:
    """What of an answer the document does not know or has otherwise."""
    yield from faults(f"{name}: answer", SHAPES["methods"][name]["response"], answer)


def faults(at: str, shape: Mapping[str, Any], value: Any) -> Iterator[str]:
    """Where a value differs from a shape."""
    if "$ref" in shape:
        yield from faults(at, SHAPES["schemas"][shape["$ref"]], value)
        return
    wanted = shape.get("type", "object")
    if wanted != "any" and (
        not isinstance(value, _TYPES[wanted]) or (wanted != "boolean" and isinstance(value, bool))
    ):
        yield f"{at}: {value!r} is not of type {wanted}"
    elif wanted == "array":
        for index, item in enumerate(value):
            yield from faults(f"{at}[{index}]", shape["items"], item)
    elif wanted == "object":
        yield from _faults_of_object(at, shape, value)
    elif wanted == "string":
        yield from _faults_of_text(at, shape, value)


def _faults_of_object(at: str, shape: Mapping[str, Any], value: Any) -> Iterator[str]:
    known = shape.get("properties", {})
    others = shape.get("additionalProperties")
    for key, part in value.items():
        if key in known:
            yield from faults(f"{at}.{key}", known[key], part)
        elif others is not None:
            yield from faults(f"{at}.{key}", others, part)
        else:
            yield f"{at}.{key} is not known"


def _faults_of_text(at: str, shape: Mapping[str, Any], value: str) -> Iterator[str]:
    if shape.get("format") in _NUMBERS_AS_TEXT or shape["type"] == "integer":
        if not _WHOLE.fullmatch(value):
            yield f"{at}: {value!r} is not a whole number"
    elif "enum" in shape and value not in shape["enum"]:
        yield f"{at}: {value!r} is none of {', '.join(shape['enum'])}"
    elif "pattern" in shape and not re.fullmatch(shape["pattern"], value):
        yield f"{at}: {value!r} does not match {shape['pattern']}"


def _pattern(method: Mapping[str, Any]) -> re.Pattern[str]:
    return re.compile("/" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", method["flatPath"]))

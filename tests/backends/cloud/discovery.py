"""What Google's discovery documents say of a call to its APIs and of the answer.

The shapes lie in `tests/data/google/`; `tools/take_google_shapes.py` takes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

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


class Document:
    """The document of one API, such as `compute_v1`."""

    def __init__(self, name: str) -> None:
        path = Path(__file__).parents[2] / "data" / "google" / f"{name}.json"
        self._shapes = json.loads(path.read_text())

    def method_of(self, verb: str, path: str) -> str:
        """The name of a path's method, such as `instances.list`; empty for none."""
        for name, method in self._shapes["methods"].items():
            if method["httpMethod"] == verb and _pattern(method).fullmatch(path):
                return str(name)
        return ""

    def request_faults(
        self, name: str, path: str, query: Mapping[str, str], body: Any | None
    ) -> Iterator[str]:
        """The parts of a request that the document lacks or describes differently."""
        method = self._shapes["methods"][name]
        known = {**self._shapes["parameters"], **method.get("parameters", {})}
        given: dict[str, Any] = dict(query)
        found = _pattern(method).fullmatch(path)
        parts = found.groupdict() if found else {}
        if parts.keys() <= known.keys():
            given |= {key: unquote(value) for key, value in parts.items()}
        else:  # the path has the parts of one parameter
            known = {key: one for key, one in known.items() if one.get("location") != "path"}
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
            shape = method.get("request", {"properties": {}})
            yield from self.faults(f"{name}: body", shape, body)

    def answer_faults(self, name: str, answer: Any) -> Iterator[str]:
        """The parts of an answer that the document lacks or describes differently."""
        yield from self.faults(
            f"{name}: answer", self._shapes["methods"][name]["response"], answer
        )

    def faults(self, at: str, shape: Mapping[str, Any], value: Any) -> Iterator[str]:
        """Where a value differs from a shape."""
        if "$ref" in shape:
            yield from self.faults(at, self._shapes["schemas"][shape["$ref"]], value)
            return
        wanted = shape.get("type", "object")
        if wanted != "any" and (
            not isinstance(value, _TYPES[wanted])
            or (wanted != "boolean" and isinstance(value, bool))
        ):
            yield f"{at}: {value!r} is not of type {wanted}"
        elif wanted == "array":
            for index, item in enumerate(value):
                yield from self.faults(f"{at}[{index}]", shape["items"], item)
        elif wanted == "object":
            yield from self._faults_of_object(at, shape, value)
        elif wanted == "string":
            yield from _faults_of_text(at, shape, value)

    def _faults_of_object(self, at: str, shape: Mapping[str, Any], value: Any) -> Iterator[str]:
        known = shape.get("properties", {})
        others = shape.get("additionalProperties")
        for key, part in value.items():
            if key in known:
                yield from self.faults(f"{at}.{key}", known[key], part)
            elif others is not None:
                yield from self.faults(f"{at}.{key}", others, part)
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
    return re.compile("/" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/:]+)", method["flatPath"]))


COMPUTE = Document("compute_v1")

"""The requests of a page against the API's document: paths, query parameters, bodies."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

DOCUMENT = Path(__file__).parents[2] / "webui" / "openapi.json"
CHECKED = re.compile(r"^/api/(ui/)?v1/")
WEBSOCKET = "/api/ui/v1/live"


@functools.cache
def _document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return found


@functools.cache
def _operations() -> list[tuple[str, re.Pattern[str], dict[str, Any]]]:
    """Method, pattern and description of all operations; fixed paths come first."""
    found = []
    for path in sorted(_document()["paths"], key=lambda path: path.count("{")):
        pattern = re.compile(re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path)) + "$")
        for method, operation in _document()["paths"][path].items():
            found.append((method.upper(), pattern, operation))
    return found


def complaints(method: str, url: str, body: str | None) -> list[str]:
    """How a request differs from the document; nothing for addresses outside of the API."""
    parts = urlsplit(url)
    if not CHECKED.match(parts.path) or parts.path == WEBSOCKET:
        return []
    operation = next(
        (
            each
            for wanted, path, each in _operations()
            if wanted == method and path.match(parts.path)
        ),
        None,
    )
    if operation is None:
        return [f"{method} {parts.path} is no operation of the API"]
    known = {each["name"] for each in operation.get("parameters", []) if each["in"] == "query"}
    unknown = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)} - known
    found = [f"{method} {parts.path} has no parameter {name}" for name in sorted(unknown)]
    if body:
        found += [f"{method} {parts.path}: {text}" for text in _of_body(operation, body)]
    return found


def _of_body(operation: dict[str, Any], body: str) -> list[str]:
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    if schema is None:
        return ["the operation takes no body"]
    return _fields(schema, json.loads(body), "body")


def _fields(schema: dict[str, Any], value: Any, where: str) -> list[str]:
    """Names of fields that the schema lacks, at any depth."""
    if "$ref" in schema:
        schema = _document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, list) and "items" in schema:
        return [text for each in value for text in _fields(schema["items"], each, f"{where}[]")]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    found = []
    for name, inner in value.items():
        if name in schema["properties"]:
            found += _fields(schema["properties"][name], inner, f"{where}.{name}")
        elif schema.get("additionalProperties") is None:
            found.append(f"{where} has no field {name}")
    return found

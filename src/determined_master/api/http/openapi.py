"""The OpenAPI document, made from the route table and the shapes of its messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from determined_master.api.http.protojson.shape import FieldShape, shape_of
from determined_master.api.http.routes import Route
from determined_wire.proto import Message
from determined_wire.rest.endpoints import ENDPOINTS

SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "int32": {"type": "integer", "format": "int32"},
    "uint32": {"type": "integer", "format": "int64"},
    "steps": {"type": "integer", "format": "int64"},
    "int64": {"type": "string", "format": "int64"},
    "uint64": {"type": "string", "format": "uint64"},
    "double": {"type": "number", "format": "double"},
    "google.Timestamp": {"type": "string", "format": "date-time"},
    "google.Struct": {"type": "object", "additionalProperties": True},
    "google.ListValue": {"type": "array", "items": {}},
    "google.Value": {},
    "google.FieldMask": {"type": "object"},
    "google.StringValue": {"type": "string"},
    "google.BoolValue": {"type": "boolean"},
    "google.Int32Value": {"type": "integer", "format": "int32"},
    "google.DoubleValue": {"type": "number", "format": "double"},
}
ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "integer"},
                "reason": {"type": "string"},
                "error": {"type": "string"},
            },
        }
    },
}


def document(routes: Iterable[Route], version: str) -> bytes:
    """The OpenAPI 3.0 document of the served routes, as JSON."""
    bodies = {(e.method, e.path): e.body for e in ENDPOINTS}
    schemas: dict[str, Any] = {"Error": ERROR}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.kind == "socket" or route.method == "*":
            continue
        body = bodies.get((route.method, route.path), route.body)
        operation = _operation(route, body, schemas)
        paths.setdefault(route.path.replace("*", ""), {})[route.method.lower()] = operation
    return msgspec.json.encode(
        {
            "openapi": "3.0.3",
            "info": {"title": "Determined", "version": version},
            "paths": dict(sorted(paths.items())),
            "components": {
                "schemas": dict(sorted(schemas.items())),
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


def _operation(route: Route, body: str, schemas: dict[str, Any]) -> dict[str, Any]:
    names = [part.strip("{}*") for part in route.path.split("/") if part.startswith("{")]
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": (route.handler.__doc__ or "").split("\n")[0],
        "tags": [_tag(route.path)],
        "security": [] if route.is_public else [{"token": []}],
        "parameters": [_parameter(route, name) for name in names],
        "responses": {"200": {"description": "done"}},
    }
    operation["parameters"] += [
        {"name": name, "in": "query", "schema": SCALARS["string"]} for name in route.query
    ]
    if route.produces:
        content = {route.produces: {"schema": SCALARS["string"]}}
        operation["responses"] = {"200": {"description": "done", "content": content}}
    if route.request is not None and not body:
        operation["parameters"] += _query(route.request, set(names))
    if route.request is not None and body:
        schema = _body_schema(route.request, body, schemas)
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    if route.response is not None:
        schema = _reference(route.response, schemas)
        if route.kind == "stream":
            schema = {"type": "object", "properties": {"result": schema}}
        operation["responses"] = {
            "200": {"description": "done", "content": {"application/json": {"schema": schema}}},
            "default": {
                "description": "an error",
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/Error"}}
                },
            },
        }
    return operation


def _tag(path: str) -> str:
    if path.startswith("/api/ui/v1/"):
        return "ui"
    return path.split("/")[3] if path.startswith("/api/v1/") else "plain"


def _parameter(route: Route, name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if route.request is not None:
        cls: type[Message] = route.request
        *parents, last = name.split(".")
        for parent in parents:
            cls = shape_of(cls).by_name[parent].target
        schema = _one(shape_of(cls).by_name[last], {})
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query(request: type[Message], in_path: set[str]) -> list[dict[str, Any]]:
    return [
        {"name": field.json_name, "in": "query", "schema": _field(field, {})}
        for field in shape_of(request).fields
        if field.name not in in_path and field.kind != "message"
    ]


def _body_schema(request: type[Message], body: str, schemas: dict[str, Any]) -> Any:
    if body == "*":
        return _reference(request, schemas)
    return _field(shape_of(request).by_name[body], schemas)


def _reference(cls: type[Message], schemas: dict[str, Any]) -> dict[str, Any]:
    name = cls.__name__
    if name not in schemas:
        schemas[name] = {}  # there before its fields, which may refer to it
        fields = shape_of(cls).fields
        schemas[name] = {
            "type": "object",
            "properties": {f.json_name: _field(f, schemas) for f in fields},
        }
    return {"$ref": f"#/components/schemas/{name}"}


def _field(field: FieldShape, schemas: dict[str, Any]) -> dict[str, Any]:
    one = _one(field, schemas)
    if field.container == "list":
        return {"type": "array", "items": one}
    if field.container == "map":
        return {"type": "object", "additionalProperties": one}
    return one


def _one(field: FieldShape, schemas: dict[str, Any]) -> dict[str, Any]:
    if field.kind == "message":
        return _reference(field.target, schemas)
    if field.kind == "enum":
        return {"type": "string", "enum": [member.value for member in field.target]}
    return SCALARS[field.kind]

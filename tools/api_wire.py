"""Writes the modules of `determined_wire.rest` (msgspec structs)."""

from __future__ import annotations

from tools.api_model import HEADER, Endpoint, Enum, Field, Message, Model

SCALARS = {
    "string": ("str", '""'),
    "bool": ("bool", "False"),
    "int32": ("Int32", "0"),
    "uint32": ("UInt32", "0"),
    "int64": ("Int64", "0"),
    "uint64": ("UInt64", "0"),
    "float": ("Double", "0.0"),
    "double": ("Double", "0.0"),
    "bytes": ("bytes", 'b""'),
}
OBJECTS = {
    "google.Timestamp": "Timestamp",
    "google.Struct": "JsonObject",
    "google.ListValue": "JsonList",
    "google.Value": "JsonValue",
    "google.FieldMask": "FieldMask",
    "google.StringValue": "StringValue",
    "google.BoolValue": "BoolValue",
    "google.Int32Value": "Int32Value",
    "google.DoubleValue": "DoubleValue",
}
STEPS = frozenset(
    (
        "batches",
        "batches_margin",
        "batches_processed",
        "end_batches",
        "start_batches",
        "steps_completed",
        "total_batches",
        "total_batches_processed",
    )
)
"""Fields with a number of batches: int32 in the published API, and 64-bit here."""
NATIVE = {"str", "bool", "bytes"}


def modules(model: Model) -> dict[str, str]:
    """Relative path -> text of every generated file."""
    files = {"endpoints.py": _endpoints(model)}
    for module in model.modules():
        files[module.replace(".", "/") + ".py"] = _module(model, module)
    return files


def _module(model: Model, module: str) -> str:
    enums = [e for e in model.enums.values() if e.module == module]
    messages = [m for m in model.messages.values() if m.module == module]
    imports = _imports(model, messages)
    body = [_enum(e) for e in enums] + [_message(model, m) for m in messages]
    names = ["Message"] if messages else []
    names += ["WireEnum"] if enums else []
    text = "\n\n".join(body)
    names += [n for n in {**_aliases()} if f"{n} " in text or f"{n}]" in text]
    head = HEADER.format(doc=f"Messages of `{module}`.")
    containers = [n for n in ("Mapping", "Sequence") if f"{n}[" in text]
    lines = [head, "from __future__ import annotations", ""]
    if containers:
        lines += [f"from collections.abc import {', '.join(containers)}", ""]
    lines += [f"from determined_wire.proto import {', '.join(sorted(set(names)))}"]
    lines += imports
    return "\n".join(lines) + "\n\n\n" + text


def _aliases() -> dict[str, None]:
    aliases = [t for t, _ in SCALARS.values() if t not in NATIVE]
    aliases += ["Steps", *OBJECTS.values()]
    return dict.fromkeys(aliases)


def _imports(model: Model, messages: list[Message]) -> list[str]:
    wanted: dict[str, set[str]] = {}
    for message in messages:
        for field in message.fields:
            if field.target:
                found = model.messages.get(field.target) or model.enums[field.target]
                if found.module != message.module:
                    wanted.setdefault(found.module, set()).add(found.name)
    return [
        f"from determined_wire.rest.{module} import {', '.join(sorted(names))}"
        for module, names in sorted(wanted.items())
    ]


def _enum(enum: Enum) -> str:
    lines = [f"class {enum.name}(WireEnum):", f'    __proto__ = "{enum.full_name}"']
    lines += [f'    {name} = "{name}", {number}' for name, number in enum.members]
    return "\n".join(lines) + "\n"


def _message(model: Model, message: Message) -> str:
    lines = [f"class {message.name}(Message, frozen=True):"]
    absent = [f'"{f.name}"' for f in message.fields if f.is_absent]
    if absent:
        lines.append(f"    __absent__ = frozenset(({', '.join(absent)},))")
    lines += [f"    {_field(model, f)}" for f in message.fields]
    if not message.fields:
        lines.append("    pass")
    return "\n".join(lines) + "\n"


def _field(model: Model, field: Field) -> str:
    kind, default = _type(model, field)
    if field.container == "list":
        kind, default = f"Sequence[{kind}]", "()"
    elif field.container == "map":
        kind, default = f"Mapping[str, {kind}]", "{}"
    elif field.is_absent and default != "None":
        kind, default = f"{kind} | None", "None"
    elif default == "None":
        kind = f"{kind} | None"
    return f"{field.name}: {kind} = {default}"


def _type(model: Model, field: Field) -> tuple[str, str]:
    if field.kind == "int32" and field.name in STEPS:
        return "Steps", "0"
    if field.kind in SCALARS:
        return SCALARS[field.kind]
    if field.kind in OBJECTS:
        return OBJECTS[field.kind], "None"
    if field.kind == "message":
        return model.messages[field.target].name, "None"
    enum = model.enums[field.target]
    return enum.name, f"{enum.name}.{enum.members[0][0]}"


def _endpoints(model: Model) -> str:
    lines = [
        HEADER.format(doc="Every route of the public API."),
        "from determined_wire.proto import Endpoint",
        "",
        "ENDPOINTS = (",
        *(f"    {_endpoint(model, e)}," for e in model.endpoints),
        ")",
    ]
    return "\n".join(lines) + "\n"


def _endpoint(model: Model, endpoint: Endpoint) -> str:
    request = model.messages[endpoint.request]
    response = model.messages[endpoint.response]
    values = [
        endpoint.rpc,
        endpoint.method,
        endpoint.path,
        f"{request.module}.{request.name}",
        f"{response.module}.{response.name}",
    ]
    text = ", ".join(f'"{v}"' for v in values)
    text += f', body="{endpoint.body}"' if endpoint.body else ""
    text += ", is_stream=True" if endpoint.is_stream else ""
    return f"Endpoint({text})"

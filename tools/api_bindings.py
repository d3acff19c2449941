"""Generates `determined.common.api.bindings`, its stub, and the modules that it re-exports."""

from __future__ import annotations

from tools.api_model import (
    HEADER,
    Endpoint,
    Enum,
    Field,
    Message,
    Model,
    camel_case,
    path_parameters,
    snake_case,
)

TYPES = {
    "string": ("str", '""'),
    "bytes": ("str", '""'),
    "bool": ("bool", "False"),
    "int32": ("int", "0"),
    "uint32": ("int", "0"),
    "int64": ("int", "0"),
    "uint64": ("int", "0"),
    "float": ("float", "0.0"),
    "double": ("float", "0.0"),
    "google.Timestamp": ("str", "None"),
    "google.Struct": ("Mapping[str, Any]", "None"),
    "google.ListValue": ("Sequence[Any]", "None"),
    "google.Value": ("Any", "None"),
    "google.FieldMask": ("Mapping[str, Any]", "None"),
    "google.StringValue": ("str", "None"),
    "google.BoolValue": ("bool", "None"),
    "google.Int32Value": ("int", "None"),
    "google.DoubleValue": ("float", "None"),
}
PACKAGE = "determined.common.api.rest"
BASES = ("EMPTY", "Message", "SessionProtocol", "WireEnum", "call", "segment", "stream")
TYPING = ("Any", "Iterator", "Mapping", "Sequence")


def modules(model: Model) -> dict[str, str]:
    """Relative path -> text of every generated file below `rest/`."""
    return {m.replace(".", "/") + ".py": _module(model, m) for m in model.modules()}


def facade(model: Model) -> str:
    """Text of `bindings.py`: each name is imported when it is first used."""
    lines = [
        HEADER.format(doc="Messages, enums and calls of the REST API."),
        "from __future__ import annotations",
        "",
        "from importlib import import_module",
        "from typing import Any",
        "",
        "_MODULES = {",
    ]
    lines += [f'    "{module}": "{" ".join(names)}",' for module, names in _names(model).items()]
    lines += [
        "}",
        "_MODULE_OF = {n: module for module, names in _MODULES.items() for n in names.split()}",
        "",
        "",
        "def __getattr__(name: str) -> Any:",
        "    if name not in _MODULE_OF:",
        '        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")',
        f'    value = getattr(import_module(f"{PACKAGE}.{{_MODULE_OF[name]}}"), name)',
        "    globals()[name] = value",
        "    return value",
        "",
        "",
        "def __dir__() -> list[str]:",
        "    return sorted(_MODULE_OF)",
    ]
    return "\n".join(lines) + "\n"


def stub(model: Model) -> str:
    """Text of `bindings.pyi`: the same names as imports, for type checkers and editors."""
    lines = [HEADER.format(doc="Messages, enums and calls of the REST API.")]
    for module, names in _names(model).items():
        lines += [f"from {PACKAGE}.{module} import {name} as {name}" for name in names]
    return "\n".join(lines) + "\n"


def function_name(endpoint: Endpoint) -> str:
    """`get_GetExperiment`: the verb, then the rpc's own name."""
    return f"{endpoint.method.lower()}_{endpoint.rpc}"


def _names(model: Model) -> dict[str, list[str]]:
    """Module -> its public names, both in alphabetical order."""
    homes = {x.name: x.module for x in [*model.messages.values(), *model.enums.values()]}
    homes.update({function_name(e): _home(model, e) for e in model.endpoints})
    by_module: dict[str, list[str]] = {}
    for name, module in sorted(homes.items()):
        by_module.setdefault(module, []).append(name)
    return dict(sorted(by_module.items()))


def _home(model: Model, endpoint: Endpoint) -> str:
    return model.messages[endpoint.request].module


def _module(model: Model, module: str) -> str:
    enums = [e for e in model.enums.values() if e.module == module]
    messages = [m for m in model.messages.values() if m.module == module]
    endpoints = [e for e in model.endpoints if _home(model, e) == module]
    parts = [_enum(e) for e in enums]
    parts += [_message(model, m) for m in messages]
    parts += [_function(model, e) for e in endpoints]
    text = "\n\n".join(parts)
    typing = [n for n in TYPING if f"{n}[" in text or (n == "Any" and "Any" in text)]
    bases = [n for n in BASES if any(f"{n}{end}" in text for end in "(),\n ")]
    lines = [HEADER.format(doc=f"Messages and calls of `{module}`.")]
    lines += ["from __future__ import annotations", ""]
    lines += [f"from typing import {', '.join(typing)}", ""] if typing else []
    lines += [f"from determined.common.api.messages import {', '.join(bases)}"]
    lines += _imports(model, messages, endpoints)
    return "\n".join(lines) + "\n\n\n" + text


def _imports(model: Model, messages: list[Message], endpoints: list[Endpoint]) -> list[str]:
    module = messages[0].module
    used = [f.target for m in messages for f in m.fields if f.target]
    used += [e.response for e in endpoints]
    wanted: dict[str, set[str]] = {}
    for name in used:
        found = model.messages.get(name) or model.enums[name]
        if found.module != module:
            wanted.setdefault(found.module, set()).add(found.name)
    return [
        f"from {PACKAGE}.{home} import {', '.join(sorted(names))}"
        for home, names in sorted(wanted.items())
    ]


def _enum(enum: Enum) -> str:
    lines = [f"class {enum.name}(WireEnum):"]
    lines += [f'    {name} = "{name}"' for name, _ in enum.members]
    return "\n".join(lines) + "\n"


def _message(model: Model, message: Message) -> str:
    if not message.fields:
        return f"class {message.name}(Message):\n    pass\n"
    lines = [f"class {message.name}(Message):"]
    for field in message.fields:
        kind, default = _type(model, field)
        lines.append(f"    {field.name}: {kind} = {default}")
    lines.append("    FIELDS = (")
    for field in message.fields:
        target = _target_name(model, field)
        itself = "None" if target == message.name else target
        lines.append(
            f'        ("{field.name}", "{field.json_name}", "{field.kind}",'
            f' "{field.container}", {itself}),'
        )
    lines.append("    )")
    return "\n".join(lines) + "\n"


def _target_name(model: Model, field: Field) -> str:
    if not field.target:
        return "None"
    return (model.messages.get(field.target) or model.enums[field.target]).name


def _type(model: Model, field: Field) -> tuple[str, str]:
    if field.kind == "message":
        kind, default = model.messages[field.target].name, "None"
    elif field.kind == "enum":
        enum = model.enums[field.target]
        kind, default = enum.name, f"{enum.name}.{enum.members[0][0]}"
    else:
        kind, default = TYPES[field.kind]
    if field.container == "list":
        return f"Sequence[{kind}]", "()"
    if field.container == "map":
        return f"Mapping[str, {kind}]", "EMPTY"
    if field.is_absent or default == "None":
        return f"{kind} | None", "None"
    return kind, default


def _function(model: Model, endpoint: Endpoint) -> str:
    request = model.messages[endpoint.request]
    response = model.messages[endpoint.response].name
    fields = {f.name: f for f in request.fields}
    in_path = path_parameters(endpoint.path)
    arguments = [
        f"{snake_case(p).replace('.', '_')}: {_path_type(model, request, p)}" for p in in_path
    ]
    query: list[str] = []
    if endpoint.body:
        arguments.append(f"body: {_body_type(model, endpoint, fields)}")
    else:
        for field in request.fields:
            if field.name not in in_path:
                arguments.append(f"{field.name}: {_argument_type(model, field)} = None")
                query.append(f'"{field.json_name}": {field.name}')
    path = endpoint.path
    for parameter in in_path:
        path = path.replace(
            "{" + parameter + "}", "{segment(" + parameter.replace(".", "_") + ")}"
        )
    quoted = f'f"{path}"' if in_path else f'"{path}"'
    verb = "stream" if endpoint.is_stream else "call"
    result = f"Iterator[{response}]" if endpoint.is_stream else response
    star = ["session: SessionProtocol", "*", *arguments, "timeout: float | None = None"]
    extra = f", query={{{', '.join(query)}}}" if query else ""
    extra += ", body=body" if endpoint.body else ""
    return (
        f"def {function_name(endpoint)}({', '.join(star)}) -> {result}:\n"
        f'    route = ("{endpoint.method}", {quoted})\n'
        f"    return {verb}(session, route, {response}{extra}, timeout=timeout)\n"
    )


def _path_type(model: Model, request: Message, parameter: str) -> str:
    message = request
    *parents, last = parameter.split(".")
    for parent in parents:
        target = next(f.target for f in message.fields if f.name == parent)
        message = model.messages[target]
    field = next(f for f in message.fields if f.json_name == camel_case(last))
    return _type(model, field)[0].replace(" | None", "")


def _body_type(model: Model, endpoint: Endpoint, fields: dict[str, Field]) -> str:
    if endpoint.body == "*":
        return model.messages[endpoint.request].name
    return _type(model, fields[endpoint.body])[0]


def _argument_type(model: Model, field: Field) -> str:
    kind = _type(model, field)[0].replace(" | None", "")
    return f"{kind} | None"

"""Generates `determined.common.api.bindings`, its stub, and the modules that it re-exports."""

from __future__ import annotations

from tools.api_model import HEADER, Enum, Field, Message, Model
from tools.api_published import WITHOUT_VERSION

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
BASES = ("EMPTY", "Message", "WireEnum")
TYPING = ("Any", "Mapping", "Sequence")


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
        "    if name in _MODULE_OF:",
        f'        value = getattr(import_module(f"{PACKAGE}.{{_MODULE_OF[name]}}"), name)',
        "    else:",
        '        value = import_module("determined.common.api._published").make(name)',
        "    globals()[name] = value",
        "    return value",
        "",
        "",
        "def __dir__() -> list[str]:",
        '    published = import_module("determined.common.api._published").names()',
        "    return sorted({*_MODULE_OF, *published})",
    ]
    return "\n".join(lines) + "\n"


def stub(model: Model) -> str:
    """Text of `bindings.pyi`: the same names as imports, for type checkers and editors."""
    lines = [HEADER.format(doc="Messages, enums and calls of the REST API.")]
    for module, names in _names(model).items():
        lines += [f"from {PACKAGE}.{module} import {name} as {name}" for name in names]
    lines += ["from typing import Any", "", "def __getattr__(name: str) -> Any: ..."]
    return "\n".join(lines) + "\n"


def _names(model: Model) -> dict[str, list[str]]:
    """Module -> its public names, both in alphabetical order."""
    shapes = [*model.messages.values(), *model.enums.values()]
    homes = {x.name: x.module for x in shapes if x.full_name not in WITHOUT_VERSION}
    by_module: dict[str, list[str]] = {}
    for name, module in sorted(homes.items()):
        by_module.setdefault(module, []).append(name)
    return dict(sorted(by_module.items()))


def _module(model: Model, module: str) -> str:
    enums = [e for e in model.enums.values() if e.module == module]
    messages = [m for m in model.messages.values() if m.module == module]
    parts = [_enum(e) for e in enums]
    parts += [_message(model, m) for m in messages]
    text = "\n\n".join(parts)
    typing = [n for n in TYPING if f"{n}[" in text or (n == "Any" and "Any" in text)]
    bases = [n for n in BASES if any(f"{n}{end}" in text for end in "(),\n ")]
    lines = [HEADER.format(doc=f"Messages of `{module}`.")]
    lines += ["from __future__ import annotations", ""]
    lines += [f"from typing import {', '.join(typing)}", ""] if typing else []
    lines += [f"from determined.common.api.messages import {', '.join(bases)}"]
    lines += _imports(model, messages)
    return "\n".join(lines) + "\n\n\n" + text


def _imports(model: Model, messages: list[Message]) -> list[str]:
    module = messages[0].module
    used = [f.target for m in messages for f in m.fields if f.target]
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

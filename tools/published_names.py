"""Lists the public names of a package from its source, with signatures and defaults.

    python3 -m tools.published_names SITE_PACKAGES > tests/data/published_names.txt

The source is parsed and never imported, so the frameworks that its modules import need not be
there. Each line is `module name`, with `(parameters)` behind a function or method. A parameter is
`name` or `name=default`. A default that is no literal is `name=...`.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "determined"
OUTSIDE = ("determined.cli", "determined.deploy")


@dataclass(frozen=True)
class Module:
    """The parsed source of one module."""

    name: str
    is_package: bool
    body: list[ast.stmt]

    @property
    def is_public(self) -> bool:
        return not any(part.startswith("_") for part in self.name.split("."))


def main() -> int:
    """Print the lines for the package below the folder that is named."""
    print("\n".join(listing(Path(sys.argv[1]))))
    return 0


def listing(folder: Path) -> list[str]:
    """The lines for the package below the folder.

    Of the commands and of `det deploy`, they have the modules alone; loggers are left out.
    """
    return [
        line
        for line in lines(load(folder))
        if not (line.startswith(OUTSIDE) and " " in line) and not line.endswith(" logger")
    ]


def load(folder: Path) -> dict[str, Module]:
    """Name -> module, for every source file of the package below the folder."""
    modules = {}
    for path in sorted((folder / PACKAGE).rglob("*.py")):
        parts = list(path.relative_to(folder).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escape sequences in texts of theirs
            body = ast.parse(path.read_text()).body
        modules[name] = Module(name, is_package, _flat(body))
    return modules


def lines(modules: dict[str, Module]) -> list[str]:
    """A line for every public module, and one for every public name in it."""
    listed: list[str] = []
    for module in sorted(modules.values(), key=lambda m: m.name):
        if module.is_public and not module.name.endswith("__main__"):
            listed.append(module.name)
            names = sorted(set(_names(modules, module)))
            listed += [f"{module.name} {name}" for name in names]
    return listed


def _flat(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements with those of `if` and `try` in their place; `TYPE_CHECKING` is left out."""
    flat: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            flat += _flat([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            flat += _flat(node.body)
        elif not isinstance(node, ast.If):
            flat.append(node)
    return flat


def _names(modules: dict[str, Module], module: Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and module.is_package:
            for alias in node.names:
                yield from _imported(modules, node.module or "", alias)
        else:
            yield from _defined(modules, module, node)


def _imported(modules: dict[str, Module], origin: str, alias: ast.alias) -> Iterator[str]:
    """What a package takes from its own modules; another package's names are not its own."""
    name = alias.asname or alias.name
    if name.startswith("_") or origin.split(".")[0] != PACKAGE:
        return
    definition = _find(modules, origin, alias.name)
    if definition:
        yield from _defined(modules, definition[0], definition[1], name)
    else:
        yield name


def _find(modules: dict[str, Module], origin: str, name: str) -> tuple[Module, ast.stmt] | None:
    module = modules.get(origin)
    for node in module.body if module else ():
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name and f"{origin}.{name}" not in modules:
                    return _find(modules, node.module or "", alias.name)
        elif name in _targets(node):
            return (module, node) if module else None
    return None


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        return [node.target.id]
    return []


def _defined(
    modules: dict[str, Module], module: Module, node: ast.stmt, name: str = ""
) -> Iterator[str]:
    for target in [name] if name else _targets(node):
        if target.startswith("_") and not target.startswith("_LEGACY"):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield target + _signature(node)
        else:
            yield target
        if isinstance(node, ast.ClassDef):
            yield from _members(modules, module, node, target)


def _members(
    modules: dict[str, Module], module: Module, node: ast.ClassDef, name: str
) -> Iterator[str]:
    body = _flat(node.body)
    arguments = {  # attributes of the same name say nothing more
        argument.arg
        for member in body
        if isinstance(member, ast.FunctionDef) and member.name == "__init__"
        for argument in member.args.kwonlyargs
    }
    for member in body:
        if isinstance(member, ast.FunctionDef):
            if member.name != "__init__" and member.name.startswith("_"):
                continue
            marks = {ast.unparse(mark).split(".")[-1] for mark in member.decorator_list}
            if marks & {"property", "cached_property", "setter", "deleter"}:
                yield f"{name}.{member.name}"
            else:
                yield f"{name}.{member.name}{_signature(member)}"
        else:
            targets = [t for t in _targets(member) if not t.startswith("_")]
            yield from (f"{name}.{t}" for t in targets if t not in arguments)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    words = []
    for index, argument in enumerate(positional):
        default = arguments.defaults[index - missing] if index >= missing else None
        words.append(_parameter(argument, default))
    if arguments.vararg:
        words.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        words.append("*")
    words += map(_parameter, arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg:
        words.append(f"**{arguments.kwarg.arg}")
    return f"({', '.join(words)})"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    if default is None:
        return argument.arg
    try:
        return f"{argument.arg}={ast.literal_eval(default)!r}"
    except ValueError:
        return f"{argument.arg}=..."


if __name__ == "__main__":
    sys.exit(main())

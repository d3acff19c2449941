"""Which files a suite reads, as far as its sources say: imports, names of modules and of paths."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.suites.changes import tracked_files
from tools.suites.table import ROOT, is_below

_WORD = re.compile(r"[\w./-]+")
_PACKAGES = {"src/": "", "tests/": "tests.", "bench/": "bench.", "tools/": "tools."}


class Sources:
    """The files of a checkout, and what each of them names."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self._root = root
        self._files = frozenset(files)
        self._directories = frozenset(
            str(parent) for file in self._files for parent in Path(file).parents
        ) - {"."}
        self._modules = {name: f for f in self._files if (name := _module_name(f))}
        self._programs = _programs(root)
        self._named: dict[str, frozenset[str]] = {}

    def closure(self, entries: Iterable[str]) -> set[str]:
        """All files that are reached from some files and directories, these included."""
        reached: set[str] = set()
        waiting = [file for entry in entries for file in self._below(entry)]
        while waiting:
            file = waiting.pop()
            if file not in reached:
                reached.add(file)
                waiting += self._named_by(file)
        return reached

    def _below(self, path: str) -> list[str]:
        if path in self._files:
            return [path]
        return [file for file in self._files if is_below(file, path)]

    def _named_by(self, file: str) -> frozenset[str]:
        if file not in self._named:
            self._named[file] = frozenset(self._references(file))
        return self._named[file]

    def _references(self, file: str) -> Iterator[str]:
        if file.endswith(".py"):
            yield from self._neighbours(file)
            names = _names(ast.parse((self._root / file).read_text()), _package(file))
            for module in names.modules:
                yield from self._module_files(module)
            for text in names.texts:
                yield from self._text_files(text)
        elif file.endswith(".sh"):
            for word in _WORD.findall((self._root / file).read_text()):
                yield from self._path_files(word)

    def _neighbours(self, file: str) -> Iterator[str]:
        """What is loaded with a file of tests, or with a module of a package."""
        for parent in Path(file).parents:
            for name in ("conftest.py", "__init__.py"):
                neighbour = str(parent / name)
                if neighbour in self._files:
                    yield neighbour

    def _module_files(self, module: str) -> Iterator[str]:
        if module in self._modules:
            yield self._modules[module]

    def _text_files(self, text: str) -> Iterator[str]:
        if text in self._programs:
            yield from self._module_files(self._programs[text])
        if "." in text or text in self._modules:
            yield from self._module_files(text)
            yield from self._module_files(f"{text}.__main__")
        if "/" in text:
            yield from self._path_files(text)

    def _path_files(self, text: str) -> Iterator[str]:
        path = text.strip("/").removeprefix("./")
        if path in self._files:
            yield path
        elif path in self._directories and "/" in path:
            yield from self._below(path)


def _module_name(file: str) -> str | None:
    """The name under which a file is imported; None where it is no module."""
    for directory, prefix in _PACKAGES.items():
        if file.startswith(directory) and file.endswith(".py"):
            name = prefix + file.removeprefix(directory).removesuffix(".py").replace("/", ".")
            return name.removesuffix(".__init__")
    return None


@cache
def _programs(root: Path) -> Mapping[str, str]:
    """The module of each command that an installation has."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return {name: at.partition(":")[0] for name, at in project["scripts"].items()}


class _Names(NamedTuple):
    modules: set[str]
    texts: set[str]


def _package(file: str) -> str:
    """The package to which the relative imports of a file refer."""
    module = _module_name(file) or ""
    return module if file.endswith("__init__.py") else module.rpartition(".")[0]


def _names(tree: ast.Module, package: str) -> _Names:
    """Modules that are imported, words of texts but docstrings, and paths joined by `/`.

    One pass: the sources of all suites have four million nodes.
    """
    modules: set[str] = set()
    texts: set[str] = set()
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                texts.update(_WORD.findall(text))
            case ast.Expr(value=ast.Constant() as constant):
                docstrings.add(id(constant))
            case ast.BinOp(op=ast.Div()):
                texts.add("/".join(_joined(node)))
            case ast.Import(names=aliases):
                for alias in aliases:
                    modules.update(_with_parents(alias.name))
            case ast.ImportFrom(names=aliases):
                base = _base(node, package)
                modules.update(_with_parents(base))
                modules.update(f"{base}.{alias.name}" for alias in aliases)
    return _Names(modules, texts)


def _base(node: ast.ImportFrom, package: str) -> str:
    """The absolute name of the module from which names are imported."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _with_parents(module: str) -> Iterator[str]:
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


def _joined(node: ast.expr) -> list[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*_joined(node.left), *_joined(node.right)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    return []


def sources_of(root: Path = ROOT) -> Sources:
    """The sources of this checkout."""
    return Sources(root, tracked_files(root))

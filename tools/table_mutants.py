"""Changes of tables at the top of modules: one entry left out at a time."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

TIMEOUT_S = 120
WORKERS = 2

_PROGRAM = """
import importlib.util, sys, pytest
name, text = sys.argv[1], sys.stdin.read()
sys.path[:0] = ["src", "."]
spec = importlib.util.find_spec(name)
module = importlib.util.module_from_spec(spec)
sys.modules[name] = module
exec(compile(text, spec.origin, "exec"), module.__dict__)
parent, _, leaf = name.rpartition(".")
setattr(sys.modules[parent], leaf, module)
options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
sys.exit(pytest.main([*options, *sys.argv[2:]]))
"""
"""Runs tests with the text from standard input in place of a module's own."""


class Change(NamedTuple):
    """A module's text without one entry of a table."""

    name: str
    text: str


def changes(module: str, text: str) -> Iterator[Change]:
    """The module without each entry of its sets, mappings and calls, at its top level only."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    content = text.encode()
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        for first, last in _entries(statement.value):
            begin = starts[first.lineno - 1] + first.col_offset
            assert last.end_lineno is not None
            assert last.end_col_offset is not None
            end = starts[last.end_lineno - 1] + last.end_col_offset
            entry = content[begin:end].decode()
            end += len(content[end:]) - len(content[end:].lstrip())
            if content[end : end + 1] == b",":
                end += 1
            changed = (content[:begin] + content[end:]).decode()
            yield Change(f"{module}:{first.lineno} without {' '.join(entry.split())}", changed)


def _entries(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """First and last node of each entry."""
    for node in ast.walk(value):
        if isinstance(node, ast.Set):
            yield from ((entry, entry) for entry in node.elts)
        elif isinstance(node, ast.Dict):
            yield from ((k, v) for k, v in zip(node.keys, node.values, strict=True) if k)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_any":
            yield from ((entry, entry) for entry in node.args)


def run_tables(
    scratch: Path, modules: Sequence[str], tests: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Each change, and whether the tests noticed it. The copy in `scratch` stays as it is."""
    found = [
        (module, change)
        for module in modules
        for change in changes(module, (scratch / module).read_text())
    ]
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(lambda one: (one[1].name, _is_noticed(scratch, *one, tests)), found)


def _is_noticed(scratch: Path, module: str, change: Change, tests: Sequence[str]) -> bool:
    """Run the tests with the module's changed text in place of its own."""
    name = module.removeprefix("src/").removesuffix(".py").replace("/", ".")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, name, *tests],
        cwd=scratch,
        input=change.text,
        text=True,
        capture_output=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    return done.returncode != 0

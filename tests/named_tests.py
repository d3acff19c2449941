"""Tests that tables name, as `MODULE::NAME`; the module may be a package of them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def exists(test: str) -> bool:
    """Whether there is such a test."""
    module, _, name = test.partition("::")
    path = ROOT / module
    sources = sorted(path.glob("*.py")) if path.is_dir() else [path]
    nodes = [node for each in sources for node in ast.walk(ast.parse(each.read_text()))]
    return name in [node.name for node in nodes if isinstance(node, _FUNCTIONS)]


def runs_on_a_real_cluster(module: str) -> bool:
    """Whether `tests/kubernetes.sh` runs tests of a module."""
    script = (ROOT / "tests/kubernetes.sh").read_text()
    is_listed = module in script or module.startswith("tests/backends/kubernetes/")
    return is_listed and "real" in module + (ROOT / module).read_text()

"""Whoever calls a service is asked for: no use case forgets the question of rights."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SERVICES = Path(__file__).parents[2] / "src" / "determined_master" / "services"
NEEDS_NO_RIGHT = {"Auth.logout": "it ends the session that it is called with"}


def use_cases() -> Iterator[tuple[str, ast.AsyncFunctionDef | ast.FunctionDef]]:
    """Public functions of the services that take the caller, by class and name."""
    for path in sorted(SERVICES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for home in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
            for node in home.body:
                if not isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef):
                    continue
                taken = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
                if "caller" in taken and not node.name.startswith("_"):
                    yield f"{getattr(home, 'name', path.stem)}.{node.name}", node


def asks_or_hands_on(function: ast.AsyncFunctionDef | ast.FunctionDef) -> bool:
    """Whether it calls `access.may`, or another use case with the same caller."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("may", "can"):
            return True
        if any(isinstance(value, ast.Name) and value.id == "caller" for value in node.args):
            return True
    return False


@pytest.mark.parametrize(("name", "function"), list(use_cases()))
def test_every_use_case_asks_what_its_caller_may(
    name: str, function: ast.AsyncFunctionDef
) -> None:
    assert asks_or_hands_on(function) or name in NEEDS_NO_RIGHT, (
        f"{name} takes a caller and never asks access.may"
    )

"""Random inputs are the same in each run, and no wait depends on the speed of the machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[2]
_SEEDED_BY_A_FIXTURE = re.compile("tests/.*/units/.*")
"""Tests in environments of frameworks: their conftest.py uses tests/seeded.py."""


def test_examples_are_the_same_in_each_run_however_slow_the_machine_is() -> None:
    found = settings()
    assert found.derandomize
    assert found.deadline is None, "a machine that is busy takes its time over one"
    assert HealthCheck.too_slow in found.suppress_health_check


def test_pages_are_waited_for_from_outside() -> None:
    """The text of Playwright's own wait is evaluated in the page, whose policy forbids that.

    The first look is an exception, so such a wait failed on slow machines alone.
    """
    files = [path for folder in ("tests/webui", "bench") for path in (ROOT / folder).rglob("*.py")]
    assert files
    assert [path.name for path in files if "wait_for_function(" in path.read_text()] == []


def _unseeded_draws(source: str) -> Iterator[str]:
    """Calls of Python's `random` and NumPy's `random` whose seed nobody chose.

    A function's own variable `random`, as of a Hypothesis strategy, is not the module.
    """
    tree = ast.parse(source)
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "random"
    } | {"np.random", "numpy.random"}
    yield from _draws(tree, frozenset(modules))


def _draws(node: ast.AST, modules: frozenset[str]) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        modules -= {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
        modules -= {
            name.id
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_generator = node.func.attr in ("Random", "default_rng", "SeedSequence", "RandomState")
        is_harmless = node.func.attr in ("SystemRandom", "seed")
        is_seeded = is_harmless or (is_generator and bool(node.args))
        if ast.unparse(node.func.value) in modules and not is_seeded:
            yield f"line {node.lineno}: {ast.unparse(node)}"
    for child in ast.iter_child_nodes(node):
        yield from _draws(child, modules)


def test_an_unseeded_draw_is_seen() -> None:
    source = """
import random
import numpy as np
def test_x(random): random.random()
def test_y():
    a = random.Random(3)
    b = random.choice([1])
    c = np.random.rand(2)
    d = np.random.default_rng(1)
    e = random.SystemRandom().random()
"""
    assert list(_unseeded_draws(source)) == [
        "line 7: random.choice([1])",
        "line 8: np.random.rand(2)",
    ]


def test_tests_draw_from_seeds_only() -> None:
    files = [path for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py")]
    draws = {
        str(path.relative_to(ROOT)): lines
        for path in files
        if not _SEEDED_BY_A_FIXTURE.fullmatch(str(path.relative_to(ROOT)))
        if (lines := list(_unseeded_draws(path.read_text())))
    }
    assert files
    assert draws == {}
    for units in (ROOT / "tests").rglob("units/conftest.py"):
        assert "import seeds" in units.read_text(), units

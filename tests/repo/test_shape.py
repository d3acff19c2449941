"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
HOUSES = (
    "determined",
    "determined_wire",
    "determined_master",
    "determined_agent",
    "determined_deploy",
)
GENERATED_MARK = "do not edit"
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "manager.py", "misc.py"}
MAX_MODULE_LINES = 400
MAX_MEDIAN_LINES = 150
MAX_MODULES = 20
"""Of a package, without the packages in it: a reader finds a part by its name."""
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 7
MAX_COMPLEXITY = 10
"""Of a function of the domain: its branches, loops, conditions and cases, plus one."""
BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.match_case,
)


def modules() -> Iterator[Path]:
    for house in HOUSES:
        for path in sorted((ROOT / "src" / house).rglob("*.py")):
            if GENERATED_MARK not in path.read_text()[:400]:
                yield path


class Function(NamedTuple):
    name: str
    lines: int
    parameters: list[str]


class Module(NamedTuple):
    has_docstring: bool
    functions: list[Function]


@cache
def read(path: Path) -> Module:
    """The facts of a module that several tests need; its tree would take too much memory."""
    tree = ast.parse(path.read_text())
    found: list[Function] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            of = node.args
            names = [a.arg for a in (*of.posonlyargs, *of.args, *of.kwonlyargs)]
            found.append(Function(node.name, node.end_lineno - node.lineno + 1, names))
    return Module(bool(ast.get_docstring(tree)), found)


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in modules()}
    assert {n: v for n, v in lengths.items() if v > MAX_MODULE_LINES} == {}


def test_the_median_module_is_at_most_150_lines() -> None:
    lengths = [len(p.read_text().splitlines()) for p in modules()]
    assert statistics.median(lengths) <= MAX_MEDIAN_LINES


def test_no_package_has_more_than_20_modules() -> None:
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in modules())
    assert {name: n for name, n in counts.items() if n > MAX_MODULES} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{f.name}"
        for path in modules()
        for f in read(path).functions
        if f.lines > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_no_function_of_master_and_agent_has_more_than_7_parameters() -> None:
    """The names that users import are as they are: `determined` is exempt."""
    wide = []
    for path in modules():
        if path.is_relative_to(ROOT / "src" / "determined"):
            continue
        for f in read(path).functions:
            count = len([n for n in f.parameters if n not in ("self", "cls")])
            if count > MAX_PARAMETERS:
                wide.append(f"{path.relative_to(ROOT)}:{f.name} has {count}")
    assert wide == []


def complexity(function: ast.AST) -> int:
    """The number of branches of a function, plus one; functions inside it count apart."""
    count, nodes = 1, list(ast.iter_child_nodes(function))
    while nodes:
        node = nodes.pop()
        if isinstance(node, BRANCHES):
            count += 1
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            nodes.extend(ast.iter_child_nodes(node))
    return count


def test_functions_of_the_domain_are_simple() -> None:
    domain = ROOT / "src/determined_master/domain"
    complex_ones = [
        f"{path.relative_to(domain)}:{node.name} has {complexity(node)}"
        for path in sorted(domain.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and complexity(node) > MAX_COMPLEXITY
    ]
    assert complex_ones == []


@pytest.mark.parametrize(
    ("code", "branches"),
    [
        ("return 1", 1),
        ("if a and b or c: return 1", 4),
        ("return [x if x else 0 for x in y if x]", 4),
        ("def inside():\n  if a: pass", 1),
    ],
)
def test_complexity_counts_branches_conditions_and_comprehensions(
    code: str, branches: int
) -> None:
    body = "\n".join(f"  {line}" for line in code.splitlines())
    assert complexity(ast.parse(f"def f():\n{body}").body[0]) == branches


def test_nothing_follows_what_a_program_runs() -> None:
    """What is defined below it is not there yet when it runs."""
    early = [
        str(path.relative_to(ROOT))
        for path in modules()
        if "__name__" in path.read_text()
        for statement in ast.parse(path.read_text()).body[:-1]
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)
    ]
    assert early == []


def test_modules_are_named_for_their_subject() -> None:
    assert [str(p) for p in modules() if p.name in FORBIDDEN_NAMES] == []


def test_package_files_only_document_and_export() -> None:
    allowed = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If)
    bad = []
    for path in modules():
        if path.name != "__init__.py":
            continue
        for node in ast.parse(path.read_text()).body:
            lazy = isinstance(node, ast.FunctionDef) and node.name in ("__getattr__", "__dir__")
            if not isinstance(node, allowed) and not lazy:
                bad.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert bad == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(p.relative_to(ROOT)) for p in modules() if not read(p).has_docstring]
    assert silent == []


@pytest.mark.parametrize("word", ["/work/", "/tmp/v/", "pypi.org", "registry.npmjs"])
def test_the_repository_names_no_place_of_its_makers(word: str) -> None:
    command = ["git", "grep", "-lF", word, "--", ":!tests/repo/test_shape.py"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout == ""

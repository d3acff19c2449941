"""Statements of SQL lie in the store and the engine alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

MASTER = Path(__file__).parents[2] / "src" / "determined_master"
WITH_STATEMENTS = ("store", "engine")
CALLS = {
    "add_listener", "copy_records_to_table", "cursor", "execute", "executemany", "fetch",
    "fetchrow", "fetchval", "prepare",
}  # fmt: skip
"""Methods of a connection that are given a statement, or the name of a channel."""
DATABASES = {"conn", "connection", "db", "_conn", "_connection", "_db"}
_NAMES_A_DATABASE = re.compile(rf"\b(?:{'|'.join(sorted(DATABASES))})\b")


def statements(source: str) -> list[int]:
    """Lines that send a statement to a database."""
    if not _NAMES_A_DATABASE.search(source):  # most modules do not, and to parse them takes longer
        return []
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CALLS
        and _last_name(node.func.value) in DATABASES
    ]


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_only_store_and_engine_send_statements() -> None:
    found = {
        str(path.relative_to(MASTER)): lines
        for path in sorted(MASTER.rglob("*.py"))
        if path.relative_to(MASTER).parts[0] not in WITH_STATEMENTS
        and (lines := statements(path.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("await conn.fetch('SELECT 1')", [1]),
        ("\nawait self._db.execute(query, 1)", [2]),
        ("await self.db.fetchval(query)", [1]),
        ("reader.fetch(1)", []),
        ("await rows.find_task(conn, 'a')", []),
    ],
)
def test_the_check_finds_statements(source: str, lines: list[int]) -> None:
    wrapped = f"async def f():\n    {source.strip()}\n"
    assert statements(wrapped) == ([2] if lines else [])

"""Arrays are sent and read without a question about their type."""

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asyncpg.connection import LoggedQuery

import determined_master
from determined_master.store.array_types import _SCALARS
from determined_master.store.db import Address, Database, connect

VALUES: dict[str, list[Any]] = {
    "bool": [True, None],
    "bytea": [b"\x00", b""],
    "int8": [1 << 40, -1],
    "int4": [7, None],
    "float8": [0.5],
    "date": [date(2026, 11, 28)],
    "timestamptz": [datetime(2026, 11, 28, 7, 30, tzinfo=UTC)],
    "uuid": [UUID(int=5)],
    "jsonb": [{"a": [1]}, None],
    "text": ["ü", ""],
}
KNOWN_TO_THE_LIBRARY = {"text"}
OTHER_NAMES = {"bigint": "int8", "int": "int4"}


@pytest.mark.parametrize("name", VALUES)
async def test_the_first_array_of_a_connection_is_one_statement(
    database: Address, name: str
) -> None:
    conn = await connect(database)
    try:
        statements: list[str] = []

        def note(record: LoggedQuery) -> None:
            statements.append(record.query)

        conn.add_query_logger(note)
        query = f"SELECT $1::{name}[]"
        assert await conn.fetchval(query, VALUES[name]) == VALUES[name]
        conn.remove_query_logger(note)
        await conn.fetchval("SELECT 1")  # loggers are called later
        assert statements == [query]
    finally:
        await conn.close()


async def test_the_numbers_of_types_are_those_of_the_server(pool: Database) -> None:
    query = "SELECT typname, oid::int, typarray::int FROM pg_type WHERE typname = ANY ($1)"
    rows = await pool.fetch(query, list(_SCALARS))
    assert {name: (oid, array) for name, oid, array in rows} == _SCALARS


async def test_arrays_of_other_types_work_too(pool: Database) -> None:
    assert await pool.fetchval("SELECT $1::numeric[]", [1]) == [1]


def test_every_array_in_a_statement_of_the_master_is_known() -> None:
    root = Path(determined_master.__file__).parent
    sources = [p.read_text() for p in root.rglob("*") if p.suffix in (".py", ".sql")]
    cast = {name for text in sources for name in re.findall(r"::\s*(\w+)\[\]", text)}
    columns = {name for text in sources for name in re.findall(r"\b(\w+)\[\] (?:NOT|DEF)", text)}
    used = {OTHER_NAMES.get(name, name) for name in cast | columns}
    assert {"int8", "jsonb"} < used
    assert used <= _SCALARS.keys() | KNOWN_TO_THE_LIBRARY


def test_every_known_array_has_a_value_here() -> None:
    assert _SCALARS.keys() | KNOWN_TO_THE_LIBRARY == VALUES.keys()

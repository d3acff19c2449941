import math
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from determined_master.store.db import (
    Address,
    Database,
    _check_not_pooled,
    check_server,
    connect,
    open_database,
)
from determined_master.store.errors import DatabaseError, PooledConnection, Unreachable


@pytest.mark.parametrize("type_name", ["json", "jsonb"])
async def test_json_columns_carry_python_values(pool: Database, type_name: str) -> None:
    value = {"a": [1, 2.5, None, "ü\n"], "b": {"c": True}}
    assert await pool.fetchval(f"SELECT $1::{type_name}", value) == value


async def test_json_that_is_encoded_already_is_passed_on(pool: Database) -> None:
    assert await pool.fetchval("SELECT $1::jsonb", msgspec.Raw(b'{"a": 1}')) == {"a": 1}


async def test_values_that_json_cannot_hold_become_null(pool: Database) -> None:
    assert await pool.fetchval("SELECT $1::jsonb", [math.nan]) == [None]


async def test_a_server_reached_directly_is_accepted(database: Address) -> None:
    await check_server(database)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"database": "nowhere"}, 'database "nowhere" does not exist'),
        ({"host": "127.0.0.1", "port": 1}, "127.0.0.1:1/.*: Connection refused"),
    ],
)
async def test_a_server_that_does_not_let_the_master_in_is_named_with_the_settings(
    database: Address, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(Unreachable, match=rf"{said}; see that .*db\.password") as caught:
        await check_server(replace(database, **change))
    assert "Errno" not in str(caught.value)


async def test_connections_that_share_a_session_are_refused_with_the_reason(
    database: Address,
) -> None:
    """A pooler in transaction mode gives both clients the same server process."""
    conn = await connect(database)
    try:
        with pytest.raises(PooledConnection, match="pooler in transaction mode"):
            await _check_not_pooled(database, conn, conn)
    finally:
        await conn.close()


async def test_a_root_certificate_that_is_not_there_is_named(database: Address) -> None:
    address = replace(database, ssl_mode="verify-full", ssl_root_cert="/nowhere/root.crt")
    with pytest.raises(DatabaseError, match=r"/nowhere/root.crt.*db.ssl_root_cert"):
        await open_database(address)


def test_the_password_is_not_in_an_addresss_text() -> None:
    address = Address("h", 1, "u", "secret", "d")
    assert "secret" not in str(address)
    assert "secret" not in repr(address)

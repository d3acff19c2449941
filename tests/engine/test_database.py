"""PostgreSQL does what the engine relies on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contracts.database_contract import COUNT, DatabaseContract
from tests.engine.conftest import QUICK

from determined_master.engine import Engine
from determined_master.engine.connection import engine_connect
from determined_master.store.db import Address, Database

pytestmark = pytest.mark.slow


class Forgetful:
    """A connection that is lost when the server has done a commit, once the store says so."""

    def __init__(self, conn: Any, store: Postgres) -> None:
        self._conn = conn
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conn, name)

    async def execute(self, query: str, *args: Any) -> Any:
        done = await self._conn.execute(query, *args)
        if query == "COMMIT" and self._store.loses_next:
            self._store.loses_next = False
            self._conn.terminate()
            raise ConnectionResetError("lost on purpose")
        return done


class Postgres:
    """The database of one test."""

    def __init__(self, address: Address, pool: Database) -> None:
        self.loses_next = False
        self._address = address
        self._pool = pool
        self._open = engine_connect(address)
        self._opened: list[Any] = []

    async def connect(self) -> Any:
        self._opened.append(await self._open())
        return Forgetful(self._opened[-1], self)

    def engine(self) -> Engine:
        return Engine(self._address, self._pool, [COUNT], settings=QUICK, connect=self.connect)

    def lose_next_answer(self) -> None:
        self.loses_next = True

    def close(self) -> None:
        for conn in self._opened:
            conn.terminate()


@pytest.fixture
async def store(database: Address, pool: Database) -> AsyncIterator[Postgres]:
    made = Postgres(database, pool)
    yield made
    made.close()


class TestPostgres(DatabaseContract):
    """The real one."""

"""The database's rows in memory, with transactions as PostgreSQL has them at READ COMMITTED.

A transaction sees what was committed before each of its statements, and its own writes. Who
changes a row holds it until the transaction ends; who wants it meanwhile waits. Two that wait for
each other: the later one is refused, as PostgreSQL does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg

Row = dict[str, Any]
RowKey = tuple[str, Any]
"""A table's name and a row's key."""


class Tables:
    """What is committed, who holds which row, and who is told of each commit."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[Any, Row]] = {}
        self.sequences: dict[str, int] = {}
        self.holders: dict[RowKey, Transaction] = {}
        self.released = asyncio.Event()
        self.on_commit: list[Callable[[dict[RowKey, tuple[Row | None, Row | None]]], None]] = []
        """Told which rows have changed, each before and after."""

    def table(self, name: str) -> dict[Any, Row]:
        """The committed rows of a table by key; not to be changed."""
        return self.rows.setdefault(name, {})

    def next_number(self, name: str) -> int:
        """The next number of a sequence; never given twice, also not after a rollback."""
        self.sequences[name] = self.sequences.get(name, 0) + 1
        return self.sequences[name]


class Transaction:
    """Writes that become visible together."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._written: dict[RowKey, Row | None] = {}
        self._held: set[RowKey] = set()
        self._waits_for: Transaction | None = None

    def get(self, table: str, key: Any) -> Row | None:
        """A row as this transaction sees it."""
        known = self._written.get((table, key), _UNKNOWN)
        return self._tables.table(table).get(key) if known is _UNKNOWN else known

    def scan(self, table: str) -> Iterator[tuple[Any, Row]]:
        """All rows of a table in the order in which they were made."""
        own = {key: row for (name, key), row in self._written.items() if name == table}
        for key, row in list(self._tables.table(table).items()):
            seen = own.pop(key, row)
            if seen is not None:
                yield key, seen
        for key, made in own.items():
            if made is not None:
                yield key, made

    async def lock(self, table: str, key: Any) -> None:
        """Hold a row until the end, once whoever holds it has let it go.

        Raises:
            asyncpg.DeadlockDetectedError: that one waits for this transaction.
        """
        at = (table, key)
        while (holder := self._tables.holders.get(at)) is not None and holder is not self:
            self._waits_for = holder
            if holder.waits_for(self):
                self._waits_for = None
                raise asyncpg.DeadlockDetectedError(f"two transactions want {at}")
            await self._tables.released.wait()
            self._waits_for = None
        self._tables.holders[at] = self
        self._held.add(at)

    def waits_for(self, other: Transaction) -> bool:
        """Whether it cannot continue before the other has ended."""
        at = self._waits_for
        while at is not None:
            if at is other:
                return True
            at = at._waits_for
        return False

    async def insert(self, table: str, key: Any, row: Row) -> None:
        """Add a row. Raises asyncpg.UniqueViolationError when there is one of that key."""
        await self.lock(table, key)
        if self.get(table, key) is not None:
            raise asyncpg.UniqueViolationError(f"{table} has {key} already")
        self._written[table, key] = row

    async def update(self, table: str, key: Any, **changes: Any) -> Row | None:
        """Change columns of a row; None when there is none."""
        await self.lock(table, key)
        row = self.get(table, key)
        if row is None:
            return None
        changed = {**row, **changes}
        self._written[table, key] = changed
        return changed

    async def delete(self, table: str, key: Any) -> Row | None:
        """Delete a row; what it was."""
        await self.lock(table, key)
        row = self.get(table, key)
        if row is not None:
            self._written[table, key] = None
        return row

    def commit(self) -> None:
        """Make all of it visible."""
        tables = self._tables
        changed: dict[RowKey, tuple[Row | None, Row | None]] = {}
        for at, row in self._written.items():
            name, key = at
            table = tables.table(name)
            changed[at] = table.get(key), row
            if row is None:
                table.pop(key, None)
            else:
                table[key] = row
        self._end()
        if changed:
            for tell in tables.on_commit:
                tell(changed)

    def roll_back(self) -> None:
        """Forget all of it."""
        self._end()

    def _end(self) -> None:
        self._written = {}
        if self._held:
            for at in self._held:
                if self._tables.holders.get(at) is self:
                    del self._tables.holders[at]
            self._held.clear()
            released, self._tables.released = self._tables.released, asyncio.Event()
            released.set()


_UNKNOWN: Row = {"": "stands for a row that this transaction has not written"}

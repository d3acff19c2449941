"""The simulated database server and its clients, with the parts of asyncpg that the master uses.

A statement is known by the function of the master that sends it (`engine_statements`,
`store_statements`): each of those sends one, or few that differ by their first words.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import asyncpg
from tests.chaos.loop import PROCESS, Process
from tests.chaos.tables import Row, Tables, Transaction

_LATENCY_S = 0.002
_PACKAGE = "determined_master."


class Record(tuple):  # type: ignore[type-arg]
    """A row as asyncpg gives it: by name and by number."""

    _row: Row

    def __new__(cls, row: Row) -> Record:
        made = super().__new__(cls, row.values())
        made._row = row
        return made

    def __getitem__(self, key: Any) -> Any:
        return self._row[key] if isinstance(key, str) else super().__getitem__(key)

    def keys(self) -> Iterator[str]:
        return iter(self._row)

    def items(self) -> Iterator[tuple[str, Any]]:
        return iter(self._row.items())


@dataclass(slots=True)
class Statement:
    """One statement on its way through the server."""

    server: Server
    conn: SimConnection
    tx: Transaction
    query: str
    args: tuple[Any, ...]


Handler = Callable[[Statement], Awaitable[Any]]
"""Carries a statement out; gives rows, or nothing, or what the server says it has done."""
HANDLERS: dict[str, Handler] = {}
"""By the sender's module and function."""


def statement(*senders: str) -> Callable[[Handler], Handler]:
    """Register what carries out the statements of these functions of the master."""

    def register(handler: Handler) -> Handler:
        for sender in senders:
            assert sender not in HANDLERS, sender
            HANDLERS[sender] = handler
        return handler

    return register


class Server:
    """PostgreSQL, as far as the master can tell."""

    def __init__(self, random: Random) -> None:
        self.tables = Tables()
        self.tables.table("leader")["leader"] = {"epoch": 0}
        self.is_up = True
        self.connections: dict[SimConnection, None] = {}
        self.leader: SimConnection | None = None
        self.epoch_sharers: dict[Transaction, None] = {}
        self.epoch_owner: Transaction | None = None
        self.statements = 0
        self.lost_answers = 0
        """So many of the next commits are done and not answered."""
        self.on_statement: Callable[[Process, str, bool], None] = lambda *_: None
        """Told of each, before and after it is carried out; may kill the sender."""
        self.on_defect: Callable[[str], None] = lambda _: None
        """Told of what no real database would have seen."""
        self.senders: set[str] = set()
        """All that have sent anything."""
        self._random = random

    def latency_s(self) -> float:
        """How long a statement takes."""
        return self._random.random() * _LATENCY_S

    def connect(self) -> SimConnection:
        """A new connection of the process that asks. Raises OSError while it is down."""
        process = PROCESS.get()
        assert process is not None
        if not self.is_up:
            raise ConnectionRefusedError("the database is down")
        made = SimConnection(self, process)
        self.connections[made] = None
        process.at_death.append(made.cut)
        return made

    def forget_epoch_of(self, tx: Transaction | None) -> None:
        """A transaction is over, which may have shared the epoch or wanted to raise it."""
        if tx is not None:
            self.epoch_sharers.pop(tx, None)
        if self.epoch_owner is tx:
            self.epoch_owner = None

    def cut_all(self, process: Process | None = None) -> None:
        """Lose the connections of one process, or of all."""
        for connection in list(self.connections):
            if process is None or connection.process is process:
                connection.cut()

    def stop(self) -> None:
        """Go down: what was not committed is gone."""
        self.is_up = False
        self.cut_all()

    def start(self) -> None:
        """Be there again."""
        self.is_up = True

    def notify(self, channel: str) -> None:
        """Tell those who listen."""
        loop = asyncio.get_running_loop()
        for connection in list(self.connections):
            for heard, listener in list(connection.listeners):
                if heard == channel:
                    loop.call_soon(connection.process.call, listener, connection, 0, channel, "")


class SimConnection:
    """One connection, with at most one open transaction."""

    def __init__(self, server: Server, process: Process) -> None:
        self.process = process
        self.listeners: list[tuple[str, Any]] = []
        self._server = server
        self._tx: Transaction | None = None
        self._is_cut = False
        self._terminated: list[Any] = []

    def is_closed(self) -> bool:
        """Whether it is gone."""
        return self._is_cut

    def terminate(self) -> None:
        """Close it from this side."""
        self.cut()

    async def close(self) -> None:
        """The same."""
        self.cut()

    def cut(self) -> None:
        """It is gone: the server rolls back and lets all locks go."""
        if self._is_cut:
            return
        self._is_cut = True
        self._server.connections.pop(self, None)
        if self.cut in self.process.at_death and not self.process.is_dead:
            self.process.at_death.remove(self.cut)
        if self._tx is not None:
            self._end(self._tx.roll_back)
        if self._server.leader is self:
            self._server.leader = None
        if not self.process.is_dead:
            for listener in self._terminated:
                self.process.call(listener, self)

    def add_termination_listener(self, listener: Any) -> None:
        """Told when it is gone."""
        self._terminated.append(listener)

    async def add_listener(self, channel: str, listener: Any) -> None:
        """Listen on a channel."""
        self.listeners.append((channel, listener))

    @asynccontextmanager
    async def transaction(self) -> Any:
        """A transaction as a block."""
        await self.run("BEGIN", (), "BEGIN")
        try:
            yield self
        except BaseException:
            if not self._is_cut and self._tx is not None:
                self._end(self._tx.roll_back)
            raise
        await self.run("COMMIT", (), "COMMIT")

    def execute(self, query: str, *args: Any, timeout: float | None = None) -> Awaitable[Any]:
        """Run a statement."""
        return self.run(query, args, _sender())

    def fetch(self, query: str, *args: Any, timeout: float | None = None) -> Awaitable[Any]:
        """All rows."""
        return self.run(query, args, _sender())

    async def _first(self, rows: Awaitable[Any]) -> Any:
        found = await rows
        return found[0] if found else None

    async def _value(self, rows: Awaitable[Any]) -> Any:
        found = await rows
        return next(iter(tuple(found[0]))) if found else None

    def fetchrow(self, query: str, *args: Any, timeout: float | None = None) -> Awaitable[Any]:
        """The first row, or None."""
        return self._first(self.run(query, args, _sender()))

    def fetchval(self, query: str, *args: Any, timeout: float | None = None) -> Awaitable[Any]:
        """The first value of the first row, or None."""
        return self._value(self.run(query, args, _sender()))

    def copy_records_to_table(self, table: str, *, records: Any, columns: Any) -> Awaitable[Any]:
        """Add many rows."""
        return self.run("COPY", (table, records, columns), "COPY")

    async def run(self, query: str, args: tuple[Any, ...], sender: str) -> Any:
        """Send a statement and wait for its rows, or for the words of its handler."""
        server = self._server
        self._check()
        server.statements += 1
        server.senders.add(sender)
        server.on_statement(self.process, sender, False)
        await self._pause(server.latency_s())
        self._check()
        rows = await self._carry_out(query, args, sender)
        server.on_statement(self.process, sender, True)
        if self.process.is_dead:
            await asyncio.Event().wait()
        if query == "COMMIT" and server.lost_answers:
            server.lost_answers -= 1
            self.cut()
        self._check()
        return rows

    async def _pause(self, seconds: float) -> None:
        if self.process.is_dead:  # killed by `on_statement`
            await asyncio.Event().wait()
        await asyncio.sleep(seconds)

    async def _carry_out(self, query: str, args: tuple[Any, ...], sender: str) -> Any:
        if query.startswith("BEGIN"):
            assert self._tx is None, "a transaction is open already"
            self._tx = Transaction(self._server.tables)
            return []
        if query in ("COMMIT", "ROLLBACK"):
            assert self._tx is not None, "no transaction is open"
            self._end(self._tx.commit if query == "COMMIT" else self._tx.roll_back)
            return []
        handler = HANDLERS.get(sender)
        if handler is None:
            unknown = f"{sender} sends what no module of tests/chaos answers: add it: {query}"
            self._server.on_defect(unknown)
            raise NotImplementedError(unknown)
        tx = self._tx or Transaction(self._server.tables)
        try:
            rows = await handler(Statement(self._server, self, tx, query, args))
            self._check()  # it may have waited for a lock, and have it now
        except BaseException as error:
            if self._tx is None:
                tx.roll_back()
                self._server.forget_epoch_of(tx)
            if not isinstance(error, asyncpg.PostgresError) and isinstance(error, Exception):
                self._server.on_defect(f"{sender} broke the database: {error!r}")
            raise
        if self._tx is None:
            tx.commit()
        return rows if isinstance(rows, str) else [Record(row) for row in rows or ()]

    def _end(self, how: Callable[[], None]) -> None:
        tx, self._tx = self._tx, None
        how()
        self._server.forget_epoch_of(tx)

    def _check(self) -> None:
        if self._is_cut:
            raise asyncpg.ConnectionDoesNotExistError("the connection was closed")


class SimPool:
    """A pool of one process."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._idle: list[SimConnection] = []

    @asynccontextmanager
    async def acquire(self) -> Any:
        """A connection for a while."""
        while self._idle and self._idle[-1].is_closed():
            self._idle.pop()
        connection = self._idle.pop() if self._idle else self._server.connect()
        try:
            yield connection
        finally:
            if connection.is_closed():
                pass
            elif connection._tx is not None:
                connection.cut()
            else:
                self._idle.append(connection)

    async def _with(self, query: str, args: tuple[Any, ...], sender: str) -> Any:
        async with self.acquire() as connection:
            return await connection.run(query, args, sender)

    def execute(self, query: str, *args: Any) -> Awaitable[Any]:
        """Run a statement."""
        return self._with(query, args, _sender())

    def fetch(self, query: str, *args: Any) -> Awaitable[Any]:
        """All rows."""
        return self._with(query, args, _sender())

    async def _first(self, rows: Awaitable[Any]) -> Any:
        found = await rows
        return found[0] if found else None

    def fetchrow(self, query: str, *args: Any) -> Awaitable[Any]:
        """The first row, or None."""
        return self._first(self._with(query, args, _sender()))

    async def _value(self, rows: Awaitable[Any]) -> Any:
        found = await rows
        return next(iter(tuple(found[0]))) if found else None

    def fetchval(self, query: str, *args: Any) -> Awaitable[Any]:
        """The first value of the first row, or None."""
        return self._value(self._with(query, args, _sender()))


def _sender() -> str:
    """Module and function that called the method that calls this."""
    frame = sys._getframe(2)
    module = str(frame.f_globals["__name__"]).removeprefix(_PACKAGE)
    return f"{module}.{frame.f_code.co_qualname.replace('.<locals>', '')}"

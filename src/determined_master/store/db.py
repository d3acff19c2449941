"""Connections to PostgreSQL, embedded or the user's."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import asyncpg
import msgspec
from asyncpg.pool import PoolConnectionProxy

from determined_master import entropy
from determined_master.store.array_types import register_array_types
from determined_master.store.connections import Connection, ConnectionPool
from determined_master.store.errors import DatabaseError, PooledConnection, Unreachable

Conn: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"
Database: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
SslMode = Literal["disable", "require", "verify-ca", "verify-full"]

OLDEST_SERVER = 14
_PROBE_DEADLINE_S = 5.0
STATEMENT_TIMEOUT_S = 300.0
"""For a statement of a pooled connection; the engine and migrations have their own connections."""


@dataclass(frozen=True)
class Address:
    """Where PostgreSQL is and how to get in; `host` is a directory for a Unix socket."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    ssl_mode: SslMode = "disable"
    ssl_root_cert: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.database}"

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `asyncpg.connect`."""
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": self.database,
            "ssl": _ssl_context(self.ssl_mode, self.ssl_root_cert),
        }


def embedded_address(options: Mapping[str, str | int]) -> Address:
    """The address of an embedded server, from its `connection_options`."""
    return Address(
        host=str(options["host"]),
        port=int(options["port"]),
        user=str(options["user"]),
        password=str(options["password"]),
        database=str(options["database"]),
    )


async def open_database(
    address: Address,
    *,
    min_size: int = 2,
    max_size: int = 20,
    statement_timeout_s: float = STATEMENT_TIMEOUT_S,
) -> Database:
    """A pool whose connections read and write `json` and `jsonb` as Python values.

    A value that is encoded already is passed as `msgspec.Raw`.

    Statements are planned once a connection, not at each use: on a partitioned table planning
    took five times as long as running. So a value that a plan should know (how many rows are
    wanted) stands in the text of its statement. A plan made while a table is small or unanalysed
    must not outlive that, so ways to read that do not follow an index are made unattractive.

    Raises:
        OSError, asyncpg.PostgresError: the server is not there or does not let us in.
    """
    # The deadline is for connecting; statements that may take long have their own.
    return await ConnectionPool(
        **address.options(),
        connection_class=Connection,
        record_class=asyncpg.Record,
        loop=None,
        min_size=min_size,
        max_size=max_size,
        max_queries=50_000,
        init=set_codecs,
        reset=_keep_session,
        timeout=20,
        max_inactive_connection_lifetime=300,
        server_settings={
            "application_name": "determined-master",
            "plan_cache_mode": "force_generic_plan",
            "enable_seqscan": "off",
            "enable_bitmapscan": "off",
            "statement_timeout": str(round(statement_timeout_s * 1000)),
        },
    )


async def connect(address: Address, *, timeout_s: float = 20) -> asyncpg.Connection[Any]:
    """One connection outside the pool, for what must live as long as its connection."""
    conn: asyncpg.Connection[Any] = await asyncpg.connect(
        **address.options(),
        connection_class=Connection,
        timeout=timeout_s,
        server_settings={"application_name": "determined-master"},
    )
    try:
        await set_codecs(conn)
    except BaseException:  # also when cancelled: nothing else could close it
        conn.terminate()
        raise
    return conn


async def set_codecs(conn: Conn) -> None:
    """Let `json` and `jsonb` columns carry Python values, and register the types of arrays."""
    await conn.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        format="binary",
        encoder=lambda value: b"\x01" + msgspec.json.encode(value),
        decoder=lambda data: msgspec.json.decode(data[1:]),
    )
    await conn.set_type_codec(
        "json",
        schema="pg_catalog",
        format="binary",
        encoder=msgspec.json.encode,
        decoder=msgspec.json.decode,
    )
    register_array_types(conn)


async def _keep_session(conn: Conn) -> None:
    """Leave a returned connection unchanged.

    An open transaction is rolled back before this is called. No code changes settings of a pooled
    connection or listens on it, and resetting them anyway costs a round trip at each use.
    """


async def check_server(address: Address) -> None:
    """Refuse a server that is too old, and a pooler that shares connections.

    A setting made on one connection must be there when that connection asks for it later,
    while another has a transaction open, and must not be seen by that other.

    Raises:
        Unreachable: nothing answers there, or it does not let us in.
        DatabaseError: an old server. PooledConnection: a pooler in transaction mode.
    """
    try:
        first = await connect(address)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Unreachable(str(address), address.user, error) from error
    try:
        major = first.get_server_version().major
        if major < OLDEST_SERVER:
            raise DatabaseError(
                f"the database at {address} is PostgreSQL {major}; the master needs "
                f"{OLDEST_SERVER} or newer: upgrade it, or set db to another server"
            )
        second = await connect(address)
        try:
            await _check_not_pooled(address, first, second)
        finally:
            second.terminate()
    finally:
        first.terminate()


async def _check_not_pooled(
    address: Address, first: asyncpg.Connection[Any], second: asyncpg.Connection[Any]
) -> None:
    mark = entropy.token()
    ask = "SELECT current_setting('determined.probe', true)"
    await first.execute("SELECT set_config('determined.probe', $1, false)", mark)
    async with second.transaction():
        if await second.fetchval(ask) == mark:
            raise PooledConnection(str(address), "two connections share one session")
        try:
            value = await first.fetchval(ask, timeout=_PROBE_DEADLINE_S)
        except TimeoutError as error:
            raise PooledConnection(
                str(address), "one connection waits for the transaction of another"
            ) from error
        if value != mark:
            raise PooledConnection(str(address), "a connection lost its settings")


def _ssl_context(mode: SslMode, root_cert: str | None) -> ssl.SSLContext | bool:
    """The meaning of the mode in libpq; its default certificate is in the user's home."""
    if mode == "disable":
        return False
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = mode == "verify-full"
    if mode == "require" and root_cert is None:
        context.verify_mode = ssl.CERT_NONE
        return context
    cafile = root_cert or str(Path.home() / ".postgresql" / "root.crt")
    try:
        context.load_verify_locations(cafile)
    except OSError as error:
        raise DatabaseError(
            f"db.ssl_mode is {mode} and the root certificate {cafile} cannot be read "
            f"({error.strerror}); set db.ssl_root_cert"
        ) from error
    return context


async def ping(conn: Conn) -> None:
    """Ask the server for a sign of life."""
    await conn.fetchval("SELECT 1")

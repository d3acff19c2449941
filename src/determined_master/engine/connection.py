"""The engine's own connections, and the check whether one was lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from determined_master.store.db import Address, connect

Connect = Callable[[], Awaitable[Any]]

_PLANNER = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_bitmapscan")
_LOST = (
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)


def engine_connect(address: Address) -> Connect:
    """Opens connections for appliers.

    Their statements join short arrays with large tables by key. A plan made while the tables
    are small or unanalysed must not be kept, so other join methods are disabled or made expensive.
    """

    async def open_one() -> Any:
        conn = await connect(address)
        settings = "; ".join(f"SET {name} = off" for name in _PLANNER)
        more = "SET plan_cache_mode = force_generic_plan; SET jit = off"
        try:
            await conn.execute(f"{settings}; {more}")
        except BaseException:  # also when cancelled: nothing else could close it
            conn.terminate()
            raise
        return conn

    return open_one


def is_connection_loss(conn: Any, error: BaseException) -> bool:
    """Whether the connection was lost, so that a transaction's outcome is unknown."""
    return isinstance(error, _LOST) or bool(conn.is_closed())


async def abandon(conn: Any, error: BaseException) -> None:
    """Reset the connection for the next transaction, or close it."""
    if not isinstance(error, Exception) or is_connection_loss(conn, error):
        conn.terminate()
        return
    try:
        await conn.execute("ROLLBACK")
    except Exception:
        conn.terminate()

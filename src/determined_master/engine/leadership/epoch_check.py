"""The epoch for rows that a leader writes outside of the engine's transactions."""

from __future__ import annotations

from determined_master.engine.applying.statements import EPOCH_LOCK
from determined_master.engine.errors import NotLeader
from determined_master.store.db import Conn


async def hold_lead(conn: Conn, epoch: int) -> None:
    """Check that the current leader owns a transaction; block the next leader until it ends.

    Call it first in a transaction: the rest is committed before another master leads, or never.

    Raises:
        NotLeader: another leader has begun, or is about to.
    """
    has_lock = await conn.fetchval("SELECT pg_try_advisory_xact_lock_shared($1)", EPOCH_LOCK)
    # A separate statement, since its snapshot must be taken after the lock.
    current = await conn.fetchval("SELECT epoch FROM leader")
    if not has_lock or current != epoch:
        raise NotLeader(f"the leadership of epoch {epoch} has ended")

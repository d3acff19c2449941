"""The epoch for rows that a leader writes outside of the engine's transactions."""

from __future__ import annotations

from determined_master.engine.applying.statements import EPOCH_LOCK
from determined_master.engine.errors import NotLeader
from determined_master.store.db import Conn


async def hold_lead(conn: Conn, epoch: int) -> None:
    """See that a transaction is of the present lead, and hold off the next one until it ends.

    First in its transaction: what follows is committed before another master leads, or never.

    Raises:
        NotLeader: another lead has begun, or is about to.
    """
    has_lock = await conn.fetchval("SELECT pg_try_advisory_xact_lock_shared($1)", EPOCH_LOCK)
    # A statement of its own: its snapshot is taken after the lock.
    current = await conn.fetchval("SELECT epoch FROM leader")
    if not has_lock or current != epoch:
        raise NotLeader(f"the leadership of epoch {epoch} has ended")

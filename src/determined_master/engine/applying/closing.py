"""Closes effects that cause nothing else, in a transaction of one statement."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.engine.applying import statements
from determined_master.engine.applying.batch import columns
from determined_master.engine.connection import abandon
from determined_master.engine.errors import StaleEpoch
from determined_master.engine.ids import EffectId
from determined_master.store.db import Conn


async def close_all(conn: Conn, epoch: int, effects: Sequence[EffectId]) -> set[EffectId]:
    """Close effects that were carried out; a closed effect stays closed.

    This is correct under any leader: only effects that a later leader has claimed must stay, and
    do.

    Returns:
        Their ids.

    Raises:
        StaleEpoch: another process leads. Errors of the connection: the outcome is unknown, and
        closing the same effects again settles it.
    """
    closed = set(effects)
    names = [(effect.kind, effect.aggregate, effect.version, effect.n) for effect in closed]
    try:
        current = await conn.fetchval(statements.CLOSE_MANY, *columns(names, 4), epoch)
    except BaseException as error:
        await abandon(conn, error)
        raise
    if current != epoch:
        raise StaleEpoch(f"epoch {current} has begun, this is {epoch}")
    return closed

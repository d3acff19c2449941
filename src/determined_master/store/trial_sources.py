"""Rows of what trials say that they work from: a checkpoint, perhaps of a model's version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from determined_master.store.pool import Conn


class TrialSource(msgspec.Struct, frozen=True, kw_only=True):
    """One trial's use of one checkpoint."""

    trial_id: int
    checkpoint_uuid: str
    type: str
    """INFERENCE or FINE_TUNING."""
    model_id: int | None = None
    model_version: int | None = None


async def upsert_source(conn: Conn, source: TrialSource) -> None:
    """Store it; what was said before of the same two is replaced.

    Raises:
        asyncpg.ForeignKeyViolationError: there is no such trial or checkpoint.
    """
    query = """
        INSERT INTO trial_sources (trial_id, checkpoint_uuid, type, model_id, model_version)
        VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (trial_id, checkpoint_uuid)
            DO UPDATE SET type = excluded.type, model_id = excluded.model_id,
                          model_version = excluded.model_version
    """
    await conn.execute(query, *msgspec.structs.astuple(source))


async def list_trials(conn: Conn, checkpoint_uuid: str, types: Sequence[str]) -> list[int]:
    """Ids of the trials that work from a checkpoint in one of these ways, ascending."""
    query = """
        SELECT trial_id FROM trial_sources
         WHERE checkpoint_uuid = $1 AND type = ANY ($2) ORDER BY trial_id
    """
    return [row["trial_id"] for row in await conn.fetch(query, checkpoint_uuid, types)]

"""Which trials said that they use which checkpoints."""

from __future__ import annotations

from determined_master.records.models import TrialSource
from determined_master.store.db import Conn


async def upsert_source(conn: Conn, source: TrialSource) -> None:
    """Store it, in place of an earlier one."""
    query = """
        INSERT INTO trial_sources (trial_id, checkpoint, type, model_id, model_version)
        VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (trial_id, checkpoint, type)
            DO UPDATE SET model_id = excluded.model_id, model_version = excluded.model_version
    """
    await conn.execute(
        query,
        source.trial_id,
        source.checkpoint,
        source.type,
        source.model_id,
        source.model_version,
    )


async def list_users_of_checkpoint(conn: Conn, uuid: str, type_: str | None) -> list[int]:
    """Ids of trials that use a checkpoint, sorted; with a type, only those of it."""
    query = """
        SELECT DISTINCT trial_id FROM trial_sources
         WHERE checkpoint = $1 AND ($2::text IS NULL OR type = $2) ORDER BY trial_id
    """
    return [row["trial_id"] for row in await conn.fetch(query, uuid, type_)]


async def list_users_of_version(
    conn: Conn, model_id: int, version: int, type_: str | None
) -> list[int]:
    """Ids of trials that use a model's version, sorted; with a type, only those of it."""
    query = """
        SELECT DISTINCT trial_id FROM trial_sources
         WHERE model_id = $1 AND model_version = $2 AND ($3::text IS NULL OR type = $3)
         ORDER BY trial_id
    """
    return [row["trial_id"] for row in await conn.fetch(query, model_id, version, type_)]

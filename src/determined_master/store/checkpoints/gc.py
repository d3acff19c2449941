"""Rows of GC tasks: which checkpoints they may delete."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.checkpoints.gc import Saved
from determined_master.store.db import Conn


class NewGcTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task to come."""

    task_id: str
    job_id: str
    experiment_id: int
    user_id: int
    started_at: datetime
    storage_id: int | None
    """None for the storage of the experiment's configuration."""
    uuids: Sequence[str]
    globs: Sequence[str]
    removes_tensorboard: bool = False


class GcTaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """The checkpoints that one task deletes, and their storage."""

    task_id: str
    job_id: str
    experiment_id: int
    user_id: int
    storage: dict[str, Any]
    uuids: list[str]
    globs: list[str]
    removes_tensorboard: bool


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint as those see it who want to delete it."""

    uuid: str
    experiment_id: int | None
    storage_id: int | None
    state: str
    user_id: int | None
    """The experiment's owner."""


async def insert_collection(conn: Conn, new: NewGcTask) -> None:
    """Store a task that will delete checkpoints, but those that are registered by now."""
    task = """
        INSERT INTO tasks (id, type, job_id, experiment_id, user_id, started_at)
        VALUES ($1, 'CHECKPOINT_GC', $2, $3, $4, $5)
    """
    lock = "SELECT FROM checkpoints WHERE uuid = ANY ($1) ORDER BY uuid FOR NO KEY UPDATE"
    collection = """
        INSERT INTO collections (task_id, experiment_id, storage_id, uuids, globs,
                                 removes_tensorboard)
        SELECT $1, $2, $3,
               ARRAY (SELECT u.uuid FROM unnest($4::uuid[]) WITH ORDINALITY AS u (uuid, place)
                       WHERE cardinality($5::text[]) = 0 OR NOT EXISTS (
                             SELECT FROM model_versions v WHERE v.checkpoint = u.uuid)
                       ORDER BY u.place),
               $5, $6
    """
    await conn.execute(lock, list(new.uuids))  # so that none is registered in the meantime
    await conn.execute(
        task, new.task_id, new.job_id, new.experiment_id, new.user_id, new.started_at
    )
    await conn.execute(
        collection,
        new.task_id,
        new.experiment_id,
        new.storage_id,
        list(new.uuids),
        list(new.globs),
        new.removes_tensorboard,
    )


async def find_gc_task(conn: Conn, task_id: str) -> GcTaskRow | None:
    """The checkpoints that the task of that id deletes."""
    query = """
        SELECT c.task_id, k.job_id::text, c.experiment_id, k.user_id,
               coalesce(s.config, e.config -> 'checkpoint_storage') AS storage,
               c.uuids::text[], c.globs, c.removes_tensorboard
          FROM collections c
          JOIN tasks k ON k.id = c.task_id
          JOIN experiments e ON e.id = c.experiment_id
          LEFT JOIN storage_backends s ON s.id = c.storage_id
         WHERE c.task_id = $1
    """
    row = await conn.fetchrow(query, task_id)
    return GcTaskRow(**row) if row else None


async def end_task(conn: Conn, task_id: str, at: datetime) -> None:
    """Note when a task ended."""
    query = "UPDATE tasks SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL"
    await conn.execute(query, task_id, at)


async def has_ended(conn: Conn, task_id: str) -> bool:
    """Whether a task has ended; a task that was deleted has."""
    query = "SELECT NOT EXISTS (SELECT FROM tasks WHERE id = $1 AND ended_at IS NULL)"
    return bool(await conn.fetchval(query, task_id))


async def list_saved(conn: Conn, experiment_id: int) -> list[Saved]:
    """The complete checkpoints of an experiment's trials, oldest first."""
    query = """
        SELECT c.uuid::text, c.trial_id, c.steps,
               CASE WHEN e.smaller_is_better THEN v.searcher_metric
                    ELSE -v.searcher_metric END AS metric
          FROM checkpoints c
          JOIN experiments e ON e.id = c.experiment_id
          LEFT JOIN LATERAL (
                SELECT m.searcher_metric FROM metrics m
                 WHERE m.trial_id = c.trial_id AND m.steps = c.steps
                   AND m.metric_group = 'validation' AND NOT m.archived
                 ORDER BY m.run_id DESC LIMIT 1) v ON true
         WHERE c.experiment_id = $1 AND c.trial_id IS NOT NULL AND c.state = 'COMPLETED'
         ORDER BY c.reported_at, c.uuid
    """
    rows = await conn.fetch(query, experiment_id)
    sources = await list_kept(conn, [row["uuid"] for row in rows])
    return [Saved(**row, is_source=row["uuid"] in sources) for row in rows]


async def list_sources(
    conn: Conn, uuids: Sequence[str], *, outside_of: int | None = None
) -> dict[str, int]:
    """Which of these checkpoints something starts from, each with an experiment that does.

    Args:
        conn: a connection.
        uuids: of checkpoints.
        outside_of: an experiment whose own trials do not count.
    """
    query = """
        SELECT t.warm_start_checkpoint::text AS uuid, t.experiment_id FROM trials t
         WHERE t.warm_start_checkpoint = ANY ($1::uuid[])
           AND ($2::int IS NULL OR t.experiment_id <> $2)
        UNION ALL
        SELECT e.config -> 'searcher' ->> 'source_checkpoint_uuid', e.id FROM experiments e
         WHERE e.config -> 'searcher' ->> 'source_checkpoint_uuid' = ANY ($1::text[])
           AND ($2::int IS NULL OR e.id <> $2)
    """
    rows = await conn.fetch(query, list(uuids), outside_of)
    return {row["uuid"]: row["experiment_id"] for row in rows}


async def list_kept(
    conn: Conn, uuids: Sequence[str], *, outside_of: int | None = None
) -> set[str]:
    """Which of these checkpoints no policy and no deletion of an experiment may take.

    Something starts from them (as of `list_sources`), or they are registered.
    """
    sources = await list_sources(conn, uuids, outside_of=outside_of)
    query = "SELECT DISTINCT checkpoint::text FROM model_versions WHERE checkpoint = ANY ($1)"
    registered = [row["checkpoint"] for row in await conn.fetch(query, list(uuids))]
    return {*sources, *registered}


async def list_stored(
    conn: Conn, *, uuids: Sequence[str] = (), experiment_id: int | None = None
) -> list[Stored]:
    """Checkpoints by their UUIDs, or all of an experiment, that have files."""
    query = """
        SELECT c.uuid::text, c.experiment_id, c.storage_id, c.state, e.user_id
          FROM checkpoints c LEFT JOIN experiments e ON e.id = c.experiment_id
         WHERE c.uuid IN (SELECT unnest($1::uuid[])
                           UNION SELECT uuid FROM checkpoints WHERE experiment_id = $2)
         ORDER BY c.storage_id, c.uuid
    """
    return [Stored(**row) for row in await conn.fetch(query, list(uuids), experiment_id)]


async def list_heirless(conn: Conn, experiment_id: int) -> list[Stored]:
    """Checkpoints of deleted experiments from which this one starts, with known storage."""
    query = """
        SELECT c.uuid::text, c.experiment_id, c.storage_id, c.state, NULL::int AS user_id
          FROM checkpoints c
         WHERE c.experiment_id IS NULL AND c.storage_id IS NOT NULL
           AND (c.uuid IN (SELECT t.warm_start_checkpoint FROM trials t WHERE t.experiment_id = $1)
                OR c.uuid::text = (SELECT e.config -> 'searcher' ->> 'source_checkpoint_uuid'
                                     FROM experiments e WHERE e.id = $1))
         ORDER BY c.storage_id, c.uuid
    """
    return [Stored(**row) for row in await conn.fetch(query, experiment_id)]


async def list_collected(conn: Conn, experiment_id: int) -> set[str]:
    """Checkpoints that tasks of this experiment were to delete as a whole."""
    query = """
        SELECT DISTINCT unnest(uuids)::text AS uuid FROM collections
         WHERE experiment_id = $1 AND '**/*' = ANY (globs)
    """
    return {row["uuid"] for row in await conn.fetch(query, experiment_id)}


class WaitingGcTask(msgspec.Struct, frozen=True, kw_only=True):
    """A requested task without slots yet."""

    task_id: str
    experiment_id: int
    pool: str
    requested_at: datetime


async def list_waiting(conn: Conn, *, since: datetime, limit: int) -> list[WaitingGcTask]:
    """Collections that wait for a place since before `since` (UTC), the longest first."""
    query = """
        SELECT c.task_id, c.experiment_id, a.pool, a.requested_at
          FROM allocations a JOIN collections c ON c.task_id = a.task_id
         WHERE a.ended_at IS NULL AND a.state = 'PENDING' AND a.requested_at < $1
         ORDER BY a.requested_at, a.id
         LIMIT $2
    """
    return [WaitingGcTask(**row) for row in await conn.fetch(query, since, limit)]


async def lock_checkpoints(conn: Conn, uuids: Sequence[str]) -> None:
    """Prevent new users of these checkpoints, and their deletion, until the transaction ends."""
    query = "SELECT FROM checkpoints WHERE uuid = ANY ($1::uuid[]) ORDER BY uuid FOR UPDATE"
    await conn.execute(query, list(uuids))


async def is_to_stay(conn: Conn, uuid: str) -> bool:
    """Whether a checkpoint is whole and no task is about to delete of it."""
    query = """
        SELECT EXISTS (
            SELECT FROM checkpoints p
             WHERE p.uuid = $1::uuid AND p.state = 'COMPLETED'
               AND NOT EXISTS (
                    SELECT FROM collections c JOIN tasks k ON k.id = c.task_id
                     WHERE c.experiment_id = p.experiment_id AND k.ended_at IS NULL
                       AND cardinality(c.globs) > 0 AND p.uuid = ANY (c.uuids)))
    """
    return bool(await conn.fetchval(query, uuid))


async def has_run(conn: Conn, experiment_id: int) -> bool:
    """Whether any trial of the experiment was ever started."""
    query = "SELECT EXISTS (SELECT FROM trials WHERE experiment_id = $1 AND run_id > 0)"
    return bool(await conn.fetchval(query, experiment_id))

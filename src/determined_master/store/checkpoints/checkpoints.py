"""Rows of checkpoints and of the storages they lie in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.records.checkpoints import CheckpointRow
from determined_master.store.db import Conn


class NewCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint in a report."""

    uuid: str
    task_id: str
    allocation_id: str | None
    trial_id: int | None
    experiment_id: int | None
    state: str
    reported_at: datetime
    steps: int
    resources: dict[str, int]
    metadata: dict[str, Any]
    storage_id: int | None


_VALIDATION = """
      LEFT JOIN LATERAL (
            SELECT m.metrics, m.searcher_metric FROM metrics m
             WHERE m.trial_id = c.trial_id AND m.steps = c.steps
               AND m.metric_group = 'validation' AND NOT m.archived
             ORDER BY m.run_id DESC LIMIT 1) v ON true
"""
SELECT = f"""
    SELECT c.uuid::text, c.task_id, c.allocation_id, c.trial_id, c.experiment_id, c.state,
           c.reported_at, c.steps, c.resources, c.metadata, c.size, c.storage_id,
           e.config AS experiment_config, e.user_id AS owner_id, p.workspace_id, t.hparams,
           (SELECT m.metrics FROM metrics m WHERE m.trial_id = c.trial_id AND m.steps = c.steps
               AND m.metric_group = 'training' AND NOT m.archived
             ORDER BY m.run_id DESC LIMIT 1) AS training_metrics,
           v.metrics AS validation_metrics, v.searcher_metric, o.origin
      FROM checkpoints c
      LEFT JOIN checkpoint_origins o ON o.checkpoint = c.uuid
      LEFT JOIN trials t ON t.id = c.trial_id
      LEFT JOIN experiments e ON e.id = c.experiment_id
      LEFT JOIN projects p ON p.id = e.project_id
      {_VALIDATION}
"""
SORTS = {
    "uuid": "c.uuid",
    "trial_id": "c.trial_id",
    "steps": "c.steps",
    "reported_at": "c.reported_at",
    "state": "c.state",
    "searcher_metric": "v.searcher_metric",
}
"""Sort keys of lists."""
_METRIC = """
    CASE WHEN jsonb_typeof(v.metrics -> $3) = 'number' THEN (v.metrics ->> $3)::float8 END
"""


async def insert_checkpoint(conn: Conn, new: NewCheckpoint) -> bool:
    """Store a checkpoint and count it; a repeated report changes nothing.

    Returns:
        Whether it was new.
    """
    size = sum(new.resources.values())
    insert = """
        INSERT INTO checkpoints (uuid, task_id, allocation_id, trial_id, experiment_id, state,
                                 reported_at, steps, resources, metadata, size, storage_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (uuid) DO NOTHING
    """
    status = await conn.execute(
        insert,
        new.uuid,
        new.task_id,
        new.allocation_id,
        new.trial_id,
        new.experiment_id,
        new.state,
        new.reported_at,
        new.steps,
        new.resources,
        new.metadata,
        size,
        new.storage_id,
    )
    is_new = bool(status.endswith(" 1"))
    if is_new and new.trial_id is not None and new.state == "COMPLETED":
        await _count(conn, new, size)
    return is_new


async def find_checkpoint(conn: Conn, uuid: str) -> CheckpointRow | None:
    """The checkpoint of that UUID."""
    row = await conn.fetchrow(f"{SELECT} WHERE c.uuid = $1", uuid)
    return CheckpointRow(**row) if row else None


async def find_source(conn: Conn, trial_id: int) -> str | None:
    """The UUID of the checkpoint of another trial from which a trial started, if it did."""
    query = "SELECT warm_start_checkpoint::text FROM trials WHERE id = $1"
    source: str | None = await conn.fetchval(query, trial_id)
    return source


async def list_by_uuids(conn: Conn, uuids: Sequence[str]) -> dict[str, CheckpointRow]:
    """Checkpoints by their UUIDs; those that are not there are left out."""
    rows = await conn.fetch(f"{SELECT} WHERE c.uuid = ANY ($1)", list(uuids))
    return {row["uuid"]: CheckpointRow(**row) for row in rows}


async def list_uuids(
    conn: Conn,
    *,
    trial_id: int | None = None,
    experiment_id: int | None = None,
    states: Sequence[str] = (),
    sort: str = "uuid",
    metric: str | None = None,
    newest_first: bool = False,
) -> list[str]:
    """UUIDs of a trial's or an experiment's checkpoints in the order of one of `SORTS`.

    With `metric` they are in the order of that validation metric, those without it last.
    """
    direction = "DESC" if newest_first else "ASC"
    order = SORTS[sort] if metric is None else _METRIC
    owner = "experiment_id" if trial_id is None else "trial_id"
    owner_id = experiment_id if trial_id is None else trial_id
    query = f"""
        SELECT c.uuid::text FROM checkpoints c {_VALIDATION if "v." in order else ""}
         WHERE c.{owner} = $1
           AND (cardinality($2::text[]) = 0 OR c.state = ANY ($2))
           AND ($3::text IS NULL OR true)
         ORDER BY {order} {direction} NULLS LAST, c.uuid
    """
    rows = await conn.fetch(query, owner_id, list(states), metric)
    return [row[0] for row in rows]


async def list_best(conn: Conn, trial_ids: Sequence[int]) -> dict[int, CheckpointRow]:
    """The complete checkpoint with the best validation of each trial that has one."""
    query = """
        SELECT DISTINCT ON (c.trial_id) c.uuid
          FROM checkpoints c
          JOIN trials t ON t.id = c.trial_id
          JOIN experiments e ON e.id = t.experiment_id
          JOIN metrics m ON m.trial_id = c.trial_id AND m.metric_group = 'validation'
               AND m.steps = c.steps AND NOT m.archived
         WHERE c.trial_id = ANY ($1) AND c.state = 'COMPLETED' AND m.searcher_metric IS NOT NULL
         ORDER BY c.trial_id,
               CASE WHEN e.smaller_is_better THEN m.searcher_metric ELSE -m.searcher_metric END,
               c.steps DESC
    """
    best = [row["uuid"] for row in await conn.fetch(query, trial_ids)]
    rows = await conn.fetch(f"{SELECT} WHERE c.uuid = ANY ($1)", best)
    checkpoints = [CheckpointRow(**row) for row in rows]
    return {row.trial_id: row for row in checkpoints if row.trial_id is not None}


async def find_resume_point(conn: Conn, trial_id: int) -> tuple[str, int] | None:
    """UUID and steps of the complete checkpoint with the most steps; the newest of equals.

    One that a task is about to delete does not count.
    """
    query = """
        SELECT uuid::text, steps FROM checkpoints p
         WHERE trial_id = $1 AND state = 'COMPLETED'
           AND NOT EXISTS (
                SELECT FROM collections c JOIN tasks k ON k.id = c.task_id
                 WHERE c.experiment_id = p.experiment_id AND k.ended_at IS NULL
                   AND cardinality(c.globs) > 0 AND p.uuid = ANY (c.uuids))
         ORDER BY steps DESC, reported_at DESC LIMIT 1
    """
    row = await conn.fetchrow(query, trial_id)
    return (row["uuid"], row["steps"]) if row else None


async def update_metadata(conn: Conn, uuid: str, metadata: dict[str, Any]) -> bool:
    """Replace a checkpoint's metadata; whether there is such a checkpoint."""
    query = "UPDATE checkpoints SET metadata = $2 WHERE uuid = $1"
    return bool((await conn.execute(query, uuid, metadata)).endswith(" 1"))


async def update_resources(conn: Conn, uuid: str, resources: dict[str, int], state: str) -> None:
    """Store the remaining files of a checkpoint, and correct the sums of its owners.

    A deleted one keeps its list of files. Complete and partly deleted checkpoints count. Two
    reports of the same one wait for each other, so that nothing is taken off twice.
    """
    query = """
        WITH before AS (
            SELECT trial_id, experiment_id, counted::int AS count, counted::int * size AS size
              FROM (SELECT *, state IN ('COMPLETED', 'PARTIALLY_DELETED') AS counted
                      FROM checkpoints WHERE uuid = $1 FOR NO KEY UPDATE) c
        ), changed AS (
            UPDATE checkpoints SET resources = $2, state = $3, size = $4
              FROM before WHERE uuid = $1
        ), trial AS (
            UPDATE trials t SET checkpoint_size = t.checkpoint_size - before.size + $4,
                   checkpoint_count = t.checkpoint_count - before.count + ($3 <> 'DELETED')::int
              FROM before WHERE t.id = before.trial_id
         RETURNING t.id
        )
        UPDATE experiments e SET checkpoint_size = e.checkpoint_size - before.size + $4,
               checkpoint_count = e.checkpoint_count - before.count + ($3 <> 'DELETED')::int
          FROM before WHERE e.id = before.experiment_id
           AND (SELECT count(*) FROM trial) >= 0 -- the trial's row is locked first, as by all
    """
    size = 0 if state == "DELETED" else sum(resources.values())
    await conn.execute(query, uuid, resources, state, size)


async def upsert_storage(conn: Conn, config: dict[str, Any]) -> int:
    """The id of a storage configuration, stored once."""
    digest = hashlib.sha256(msgspec.json.encode(config, order="deterministic")).digest()
    query = """
        INSERT INTO storage_backends (digest, config) VALUES ($1, $2)
        ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest RETURNING id
    """
    return int(await conn.fetchval(query, digest, config))


async def insert_trial_storage(conn: Conn, trial_id: int, storage_id: int) -> None:
    """Record that a trial was given a storage; repeating it changes nothing."""
    query = """
        INSERT INTO trial_storages (trial_id, storage_id) VALUES ($1, $2) ON CONFLICT DO NOTHING
    """
    await conn.execute(query, trial_id, storage_id)


async def has_storage(conn: Conn, trial_id: int | None, storage_id: int) -> bool:
    """Whether a trial was given a storage, by its run or by its experiment's configuration."""
    query = """
        SELECT EXISTS (SELECT FROM trial_storages WHERE trial_id = $1 AND storage_id = $2)
            OR EXISTS (SELECT FROM trials t JOIN experiments e ON e.id = t.experiment_id
                         JOIN storage_backends s ON s.id = $2
                        WHERE t.id = $1 AND e.config->'checkpoint_storage' @> s.config)
    """
    return bool(await conn.fetchval(query, trial_id, storage_id))


async def find_storage(conn: Conn, storage_id: int) -> dict[str, Any] | None:
    """The storage configuration of that id."""
    query = "SELECT config FROM storage_backends WHERE id = $1"
    storage: dict[str, Any] | None = await conn.fetchval(query, storage_id)
    return storage


class TrialStorage(msgspec.Struct, frozen=True):
    """The storage of a trial's latest run, or that of its experiment's configuration."""

    experiment_id: int
    storage: dict[str, Any]


async def find_trial_storage(conn: Conn, trial_id: int) -> TrialStorage | None:
    """Where a trial stores; None if there is no such trial."""
    query = """
        SELECT t.experiment_id,
               coalesce((SELECT s.config
                           FROM trial_storages own JOIN storage_backends s ON s.id = own.storage_id
                          WHERE own.trial_id = t.id
                          ORDER BY own.storage_id DESC LIMIT 1),
                        e.config -> 'checkpoint_storage', '{}') AS storage
          FROM trials t JOIN experiments e ON e.id = t.experiment_id
         WHERE t.id = $1
    """
    row = await conn.fetchrow(query, trial_id)
    return None if row is None else TrialStorage(**row)


async def _count(conn: Conn, new: NewCheckpoint, size: int) -> None:
    trial = """
        UPDATE trials SET checkpoint_count = checkpoint_count + 1,
               checkpoint_size = checkpoint_size + $2, latest_checkpoint = $3
         WHERE id = $1
    """
    experiment = """
        UPDATE experiments SET checkpoint_count = checkpoint_count + 1,
               checkpoint_size = checkpoint_size + $2
         WHERE id = $1
    """
    await conn.execute(trial, new.trial_id, size, new.uuid)
    await conn.execute(experiment, new.experiment_id, size)

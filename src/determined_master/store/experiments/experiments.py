"""Rows of experiments, besides the state of their machine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.config.experiment_config import ExperimentConfig
from determined_master.records.experiments import ExperimentRow, ExperimentVersion
from determined_master.store.db import Conn

MODEL_PIECE_BYTES = 4 * 1024 * 1024
"""A model directory is read in pieces: 20 MB in one value held the loop for 20 ms."""


class NewExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a new experiment's row."""

    id: int
    job_id: str
    user_id: int
    workspace_id: int
    project_id: int
    name: str
    description: str
    labels: list[str]
    config: dict[str, Any]
    original_config: str
    seed: int
    searcher_type: str
    searcher_metric: str
    smaller_is_better: bool
    resource_pool: str
    model_digest: bytes | None
    model_size: int
    started_at: datetime
    forked_from: int | None = None
    unmanaged: bool = False
    external_id: str | None = None
    config_changes: list[str] = []
    """Keys of the configuration that others have set, each with the policy or template."""


COLUMNS = """
    e.id, e.job_id::text, e.user_id, u.username, u.display_name,
    e.workspace_id, w.name AS workspace_name, e.project_id, p.name AS project_name,
    p.user_id AS project_owner_id, (p.archived OR w.archived) AS parent_archived,
    e.state, e.reason, e.name, e.description, e.labels, e.notes, e.archived, e.unmanaged,
    e.external_id, e.forked_from, e.config, e.searcher_type, e.searcher_metric,
    e.smaller_is_better, e.resource_pool, e.model_definition_size, e.progress, e.num_trials,
    e.best_trial_id, e.best_metric, e.checkpoint_count, e.checkpoint_size,
    e.started_at, e.ended_at, e.queue_position
"""
TABLES = """
    experiments e
    JOIN users u ON u.id = e.user_id
    JOIN workspaces w ON w.id = e.workspace_id
    JOIN projects p ON p.id = e.project_id
"""


DETAILS = (
    "name",
    "description",
    "labels",
    "notes",
    "archived",
    "config",
    "queue_position",
)
VERSION = "concat_ws('.', e.xmin, u.xmin, p.xmin, w.xmin)"
"""Changes with every write to an experiment, its user, its project or its workspace."""


async def next_experiment_id(conn: Conn) -> int:
    """Reserve the id of an experiment to come."""
    query = "SELECT nextval(pg_get_serial_sequence('experiments', 'id'))"
    return int(await conn.fetchval(query))


async def insert_experiment(conn: Conn, new: NewExperiment) -> None:
    """Store an experiment; its state is then the engine's."""
    query = """
        INSERT INTO experiments (
            id, job_id, user_id, workspace_id, project_id, state, name, description, labels,
            config, original_config, seed, searcher_type, searcher_metric, smaller_is_better,
            resource_pool, model_definition, model_definition_size, started_at, forked_from,
            unmanaged, external_id, config_changes)
        VALUES ($1, $2, $3, $4, $5, 'PAUSED', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
                $16, $17, $18, $19, $20, $21, $22)
    """
    await conn.execute(
        query,
        new.id,
        new.job_id,
        new.user_id,
        new.workspace_id,
        new.project_id,
        new.name,
        new.description,
        new.labels,
        new.config,
        new.original_config,
        new.seed,
        new.searcher_type,
        new.searcher_metric,
        new.smaller_is_better,
        new.resource_pool,
        new.model_digest,
        new.model_size,
        new.started_at,
        new.forked_from,
        new.unmanaged,
        new.external_id,
        new.config_changes,
    )


async def find_experiment(conn: Conn, experiment_id: int) -> ExperimentRow | None:
    """The experiment of that id."""
    row = await conn.fetchrow(f"SELECT {COLUMNS} FROM {TABLES} WHERE e.id = $1", experiment_id)
    return ExperimentRow(**row) if row else None


async def lock_experiment(conn: Conn, experiment_id: int) -> ExperimentRow | None:
    """The same, locked against changes until the transaction ends."""
    lock = "SELECT FROM experiments WHERE id = $1 FOR NO KEY UPDATE"
    await conn.execute(lock, experiment_id)
    return await find_experiment(conn, experiment_id)


async def list_versioned(conn: Conn, ids: Sequence[int]) -> list[tuple[str, ExperimentRow]]:
    """Experiments by their ids, each with the version that it was read in."""
    query = f"SELECT {COLUMNS}, {VERSION} AS version FROM {TABLES} WHERE e.id = ANY ($1)"
    records = [dict(row) for row in await conn.fetch(query, ids)]
    return [(row.pop("version"), ExperimentRow(**row)) for row in records]


async def find_version(conn: Conn, experiment_id: int) -> ExperimentVersion | None:
    """The data of a page that changes without its rows, and the version of the rows."""
    query = f"""
        SELECT {VERSION} AS version, e.state, e.job_id::text, e.user_id, e.workspace_id
          FROM {TABLES} WHERE e.id = $1
    """
    row = await conn.fetchrow(query, experiment_id)
    return ExperimentVersion(*row) if row else None


async def find_original_config(conn: Conn, experiment_id: int) -> str | None:
    """The configuration as it was submitted."""
    query = "SELECT original_config FROM experiments WHERE id = $1"
    original_config: str | None = await conn.fetchval(query, experiment_id)
    return original_config


async def list_trial_ids(conn: Conn, experiment_id: int) -> list[int]:
    """Ids of an experiment's trials, ascending."""
    query = "SELECT id FROM trials WHERE experiment_id = $1 ORDER BY id"
    return [row["id"] for row in await conn.fetch(query, experiment_id)]


async def update_experiment_states(
    conn: Conn, rows: Sequence[tuple[int, str, str, datetime | None, float]]
) -> None:
    """Write (id, state, reason, ended_at, progress) of several experiments at once.

    An ended experiment keeps its first end until it is continued. Progress never decreases: that
    of a single trial is written by its own reports.
    """
    query = """
        UPDATE experiments e
           SET state = n.state, reason = n.reason,
               ended_at = CASE WHEN n.ended_at IS NOT NULL
                               THEN coalesce(e.ended_at, n.ended_at) END,
               progress = CASE WHEN n.state = 'COMPLETED' THEN 1
                               ELSE greatest(e.progress, n.progress) END
          FROM unnest($1::int[], $2::text[], $3::text[], $4::timestamptz[], $5::float8[])
               AS n (id, state, reason, ended_at, progress)
         WHERE e.id = n.id
    """
    ids, states, reasons, ended, progress = zip(*rows, strict=True)
    await conn.execute(query, ids, states, reasons, ended, progress)


async def insert_model_definition(conn: Conn, digest: bytes, tgz: bytes) -> None:
    """Store a model directory once, whoever submits it.

    One that is there is locked, so that it is not swept away before the experiment's row.
    """
    query = """
        INSERT INTO model_definitions (digest, tgz) VALUES ($1, $2)
        ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest
    """
    await conn.execute(query, digest, tgz)


async def delete_orphaned_models(conn: Conn, *, limit: int) -> int:
    """Delete model directories that no experiment and no task has any more; how many.

    One that is being stored with an experiment or task stays: its row is locked until then.
    """
    query = """
        WITH orphans AS (
            SELECT m.digest FROM model_definitions m
             WHERE NOT EXISTS (SELECT FROM experiments e WHERE e.model_definition = m.digest)
               AND NOT EXISTS (SELECT FROM generic_tasks g WHERE g.context = m.digest)
               AND NOT EXISTS (SELECT FROM interactive_tasks i WHERE i.context = m.digest)
             ORDER BY m.digest LIMIT $1 FOR UPDATE SKIP LOCKED)
        DELETE FROM model_definitions m USING orphans o WHERE m.digest = o.digest
    """
    return int((await conn.execute(query, limit)).split()[1])


async def find_model_definition(conn: Conn, experiment_id: int) -> bytes | None:
    """The model directory of an experiment as tar.gz; None when there is none."""
    query = """
        SELECT substring(m.tgz FROM $2 FOR $3) FROM experiments e
          JOIN model_definitions m ON m.digest = e.model_definition
         WHERE e.id = $1
    """
    pieces: list[bytes] = []
    while not pieces or len(pieces[-1]) == MODEL_PIECE_BYTES:
        start = 1 + len(pieces) * MODEL_PIECE_BYTES
        piece = await conn.fetchval(query, experiment_id, start, MODEL_PIECE_BYTES)
        if piece is None:
            return None
        pieces.append(piece)
    return b"".join(pieces)


async def find_model_digest(conn: Conn, experiment_id: int) -> tuple[bytes | None, int] | None:
    """Digest and size of an experiment's model directory; None for no such experiment."""
    query = "SELECT model_definition, model_definition_size FROM experiments WHERE id = $1"
    row = await conn.fetchrow(query, experiment_id)
    return (row["model_definition"], row["model_definition_size"]) if row else None


async def reset_progress(conn: Conn, experiment_id: int) -> None:
    """Begin to count again, at the place in the queue that its age gives: it continues."""
    query = "UPDATE experiments SET progress = 0, queue_position = NULL WHERE id = $1"
    await conn.execute(query, experiment_id)


async def update_config(
    conn: Conn, experiment_id: int, config: dict[str, Any], changes: list[str]
) -> None:
    """Replace an experiment's configuration, and the columns derived from it."""
    query = """
        UPDATE experiments
           SET config = $2, name = $3, description = $4, labels = $5, searcher_metric = $6,
               smaller_is_better = $7, resource_pool = $8, config_changes = ARRAY(
                   SELECT DISTINCT c FROM unnest(config_changes || $9::text[]) c ORDER BY c)
         WHERE id = $1
    """
    typed = ExperimentConfig(config)
    await conn.execute(
        query,
        experiment_id,
        config,
        typed.name,
        typed.description,
        list(typed.labels),
        typed.searcher.metric,
        typed.searcher.smaller_is_better,
        typed.resources.resource_pool,
        changes,
    )


async def find_answer(conn: Conn, user_id: int, key: str) -> dict[str, Any] | None:
    """The answer already given to a request with that idempotency key."""
    query = "SELECT answer FROM requests WHERE user_id = $1 AND idempotency_key = $2"
    answer: dict[str, Any] | None = await conn.fetchval(query, user_id, key)
    return answer


async def insert_answer(conn: Conn, user_id: int, key: str, answer: dict[str, Any]) -> None:
    """Remember the answer to a request that may be sent again."""
    query = "INSERT INTO requests (user_id, idempotency_key, answer) VALUES ($1, $2, $3)"
    await conn.execute(query, user_id, key, answer)


async def delete_answers(conn: Conn, before: datetime) -> None:
    """Forget the answers to requests from before that time."""
    await conn.execute("DELETE FROM requests WHERE created_at < $1", before)


async def list_labels(
    conn: Conn, project_id: int | None, *, among: Sequence[int] | None = None
) -> list[str]:
    """Labels of experiments of a project, or of all, in these workspaces, or in all; the most
    used first."""
    query = """
        SELECT label FROM experiments e, unnest(e.labels) label
         WHERE ($1::int IS NULL OR e.project_id = $1)
           AND ($2::int[] IS NULL OR e.workspace_id = ANY ($2))
         GROUP BY label ORDER BY count(*) DESC, label
    """
    values = project_id, None if among is None else list(among)
    return [row["label"] for row in await conn.fetch(query, *values)]


async def update_details(conn: Conn, experiment_id: int, changes: dict[str, Any]) -> None:
    """Write a user's changes to the given fields of `DETAILS`."""
    chosen = [n for n in DETAILS if n in changes]
    if not chosen:
        return
    assignments = ", ".join(f"{n} = ${i}" for i, n in enumerate(chosen, start=2))
    query = f"UPDATE experiments SET {assignments} WHERE id = $1"
    await conn.execute(query, experiment_id, *[changes[n] for n in chosen])

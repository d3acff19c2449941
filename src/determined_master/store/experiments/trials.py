"""Rows of trials and of the tasks that run them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.records.metrics import StoredReport
from determined_master.store.db import Conn


class TrialRow(msgspec.Struct, frozen=True, kw_only=True):
    """One trial as lists and pages show it, without its metrics and checkpoints."""

    id: int
    experiment_id: int
    request_id: str
    task_id: str
    state: str
    reason: str
    hparams: dict[str, Any]
    seed: int
    restarts: int
    run_id: int
    progress: float
    runner_state: str
    warm_start_checkpoint: str | None
    total_batches: int
    searcher_metric: float | None
    best_metric: float | None
    best_validation: int | None
    latest_validation: int | None
    summary_metrics: str
    """JSON: it may be long and is only passed on."""
    metadata: dict[str, Any] | None
    checkpoint_count: int
    checkpoint_size: int
    latest_checkpoint: str | None
    log_policy_matched: str | None
    started_at: datetime
    ended_at: datetime | None


class ComparedTrial(msgspec.Struct, frozen=True):
    """The facts of a trial that stand beside its series."""

    id: int
    experiment_id: int
    started_at: datetime
    ended_at: datetime | None
    state: str
    restarts: int
    hparams: dict[str, Any]
    metrics_version: int
    """Another number after each change of its reports, system metrics apart."""
    series_rewrites: int
    """Another number after each change of earlier reports."""


class StoredTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial with its best and latest validation and the ids of its tasks, oldest first."""

    row: TrialRow
    best: StoredReport | None
    latest: StoredReport | None
    task_ids: list[str]


class NewTrial(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a new trial's row."""

    id: int
    experiment_id: int
    request_id: str
    task_id: str
    hparams: dict[str, Any]
    seed: int
    job_id: str
    user_id: int
    started_at: datetime
    warm_start_checkpoint: str | None = None
    external_id: str | None = None


class NextTask(msgspec.Struct, frozen=True, kw_only=True):
    """The task of a trial that continues."""

    task_id: str
    job_id: str
    experiment_id: int
    user_id: int
    started_at: datetime
    hparams: dict[str, Any] | None
    """None keeps those of the trial."""


COLUMNS = """
    t.id, t.experiment_id, t.request_id::text, t.task_id, t.state, t.reason, t.hparams, t.seed,
    t.restarts, t.run_id, t.progress, t.runner_state, t.warm_start_checkpoint::text,
    t.total_batches, t.searcher_metric, t.best_metric, t.best_validation, t.latest_validation,
    t.summary_metrics::text, t.metadata, t.checkpoint_count, t.checkpoint_size,
    t.latest_checkpoint::text, t.log_policy_matched, t.started_at, t.ended_at
"""


SORTS = {
    "id": "id",
    "state": "id",  # the shown state is not in the row
    "start_time": "started_at",
    "end_time": "ended_at",
    "batches_processed": "total_batches",
    "restarts": "restarts",
    "checkpoint_size": "checkpoint_size",
    "duration": "coalesce(ended_at, now()) - started_at",
    "best_validation_metric": "best_metric",
    "latest_validation_metric": "searcher_metric",
}
"""Sort keys of the list of an experiment's trials."""


async def next_trial_ids(conn: Conn, count: int) -> list[int]:
    """Reserve the ids of trials to come, ascending."""
    query = """
        SELECT nextval(pg_get_serial_sequence('trials', 'id'))::int AS id
          FROM generate_series(1, $1)
    """
    return sorted(row["id"] for row in await conn.fetch(query, count))


async def insert_trials(conn: Conn, new: Sequence[NewTrial]) -> None:
    """Store trials and their tasks, and count them in their experiments."""
    trial = """
        INSERT INTO trials (id, experiment_id, request_id, task_id, state, hparams, seed,
                            started_at, warm_start_checkpoint, external_id)
        SELECT id, experiment_id, request_id, task_id, 'PAUSED', hparams::jsonb, seed, started_at,
               checkpoint, external_id
          FROM unnest($1::int[], $2::int[], $3::uuid[], $4::text[], $5::text[], $6::bigint[],
                      $7::timestamptz[], $8::uuid[], $9::text[])
               AS n (id, experiment_id, request_id, task_id, hparams, seed, started_at,
                     checkpoint, external_id)
         ORDER BY id
    """
    task = """
        INSERT INTO tasks (id, type, job_id, trial_id, experiment_id, user_id, started_at)
        SELECT id, 'TRIAL', job_id, trial_id, experiment_id, user_id, started_at
          FROM unnest($1::text[], $2::uuid[], $3::int[], $4::int[], $5::int[], $6::timestamptz[])
               AS n (id, job_id, trial_id, experiment_id, user_id, started_at)
    """
    count = """
        UPDATE experiments e SET num_trials = num_trials + n.trials
          FROM (SELECT id, count(*) AS trials FROM unnest($1::int[]) AS u (id) GROUP BY id) n
         WHERE e.id = n.id
    """
    ids, experiments = [t.id for t in new], [t.experiment_id for t in new]
    task_ids, started = [t.task_id for t in new], [t.started_at for t in new]
    hparams = [msgspec.json.encode(t.hparams).decode() for t in new]
    requests, seeds = [t.request_id for t in new], [t.seed for t in new]
    sources, names = [t.warm_start_checkpoint for t in new], [t.external_id for t in new]
    await conn.execute(
        trial, ids, experiments, requests, task_ids, hparams, seeds, started, sources, names
    )
    jobs, users = [t.job_id for t in new], [t.user_id for t in new]
    await conn.execute(task, task_ids, jobs, ids, experiments, users, started)
    await conn.execute(count, experiments)


async def find_experiment_id(conn: Conn, trial_id: int) -> int | None:
    """The experiment of a trial."""
    experiment_id = await conn.fetchval("SELECT experiment_id FROM trials WHERE id = $1", trial_id)
    return None if experiment_id is None else int(experiment_id)


async def find_trial(conn: Conn, trial_id: int) -> TrialRow | None:
    """The trial of that id."""
    row = await conn.fetchrow(f"SELECT {COLUMNS} FROM trials t WHERE t.id = $1", trial_id)
    return TrialRow(**row) if row else None


async def list_compared(conn: Conn, trial_ids: Sequence[int]) -> dict[int, ComparedTrial]:
    """Those of the trials that exist, by id; their summaries, which may be long, are not read."""
    query = """
        SELECT id, experiment_id, started_at, ended_at, state, restarts, hparams, metrics_version,
               series_rewrites
          FROM trials WHERE id = ANY ($1)
    """
    return {row["id"]: ComparedTrial(*row) for row in await conn.fetch(query, trial_ids)}


async def list_existing(conn: Conn, trial_ids: Sequence[int]) -> set[int]:
    """Those of the ids that are trials. No column of a trial is read: its summary may be long."""
    rows = await conn.fetch("SELECT id FROM trials WHERE id = ANY ($1)", trial_ids)
    return {row["id"] for row in rows}


async def list_trials(conn: Conn, trial_ids: Sequence[int]) -> list[TrialRow]:
    """The trials of those ids that exist, in no order."""
    query = f"SELECT {COLUMNS} FROM trials t WHERE t.id = ANY ($1)"
    return [TrialRow(**row) for row in await conn.fetch(query, trial_ids)]


async def list_states(
    conn: Conn, experiment_id: int, sort: str = "id", *, descending: bool = False
) -> list[tuple[int, str]]:
    """Id and state of an experiment's trials in the order of one of `SORTS`, equal ones by id.

    Rows without a value to sort by come last, and first when descending.
    """
    direction = "DESC" if descending else "ASC"
    key = SORTS[sort]
    order = f"id {direction if sort == 'id' else 'ASC'}"
    if key != "id":
        order = f"{key} {direction}, {order}"
    query = f"SELECT id, state FROM trials WHERE experiment_id = $1 ORDER BY {order}"
    return [(row[0], row[1]) for row in await conn.fetch(query, experiment_id)]


async def list_trial_pages(conn: Conn, trial_ids: Sequence[int]) -> list[StoredTrial]:
    """Trials by their ids, with the related data that pages show."""
    query = f"""
        SELECT ARRAY (SELECT k.id FROM tasks k WHERE k.trial_id = t.id
                       ORDER BY k.started_at, k.id) AS task_ids,
               best, latest, {COLUMNS}
          FROM trials t
          LEFT JOIN metrics best ON best.trial_id = t.id AND best.id = t.best_validation
          LEFT JOIN metrics latest ON latest.trial_id = t.id AND latest.id = t.latest_validation
         WHERE t.id = ANY ($1)
    """
    return [
        StoredTrial(
            row=TrialRow(**{name: row[name] for name in TrialRow.__struct_fields__}),
            best=_report(row["best"]),
            latest=_report(row["latest"]),
            task_ids=row["task_ids"],
        )
        for row in await conn.fetch(query, trial_ids)
    ]


async def find_trial_id(conn: Conn, experiment_id: int, request_id: str) -> int | None:
    """The id of the trial that a search knows by its request id."""
    query = "SELECT id FROM trials WHERE experiment_id = $1 AND request_id = $2"
    trial_id: int | None = await conn.fetchval(query, experiment_id, request_id)
    return trial_id


async def list_known_ids(
    conn: Conn, experiment_id: int, request_ids: Sequence[str]
) -> dict[str, int]:
    """Ids of those trials of a search that are stored, by their request ids."""
    query = """
        SELECT request_id::text, id FROM trials
         WHERE experiment_id = $1 AND request_id = ANY ($2::uuid[])
    """
    return dict(await conn.fetch(query, experiment_id, request_ids))


async def list_ends(conn: Conn, experiment_id: int) -> list[tuple[str, str]]:
    """Request id and state of the ended trials of an experiment, by id."""
    query = """
        SELECT request_id::text, state FROM trials
         WHERE experiment_id = $1 AND ended_at IS NOT NULL ORDER BY id
    """
    return [(row["request_id"], row["state"]) for row in await conn.fetch(query, experiment_id)]


async def insert_next_task(conn: Conn, trial_id: int, next_: NextTask) -> None:
    """Give a trial that continues its next task."""
    task = """
        INSERT INTO tasks (id, type, job_id, trial_id, experiment_id, user_id, started_at)
        VALUES ($1, 'TRIAL', $2, $3, $4, $5, $6)
    """
    trial = """
        UPDATE trials SET task_id = $2, progress = 0, runner_state = '',
               log_policy_matched = NULL, hparams = coalesce($3, hparams)
         WHERE id = $1
    """
    await conn.execute(
        task,
        next_.task_id,
        next_.job_id,
        trial_id,
        next_.experiment_id,
        next_.user_id,
        next_.started_at,
    )
    await conn.execute(trial, trial_id, next_.task_id, next_.hparams)


async def count_tasks(conn: Conn, trial_id: int) -> tuple[str, int]:
    """The id of a trial's first task, and how many it has had."""
    query = """
        SELECT id, count(*) OVER () AS total FROM tasks WHERE trial_id = $1
         ORDER BY started_at, id LIMIT 1
    """
    row = await conn.fetchrow(query, trial_id)
    return row["id"], row["total"]


async def list_open_trial_ids(conn: Conn, experiment_id: int) -> list[int]:
    """Ids of the open trials of an experiment, ascending."""
    query = """
        SELECT id FROM trials WHERE experiment_id = $1 AND ended_at IS NULL ORDER BY id
    """
    return [row["id"] for row in await conn.fetch(query, experiment_id)]


async def update_trial_states(
    conn: Conn, rows: Sequence[tuple[int, str, str, int, int, datetime | None]]
) -> None:
    """Write (id, state, reason, restarts, run_id, ended_at) of several trials at once."""
    trials = """
        UPDATE trials t
           SET state = n.state, reason = n.reason, restarts = n.restarts, run_id = n.run_id,
               ended_at = CASE WHEN n.ended_at IS NOT NULL
                               THEN coalesce(t.ended_at, n.ended_at) END
          FROM unnest($1::int[], $2::text[], $3::text[], $4::int[], $5::int[],
                      $6::timestamptz[]) AS n (id, state, reason, restarts, run_id, ended_at)
         WHERE t.id = n.id
    """
    tasks = """
        UPDATE tasks k SET ended_at = n.ended_at
          FROM unnest($1::int[], $2::timestamptz[]) AS n (trial_id, ended_at)
         WHERE k.trial_id = n.trial_id AND k.ended_at IS NULL
    """
    ids, states, reasons, restarts, runs, ended = zip(*rows, strict=True)
    await conn.execute(trials, ids, states, reasons, restarts, runs, ended)
    closed = [(i, e) for i, e in zip(ids, ended, strict=True) if e is not None]
    if closed:
        await conn.execute(tasks, *map(list, zip(*closed, strict=True)))


async def update_progress(conn: Conn, trial_id: int, progress: float) -> None:
    """Write how far a trial is, 0 to 1, and the mean of its experiment."""
    query = """
        WITH trial AS (
            UPDATE trials SET progress = $2 WHERE id = $1 RETURNING experiment_id, id
        )
        UPDATE experiments e
           SET progress = (
                SELECT avg(CASE WHEN t.ended_at IS NOT NULL THEN 1
                                WHEN t.id = $1 THEN $2 ELSE t.progress END)
                  FROM trials t WHERE t.experiment_id = e.id)
          FROM trial
         WHERE e.id = trial.experiment_id AND e.ended_at IS NULL AND e.searcher_type = 'single'
    """
    await conn.execute(query, trial_id, progress)


async def update_runner_state(conn: Conn, trial_id: int, text: str) -> None:
    """Store the status that the trial's own code reports."""
    await conn.execute("UPDATE trials SET runner_state = $2 WHERE id = $1", trial_id, text)


async def update_metadata(conn: Conn, trial_id: int, metadata: dict[str, Any]) -> None:
    """Replace a trial's metadata."""
    await conn.execute("UPDATE trials SET metadata = $2 WHERE id = $1", trial_id, metadata)


def _report(row: Any) -> StoredReport | None:
    if row is None:
        return None
    return StoredReport(**{name: row[name] for name in StoredReport.__struct_fields__})

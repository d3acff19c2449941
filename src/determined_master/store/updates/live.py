"""Changed things of the live channel, read by their ids: all of a kind at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from determined_master.records.live import LiveExperiment, LiveRun, LiveTask
from determined_master.store.db import Conn

MAX_METRICS_BYTES = 4096
"""Of a validation that is sent with its run."""


async def list_runs(conn: Conn, ids: Sequence[int]) -> list[LiveRun]:
    """Runs by id; missing ones are left out."""
    query = f"""
        SELECT r.id, r.experiment_id, r.project_id, e.workspace_id, r.archived, t.state,
               t.progress, r.started_at, r.ended_at, r.searcher_metric,
               CASE WHEN pg_column_size(m.metrics) <= {MAX_METRICS_BYTES}
                    THEN m.metrics::text END AS validation_metrics
          FROM runs r JOIN trials t ON t.id = r.id JOIN experiments e ON e.id = r.experiment_id
          LEFT JOIN metrics m ON m.id = t.latest_validation AND m.trial_id = t.id
         WHERE r.id = ANY ($1) ORDER BY r.id
    """
    return [LiveRun(**row) for row in await conn.fetch(query, ids)]


async def list_project_workspaces(conn: Conn, ids: Collection[int]) -> dict[int, int]:
    """The workspaces of projects; missing ones are left out."""
    query = "SELECT id, workspace_id FROM projects WHERE id = ANY ($1)"
    return {row["id"]: row["workspace_id"] for row in await conn.fetch(query, list(ids))}


async def list_experiments(conn: Conn, ids: Collection[int]) -> list[LiveExperiment]:
    """Whose these experiments are; missing ones are left out."""
    query = "SELECT id, user_id, name, workspace_id FROM experiments WHERE id = ANY ($1)"
    return [LiveExperiment(**row) for row in await conn.fetch(query, list(ids))]


async def list_tasks(conn: Conn, ids: Collection[str]) -> list[LiveTask]:
    """Interactive and generic tasks by id; others are left out."""
    query = """
        SELECT k.id, k.type, k.user_id, coalesce(i.state, g.state) AS state,
               coalesce(i.workspace_id, p.workspace_id, g.workspace_id) AS workspace_id,
               a.state AS allocation_state, k.started_at, k.ended_at
          FROM tasks k
          LEFT JOIN interactive_tasks i ON i.task_id = k.id
          LEFT JOIN generic_tasks g ON g.task_id = k.id
          LEFT JOIN projects p ON p.id = g.project_id
          LEFT JOIN allocations a ON a.id = i.task_id || '.1'
         WHERE k.id = ANY ($1) AND (i.task_id IS NOT NULL OR g.task_id IS NOT NULL)
         ORDER BY k.id
    """
    return [LiveTask(**row) for row in await conn.fetch(query, list(ids))]


async def list_models(
    conn: Conn, ids: Collection[int], version_ids: Collection[int]
) -> dict[int, int]:
    """The workspaces of these models, and of the models of these versions, by their ids."""
    query = """
        SELECT id, workspace_id FROM models
         WHERE id = ANY ($1)
            OR id IN (SELECT model_id FROM model_versions WHERE id = ANY ($2))
    """
    rows = await conn.fetch(query, list(ids), list(version_ids))
    return {row["id"]: row["workspace_id"] for row in rows}

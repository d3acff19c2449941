"""Whose the jobs of queues are, and which of them lie in some workspaces."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from determined_master.store.db import Conn


async def list_owners(conn: Conn, job_ids: Collection[str]) -> dict[str, int]:
    """The user of each of these jobs; those that are gone are left out."""
    query = """
        SELECT job_id::text, user_id FROM experiments WHERE job_id = ANY ($1::uuid[])
        UNION ALL
        SELECT job_id::text, user_id FROM tasks
         WHERE experiment_id IS NULL AND job_id = ANY ($1::uuid[])
    """
    return dict(await conn.fetch(query, list(job_ids)))


async def list_visible(
    conn: Conn,
    job_ids: Collection[str],
    experiments: Sequence[int] | None,
    tasks: Sequence[int] | None,
) -> set[str]:
    """Those of these jobs that lie in some workspaces.

    Args:
        conn: where to read.
        job_ids: of jobs.
        experiments: the workspaces of experiments; None for all.
        tasks: the workspaces of other jobs; None for all.
    """
    query = """
        SELECT job_id::text FROM experiments
         WHERE job_id = ANY ($1::uuid[]) AND ($2::int[] IS NULL OR workspace_id = ANY ($2))
        UNION ALL
        SELECT k.job_id::text
          FROM tasks k
          LEFT JOIN generic_tasks g ON g.task_id = k.id
          LEFT JOIN interactive_tasks i ON i.task_id = k.id
         WHERE k.experiment_id IS NULL AND k.job_id = ANY ($1::uuid[])
           AND ($3::int[] IS NULL OR coalesce(g.workspace_id, i.workspace_id, 1) = ANY ($3))
    """
    rows = await conn.fetch(query, list(job_ids), experiments, tasks)
    return {row["job_id"] for row in rows}

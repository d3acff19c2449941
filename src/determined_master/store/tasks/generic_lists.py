"""Generic tasks as lists show them, without their configurations.

Configurations of generic tasks have no name: lists show the program that they run.
"""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.records.tasks import ListedGenericTask
from determined_master.store.db import Conn

_ROWS = """
    SELECT g.task_id AS id, k.job_id::text, left(CASE jsonb_typeof(g.config -> 'entrypoint')
               WHEN 'array' THEN (SELECT string_agg(word, ' ')
                                    FROM jsonb_array_elements_text(g.config -> 'entrypoint') word)
               ELSE coalesce(g.config ->> 'entrypoint', g.task_id) END, 200) AS name,
           g.state, g.reason, k.user_id, coalesce(p.workspace_id, g.workspace_id) AS workspace_id,
           g.project_id, coalesce(g.config #>> '{resources,resource_pool}', '') AS resource_pool,
           coalesce((g.config #>> '{resources,slots}')::int, 0) AS slots, g.parent_id,
           g.forked_from, coalesce(g.no_pause, false) AS no_pause, k.started_at, k.ended_at,
           (SELECT a.state FROM allocations a WHERE a.task_id = g.task_id
             ORDER BY a.requested_at DESC, a.id DESC LIMIT 1) AS allocation_state
      FROM generic_tasks g JOIN tasks k ON k.id = g.task_id
      LEFT JOIN projects p ON p.id = g.project_id
"""
_IS_VISIBLE = "($1::int[] IS NULL OR coalesce(p.workspace_id, g.workspace_id) = ANY ($1))"


async def list_newest(
    conn: Conn, workspace_ids: Sequence[int] | None, limit: int
) -> list[ListedGenericTask]:
    """The newest tasks of some workspaces (None: of all)."""
    query = f"{_ROWS} WHERE {_IS_VISIBLE} ORDER BY k.started_at DESC, g.task_id LIMIT $2"
    return [ListedGenericTask(**row) for row in await conn.fetch(query, workspace_ids, limit)]


async def list_tree(
    conn: Conn, root_id: str, workspace_ids: Sequence[int] | None, limit: int
) -> list[ListedGenericTask]:
    """A task and all that descend from it, of some workspaces (None: of all), the oldest first."""
    query = f"""
        WITH RECURSIVE down AS (
            SELECT task_id FROM generic_tasks WHERE task_id = $2
            UNION
            SELECT g.task_id FROM generic_tasks g JOIN down ON g.parent_id = down.task_id)
        {_ROWS} WHERE g.task_id IN (SELECT task_id FROM down) AND {_IS_VISIBLE}
         ORDER BY k.started_at, g.task_id LIMIT $3
    """
    rows = await conn.fetch(query, workspace_ids, root_id, limit)
    return [ListedGenericTask(**row) for row in rows]

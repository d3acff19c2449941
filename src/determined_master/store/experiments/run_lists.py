"""Runs as lists show them: one narrow row to find each by, wide ones only of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.listing.paging import Page
from determined_master.records.experiments import ListedRun, RunRow
from determined_master.store.listing.page import DEFAULT_LIMIT, ListQuery
from determined_master.store.listing.sql import TableSql

if TYPE_CHECKING:
    from determined_master.store.db import Conn

MAX_FIRST_PAGE = 200
RUNS = TableSql(
    name="run",
    source="runs r",
    key="r.id",
    archived="r.archived",
    expressions={
        "id": "r.id",
        "experimentDescription": "e.description",
        "tags": "array_to_string(e.labels, ',')",
        "forkedFrom": "e.forked_from",
        "startTime": "r.started_at",
        "endTime": "r.ended_at",
        "duration": "extract(epoch FROM coalesce(r.ended_at, now()) - r.started_at)",
        "state": "r.state",
        "searcherType": "e.searcher_type",
        "resourcePool": "e.resource_pool",
        "checkpointSize": "t.checkpoint_size",
        "checkpointCount": "t.checkpoint_count",
        "user": "coalesce(nullif(u.display_name, ''), u.username)",
        "searcherMetric": "e.searcher_metric",
        "searcherMetricsVal": "r.searcher_metric",
        "externalExperimentId": "e.external_id",
        "externalRunId": "t.external_id",
        "experimentId": "r.experiment_id",
        "experimentName": "e.name",
        "experimentProgress": "e.progress",
        "isExpMultitrial": "(e.searcher_type <> 'single')::text",
        "parentArchived": "(p.archived OR w.archived)::text",
        "archived": "r.archived::text",
        "localId": "(p.key || '-' || r.number)",
        "projectId": "r.project_id",
        "logPolicyMatched": "t.log_policy_matched",
    },
    joins={
        "t": "JOIN trials t ON t.id = r.id",
        "e": "JOIN experiments e ON e.id = r.experiment_id",
        "u": "JOIN users u ON u.id = e.user_id",
        "p": "JOIN projects p ON p.id = r.project_id",
        "w": "JOIN workspaces w ON w.id = p.workspace_id",
    },
    run_of_metric="r.id",
    has_run="r.id IN ({runs})",
    of_experiment="r.experiment_id",
    totals="run_numbers",
    project="r.project_id",
)


_JOINED = """
          runs r
          JOIN trials t ON t.id = r.id
          JOIN experiments e ON e.id = r.experiment_id
          JOIN projects p ON p.id = r.project_id
          JOIN workspaces w ON w.id = p.workspace_id
"""
_VERSION = "concat_ws('.', r.xmin, t.xmin, e.xmin, p.xmin, w.xmin)"
"""Changes with every write to a run, its trial, its experiment, its project or its workspace."""
_LISTED = f"r.id, {_VERSION} AS version, r.state, r.started_at, r.ended_at"


async def find_first_page(
    conn: Conn, list_query: ListQuery
) -> tuple[list[ListedRun], Page] | None:
    """A short page of all runs, or of all in a project, by id and in one round trip.

    None for other requests, and for an empty page: no row has the total then.
    """
    limit = list_query.limit or DEFAULT_LIMIT
    is_by_id = not list_query.sorts or [sort.column for sort in list_query.sorts] == ["id"]
    if not is_by_id or list_query.filter.root.children or list_query.workspace_ids is not None:
        return None
    if list_query.offset < 0 or not 0 < limit <= MAX_FIRST_PAGE:
        return None
    order = "DESC" if list_query.sorts and list_query.sorts[0].is_descending else "ASC"
    total, clauses = "listed", ["true"]
    if not list_query.filter.show_archived:
        total, clauses = "listed - archived", ["NOT archived"]
    # Texts of their own: a plan that serves both would read all runs of all projects.
    of_project = "true" if list_query.project_id is None else "project_id = $3"
    query = f"""
        SELECT (SELECT coalesce(sum({total}), 0) FROM run_numbers WHERE {of_project}), {_LISTED}
          FROM {_JOINED}
         WHERE r.id = ANY (ARRAY (
               SELECT id FROM runs WHERE {" AND ".join([*clauses, of_project])}
                ORDER BY id {order} OFFSET $1 LIMIT $2))
         ORDER BY r.id {order}
    """
    project = [] if list_query.project_id is None else [list_query.project_id]
    records = await conn.fetch(query, list_query.offset, limit, *project)
    if not records:
        return None
    return [ListedRun(*row[1:]) for row in records], list_query.page(int(records[0][0]))


async def list_items(conn: Conn, ids: Sequence[int]) -> list[ListedRun]:
    """Runs by their ids, in that order; deleted ones are left out."""
    query = f"SELECT {_LISTED} FROM {_JOINED} WHERE r.id = ANY ($1)"
    by_id = {row["id"]: ListedRun(*row) for row in await conn.fetch(query, ids)}
    return [by_id[i] for i in ids if i in by_id]


async def list_versioned(conn: Conn, ids: Sequence[int]) -> list[tuple[str, RunRow]]:
    """Runs by their ids, each with the version that it was read in."""
    query = f"""
        SELECT {_VERSION} AS version,
               r.id, r.experiment_id, r.number, r.archived, r.state, r.searcher_metric,
               r.started_at, r.ended_at, t.hparams::text, t.summary_metrics::text,
               t.metadata::text, t.checkpoint_size, t.checkpoint_count, t.log_policy_matched,
               e.labels, e.user_id, e.searcher_type, e.searcher_metric AS searcher_metric_name,
               e.forked_from, e.external_id AS external_experiment_id,
               t.external_id AS external_run_id, e.resource_pool,
               e.progress, e.description, e.name, e.unmanaged, r.project_id,
               p.name AS project_name, p.key AS project_key, w.id AS workspace_id,
               w.name AS workspace_name, (p.archived OR w.archived) AS parent_archived
          FROM {_JOINED} WHERE r.id = ANY ($1)
    """
    records = [dict(row) for row in await conn.fetch(query, ids)]
    return [(row.pop("version"), RunRow(**row)) for row in records]


class ExperimentRun(msgspec.Struct, frozen=True):
    """A run as one of the runs of its experiment."""

    id: int
    experiment_id: int
    siblings: int
    """How many runs the experiment has, this one among them."""
    is_multitrial: bool
    workspace_id: int


async def list_members(
    conn: Conn,
    ids: Sequence[int],
    project_id: int | None = None,
    *,
    among: Sequence[int] | None = None,
) -> list[ExperimentRun]:
    """Those of the runs that exist, in the project and in these workspaces, by id."""
    query = """
        SELECT r.id, r.experiment_id,
               (SELECT count(*) FROM runs x WHERE x.experiment_id = r.experiment_id),
               e.searcher_type <> 'single', e.workspace_id
          FROM runs r JOIN experiments e ON e.id = r.experiment_id
         WHERE r.id = ANY ($1) AND ($2::int IS NULL OR r.project_id = $2)
           AND ($3::int[] IS NULL OR e.workspace_id = ANY ($3))
         ORDER BY r.id
    """
    workspace_ids = None if among is None else list(among)
    return [ExperimentRun(*row) for row in await conn.fetch(query, ids, project_id, workspace_ids)]

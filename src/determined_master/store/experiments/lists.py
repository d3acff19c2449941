"""Lists of experiments: the statements of their filters, orders and pages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from determined_master.domain.access.rules import NOWHERE
from determined_master.domain.listing.paging import Page, page_of
from determined_master.domain.states import SHOWN_WHEN_ACTIVE
from determined_master.records.experiments import DEFAULT_LIMIT, ExperimentQuery, ListItem
from determined_master.store.db import Conn
from determined_master.store.experiments import experiments as rows
from determined_master.store.listing.page import FEW, planned_for_its_values

SORTS = {
    "id": "e.id",
    "description": "e.description",
    "start_time": "e.started_at",
    "end_time": "e.ended_at",
    "state": "e.state",
    "num_trials": "e.num_trials",
    "progress": "e.progress",
    "user": "u.username",
    "name": "e.name",
    "forked_from": "e.forked_from",
    "resource_pool": "e.resource_pool",
    "project_id": "e.project_id",
    "checkpoint_size": "e.checkpoint_size",
    "checkpoint_count": "e.checkpoint_count",
    "searcher_metric_val": "CASE WHEN e.smaller_is_better THEN e.best_metric"
    " ELSE -e.best_metric END",
}

_ARCHIVED = """(e.archived OR e.project_id IN (
    SELECT p.id FROM projects p JOIN workspaces w ON w.id = p.workspace_id
     WHERE p.archived OR w.archived))"""
"""The flag of an experiment stays as it is when its project or workspace is archived."""

_COLUMNS = f"""
    e.id, {rows.VERSION} AS version, e.state, e.started_at, e.ended_at, e.best_trial_id
"""
_LISTED = f"SELECT {_COLUMNS} FROM {rows.TABLES} WHERE e.id = ANY ($1)"


async def list_items(conn: Conn, ids: Sequence[int]) -> dict[int, ListItem]:
    """Those of these experiments that exist, by id."""
    return {row[0]: ListItem(*row) for row in await conn.fetch(_LISTED, ids)}


async def list_ids(conn: Conn, experiment_query: ExperimentQuery) -> list[int]:
    """Ids of all experiments that match, ascending."""
    where, values = _where(experiment_query)
    query = f"""
        SELECT e.id FROM experiments e JOIN users u ON u.id = e.user_id {where} ORDER BY e.id
    """
    return [row["id"] for row in await conn.fetch(query, *values)]


async def find_first_page(
    conn: Conn, selection: ExperimentQuery
) -> tuple[list[ListItem], Page] | None:
    """A page of all experiments by id, in one round trip.

    None for other requests, and for an empty page: no row has the total then.
    """
    where, _ = _where(selection)
    if where or selection.sort != "id" or selection.offset < 0 or selection.limit < 0:
        return None
    order = "DESC" if selection.descending else "ASC"
    query = f"""
        SELECT (SELECT count(*) FROM experiments), {_COLUMNS}
          FROM {rows.TABLES}
         WHERE e.id = ANY (ARRAY (
               SELECT id FROM experiments ORDER BY id {order}
               OFFSET {selection.offset:d} LIMIT {selection.limit or DEFAULT_LIMIT:d}))
         ORDER BY e.id {order}
    """
    records = await conn.fetch(query)
    if not records:
        return None
    total = int(records[0][0])
    page = page_of(
        total,
        selection.offset,
        selection.limit,
        default_limit=DEFAULT_LIMIT,
        takes_minus_one=True,
    )
    return [ListItem(*row[1:]) for row in records], page


async def find_page(conn: Conn, experiment_query: ExperimentQuery) -> tuple[list[int], Page]:
    where, values = _where(experiment_query)
    # without values, and in the order of the key, there is only one way to plan it
    is_plain = not values and experiment_query.sort == "id"
    async with nullcontext() if is_plain else planned_for_its_values(conn):
        total, few = await _count(conn, where, values)
        page = page_of(
            total,
            experiment_query.offset,
            experiment_query.limit,
            default_limit=DEFAULT_LIMIT,
            takes_minus_one=True,
        )
        if page.start == page.end:
            return [], page
        if few is not None:
            where, values = "WHERE e.id = ANY ($1)", [few]
        key, order = SORTS[experiment_query.sort], "DESC" if experiment_query.descending else "ASC"
        # a key that is never NULL goes without NULLS LAST, so that its index serves both ways
        keys = f"e.id {order}" if key == "e.id" else f"{key} {order} NULLS LAST, e.id {order}"
        query = f"""
            SELECT e.id FROM {_tables(where + key)} {where} ORDER BY {keys}
            OFFSET {page.start} LIMIT {page.end - page.start}
        """
        return [row["id"] for row in await conn.fetch(query, *values)], page


async def _count(conn: Conn, where: str, values: list[Any]) -> tuple[int, list[int] | None]:
    """How many match; their ids, too, where a search through texts found only a few."""
    if "position(" in where:
        query = f"SELECT e.id FROM {_tables(where)} {where} LIMIT {FEW + 1}"
        ids = [row["id"] for row in await conn.fetch(query, *values)]
        if len(ids) <= FEW:
            return len(ids), ids
    query = f"SELECT count(*) FROM {_tables(where)} {where}"
    return int(await conn.fetchval(query, *values)), None


def _tables(text: str) -> str:
    """Experiments, and users only where something is said of them."""
    return "experiments e" + (" JOIN users u ON u.id = e.user_id" if "u." in text else "")


def _stored_states(state: str) -> tuple[str, ...]:
    """An experiment shown as running is stored as ACTIVE; a detached one is stored as shown."""
    return ("ACTIVE", "RUNNING") if state in SHOWN_WHEN_ACTIVE else (state,)


def _where(query: ExperimentQuery) -> tuple[str, list[Any]]:
    stored = sorted({s for state in query.states for s in _stored_states(state)})
    workspaces = None if query.workspace_ids is None else [NOWHERE, *query.workspace_ids]
    candidates: tuple[tuple[str, Any], ...] = (
        ("position(lower(?) in lower(e.name)) > 0", query.name),
        ("position(lower(?) in lower(e.description)) > 0", query.description),
        ("e.labels @> ?", list(query.labels)),
        ("e.state = ANY (?)", stored),
        ("u.username = ANY (?)", list(query.users)),
        ("e.user_id = ANY (?)", list(query.user_ids)),
        ("e.project_id = ?", query.project_id),
        ("e.id = ANY (?)", list(query.ids)),
        ("NOT e.id = ANY (?)", list(query.not_ids)),
        ("e.id >= ALL (?)", [] if query.id_from is None else [query.id_from]),
        ("e.workspace_id = ANY (?)", workspaces),
        ("e.id <= ALL (?)", [] if query.id_to is None else [query.id_to]),
    )
    chosen = [(clause, value) for clause, value in candidates if value]
    clauses = [c.replace("?", f"${i}") for i, (c, _) in enumerate(chosen, start=1)]
    if query.archived is not None:
        clauses.append(_ARCHIVED if query.archived else f"NOT {_ARCHIVED}")
    where = "WHERE " + " AND ".join(clauses) if clauses else ""
    return where, [v for _, v in chosen]

"""Lists of experiments: filters, sorts and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain import access
from determined_master.domain.shown_state import SHOWN_WHEN_ACTIVE
from determined_master.store import experiments as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access import Caller

DEFAULT_LIMIT = 100
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
    "searcher_metric_val": "e.best_metric",
}


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which experiments, in which order, and which part of them; empty means all."""

    name: str = ""
    description: str = ""
    labels: Sequence[str] = ()
    archived: bool | None = None
    states: Sequence[str] = ()
    users: Sequence[str] = ()
    user_ids: Sequence[int] = ()
    project_id: int = 0
    ids: Sequence[int] = ()
    not_ids: Sequence[int] = ()
    id_from: int | None = None
    id_to: int | None = None
    sort: str = "id"
    descending: bool = False
    offset: int = 0
    limit: int = 0


class ExperimentList(msgspec.Struct, frozen=True):
    """One page and how many there are in all."""

    experiments: Sequence[rows.ExperimentRow]
    total: int
    start: int


class ExperimentLists:
    """Lists of experiments."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def find(self, caller: Caller, wanted: Wanted) -> ExperimentList:
        """The experiments that match, one page of them."""
        access.may(caller, "read", "experiment")
        where, values = _where(wanted)
        async with self._pool.acquire() as conn:
            count = f"SELECT count(*) FROM experiments e JOIN users u ON u.id = e.user_id {where}"
            total = int(await conn.fetchval(count, *values))
            start, size = bounds(wanted.offset, wanted.limit, total)
            order = "DESC" if wanted.descending else "ASC"
            query = f"""
                SELECT {rows.COLUMNS} FROM {rows.TABLES} {where}
                 ORDER BY {SORTS[wanted.sort]} {order} NULLS LAST, e.id {order}
                 OFFSET {start} LIMIT {size}
            """
            found = await conn.fetch(query, *values) if size else []
        return ExperimentList([rows.ExperimentRow(**r) for r in found], total, start)


def bounds(offset: int, limit: int, total: int) -> tuple[int, int]:
    """Where a page starts and how many rows it has.

    A negative offset counts from the end; limit 0 is the default of 100, -1 means all, and
    anything below that is an empty page.
    """
    start = max(0, total + offset) if offset < 0 else min(offset, total)
    if limit == -1:
        return start, total - start
    if limit < -1:
        return start, 0
    return start, min(limit or DEFAULT_LIMIT, total - start)


def _where(wanted: Wanted) -> tuple[str, list[Any]]:
    stored = sorted({"ACTIVE" if s in SHOWN_WHEN_ACTIVE else s for s in wanted.states})
    archived = [] if wanted.archived is None else [wanted.archived]
    candidates: tuple[tuple[str, Any], ...] = (
        ("position(lower(?) in lower(e.name)) > 0", wanted.name),
        ("position(lower(?) in lower(e.description)) > 0", wanted.description),
        ("e.labels @> ?", list(wanted.labels)),
        ("e.archived = ANY (?)", archived),
        ("e.state = ANY (?)", stored),
        ("u.username = ANY (?)", list(wanted.users)),
        ("e.user_id = ANY (?)", list(wanted.user_ids)),
        ("e.project_id = ?", wanted.project_id),
        ("e.id = ANY (?)", list(wanted.ids)),
        ("NOT e.id = ANY (?)", list(wanted.not_ids)),
        ("e.id >= ALL (?)", [] if wanted.id_from is None else [wanted.id_from]),
        ("e.id <= ALL (?)", [] if wanted.id_to is None else [wanted.id_to]),
    )
    chosen = [(clause, value) for clause, value in candidates if value]
    clauses = [c.replace("?", f"${i}") for i, (c, _) in enumerate(chosen, start=1)]
    where = "WHERE " + " AND ".join(clauses) if clauses else ""
    return where, [v for _, v in chosen]

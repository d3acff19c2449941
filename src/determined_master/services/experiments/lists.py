"""Lists of experiments: filters, sorts and pages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.listing.paging import Page, page_of
from determined_master.domain.states import SHOWN_WHEN_ACTIVE
from determined_master.store.experiments import experiments as rows
from determined_master.store.listing.page import FEW, planned_for_its_values

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn

DEFAULT_LIMIT = 100
MAX_RENDERED = 2000
RENDERED_AT_ONCE = 25
"""With 50 hyperparameters each takes 0.25 ms."""
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


_COLUMNS = f"""
    e.id, {rows.VERSION} AS version, e.state, e.started_at, e.ended_at, e.best_trial_id
"""
_LISTED = f"SELECT {_COLUMNS} FROM {rows.TABLES} WHERE e.id = ANY ($1)"


class ExperimentQuery(msgspec.Struct, frozen=True, kw_only=True):
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
    workspace_ids: Sequence[int] | None = None
    """Those that the caller sees; None for all."""
    sort: str = "id"
    descending: bool = False
    offset: int = 0
    limit: int = 0


class ListItem(msgspec.Struct, frozen=True):
    """The fields that a list reads of every experiment; the rest only for a new `version`."""

    id: int
    version: str
    """Another text whenever one of the rows behind an item was written."""
    state: str
    started_at: datetime
    ended_at: datetime | None
    best_trial_id: int | None


class Rendered(msgspec.Struct, frozen=True):
    """The JSON of an experiment without what changes while its row does not."""

    always: bytes
    """An object's members, without its last brace."""
    best_metric: bytes
    """One more member, empty or beginning with a comma, for those who ask for it."""


class ExperimentList(msgspec.Struct, frozen=True):
    """One page, and how many experiments there are in all."""

    items: Sequence[tuple[ListItem, Rendered]]
    page: Page


class ExperimentLists:
    """Lists of experiments.

    `render` turns a row into JSON, which is kept until the row changes: a list then costs a
    narrow query instead of fifty configurations.
    """

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db
        self._rendered: OrderedDict[int, tuple[str, Rendered]] = OrderedDict()

    async def find(
        self,
        caller: Caller,
        wanted: ExperimentQuery,
        render: Callable[[rows.ExperimentRow], Rendered],
    ) -> ExperimentList:
        """The experiments that match, one page of them."""
        access.may(caller, "read", "experiment")
        seen = access.visible(caller, "experiment")
        wanted = msgspec.structs.replace(wanted, workspace_ids=seen)
        async with self._db.acquire() as conn:
            found = await _plain_page(conn, wanted)
            if found is not None:
                listed, page = found
                return ExperimentList(await self._rendered_items(conn, listed, render), page)
            ids, page = await _page(conn, wanted)
            return ExperimentList(await self.items(conn, ids, render), page)

    async def items(
        self,
        conn: Conn,
        ids: Sequence[int],
        render: Callable[[rows.ExperimentRow], Rendered],
    ) -> list[tuple[ListItem, Rendered]]:
        """Experiments by their ids, in that order; one that is gone is left out."""
        listed = {row[0]: ListItem(*row) for row in await conn.fetch(_LISTED, ids)}
        return await self._rendered_items(conn, [listed[i] for i in ids if i in listed], render)

    async def _rendered_items(
        self,
        conn: Conn,
        listed: Sequence[ListItem],
        render: Callable[[rows.ExperimentRow], Rendered],
    ) -> list[tuple[ListItem, Rendered]]:
        """Kept parts of those whose rows have not changed since, the others rendered again."""
        known = self._rendered
        shown: dict[int, tuple[str, Rendered]] = {}
        stale: list[int] = []
        for row in listed:
            kept = known.get(row.id)
            if kept is not None and kept[0] == row.version:
                shown[row.id] = kept
            else:
                stale.append(row.id)
        for start in range(0, len(stale), RENDERED_AT_ONCE):
            some = stale[start : start + RENDERED_AT_ONCE]
            found = await rows.list_versioned(conn, some)
            shown |= {row.id: (version, render(row)) for version, row in found}
            known.update({i: shown[i] for i in some if i in shown})
            while len(known) > MAX_RENDERED:
                known.popitem(last=False)
        return [(row, shown[row.id][1]) for row in listed if row.id in shown]


async def list_ids(conn: Conn, wanted: ExperimentQuery) -> list[int]:
    """Ids of all experiments that match, ascending."""
    where, values = _where(wanted)
    query = f"""
        SELECT e.id FROM experiments e JOIN users u ON u.id = e.user_id {where} ORDER BY e.id
    """
    return [row["id"] for row in await conn.fetch(query, *values)]


async def _plain_page(conn: Conn, wanted: ExperimentQuery) -> tuple[list[ListItem], Page] | None:
    """A page of all experiments by id, in one round trip.

    None where that is not asked for, and where the page is empty: no row has the total then.
    """
    where, _ = _where(wanted)
    if where or wanted.sort != "id" or wanted.offset < 0 or wanted.limit < 0:
        return None
    order = "DESC" if wanted.descending else "ASC"
    query = f"""
        SELECT (SELECT count(*) FROM experiments), {_COLUMNS}
          FROM {rows.TABLES}
         WHERE e.id = ANY (ARRAY (
               SELECT id FROM experiments ORDER BY id {order}
               OFFSET {wanted.offset:d} LIMIT {wanted.limit or DEFAULT_LIMIT:d}))
         ORDER BY e.id {order}
    """
    found = await conn.fetch(query)
    if not found:
        return None
    total = int(found[0][0])
    page = page_of(
        total, wanted.offset, wanted.limit, default_limit=DEFAULT_LIMIT, takes_minus_one=True
    )
    return [ListItem(*row[1:]) for row in found], page


async def _page(conn: Conn, wanted: ExperimentQuery) -> tuple[list[int], Page]:
    where, values = _where(wanted)
    # without values, and in the order of the key, there is only one way to plan it
    is_plain = not values and wanted.sort == "id"
    async with nullcontext() if is_plain else planned_for_its_values(conn):
        total, few = await _count(conn, where, values)
        page = page_of(
            total, wanted.offset, wanted.limit, default_limit=DEFAULT_LIMIT, takes_minus_one=True
        )
        if page.start == page.end:
            return [], page
        if few is not None:
            where, values = "WHERE e.id = ANY ($1)", [few]
        key, order = SORTS[wanted.sort], "DESC" if wanted.descending else "ASC"
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
        found = [row["id"] for row in await conn.fetch(query, *values)]
        if len(found) <= FEW:
            return len(found), found
    query = f"SELECT count(*) FROM {_tables(where)} {where}"
    return int(await conn.fetchval(query, *values)), None


def _tables(text: str) -> str:
    """Experiments, and users only where something is said of them."""
    return "experiments e" + (" JOIN users u ON u.id = e.user_id" if "u." in text else "")


def _stored_states(shown: str) -> tuple[str, ...]:
    """An experiment shown as running is stored as ACTIVE; a detached one is stored as shown."""
    return ("ACTIVE", "RUNNING") if shown in SHOWN_WHEN_ACTIVE else (shown,)


def _where(wanted: ExperimentQuery) -> tuple[str, list[Any]]:
    stored = sorted({s for state in wanted.states for s in _stored_states(state)})
    archived = [] if wanted.archived is None else [wanted.archived]
    seen = None if wanted.workspace_ids is None else [access.NOWHERE, *wanted.workspace_ids]
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
        ("e.workspace_id = ANY (?)", seen),
        ("e.id <= ALL (?)", [] if wanted.id_to is None else [wanted.id_to]),
    )
    chosen = [(clause, value) for clause, value in candidates if value]
    clauses = [c.replace("?", f"${i}") for i, (c, _) in enumerate(chosen, start=1)]
    where = "WHERE " + " AND ".join(clauses) if clauses else ""
    return where, [v for _, v in chosen]

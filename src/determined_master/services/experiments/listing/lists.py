"""Lists of experiments: filters, sorts and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.listing.paging import Page
from determined_master.ports import answer_memory
from determined_master.records.experiments import ExperimentQuery, ExperimentRow, ListItem
from determined_master.services.answer_cache import AnswerCache, CacheBudget
from determined_master.services.broken_rows import may_be_of_row, sound_rows
from determined_master.store.experiments import experiments as rows
from determined_master.store.experiments import lists

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn

RENDERED_AT_ONCE = 25
"""With 50 hyperparameters each takes 0.25 ms."""


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

    def __init__(self, db: asyncpg.Pool, memory: CacheBudget) -> None:
        self._db = db
        self._rendered: AnswerCache[int, Rendered] = AnswerCache(memory, "experiment")

    async def find(
        self,
        caller: Caller,
        wanted: ExperimentQuery,
        render: Callable[[ExperimentRow], Rendered],
    ) -> ExperimentList:
        """The experiments that match, one page of them."""
        access.may(caller, "read", "experiment")
        seen = access.visible(caller, "experiment")
        wanted = msgspec.structs.replace(wanted, workspace_ids=seen)
        async with self._db.acquire() as conn:
            try:
                first = await lists.find_first_page(conn, wanted)
                if first is not None:
                    listed, page = first
                    return ExperimentList(await self._rendered_items(conn, listed, render), page)
            except Exception as error:
                if not may_be_of_row(error):
                    raise
            ids, page = await lists.find_page(conn, wanted)
            items = await sound_rows(ids, lambda some: self.items(conn, some, render))
            return ExperimentList(items, page)

    async def items(
        self,
        conn: Conn,
        ids: Sequence[int],
        render: Callable[[ExperimentRow], Rendered],
    ) -> list[tuple[ListItem, Rendered]]:
        """Experiments by their ids, in that order; deleted ones are left out."""
        listed = await lists.list_items(conn, ids)
        return await self._rendered_items(conn, [listed[i] for i in ids if i in listed], render)

    async def _rendered_items(
        self,
        conn: Conn,
        listed: Sequence[ListItem],
        render: Callable[[ExperimentRow], Rendered],
    ) -> list[tuple[ListItem, Rendered]]:
        """Kept parts of those whose rows have not changed since, the others rendered again.

        Raises:
            ResourceExhausted: the answers of the caller take too much memory.
        """
        known = self._rendered
        shown: dict[int, Rendered] = {}
        stale: list[int] = []
        for row in listed:
            kept = known.find(row.id, row.version)
            if kept is not None:
                shown[row.id] = kept
                answer_memory.hold(len(kept.always))
            else:
                stale.append(row.id)
        for start in range(0, len(stale), RENDERED_AT_ONCE):
            some = stale[start : start + RENDERED_AT_ONCE]
            for version, found in await rows.list_versioned(conn, some):
                rendered = shown[found.id] = render(found)
                size = len(rendered.always) + len(rendered.best_metric)
                known.keep(found.id, version, rendered, size)
                answer_memory.hold(size)
        return [(row, shown[row.id]) for row in listed if row.id in shown]

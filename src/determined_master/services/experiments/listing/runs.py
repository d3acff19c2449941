"""Lists of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.listing.filters import parse_filter, parse_sort
from determined_master.domain.listing.groups import GroupedRows, parse_grouping
from determined_master.domain.listing.paging import Page
from determined_master.domain.states import shown_state
from determined_master.records.experiments import ListedRun, RunRow
from determined_master.services.answer_cache import AnswerCache, CacheBudget
from determined_master.services.broken_rows import may_be_of_row
from determined_master.store.experiments import run_lists as rows
from determined_master.store.experiments.run_groups import find_groups
from determined_master.store.listing.page import ListQuery, find_page

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.listing.columns import Table
    from determined_master.pools.live import LiveAllocations
    from determined_master.store.db import Conn


GROUPINGS_AT_ONCE = 2
"""Groups of 100,000 runs take the database most of a second."""


class Search(msgspec.Struct, frozen=True):
    """A request in the search language, as it came."""

    project_id: int | None = None
    filter: str | None = None
    sort: str | None = None
    offset: int = 0
    limit: int = 0

    def parsed(self, table: Table, workspace_ids: Sequence[int] | None) -> ListQuery:
        """The request with its texts read, in the workspaces that its caller sees (None: all).

        Raises:
            InvalidArgument: the filter or the sort is none, or names what does not exist.
        """
        return ListQuery(
            filter=parse_filter(self.filter, table),
            sorts=parse_sort(self.sort, table),
            project_id=self.project_id or None,
            workspace_ids=workspace_ids,
            offset=self.offset,
            limit=self.limit,
        )


class RenderedRun(msgspec.Struct, frozen=True):
    """A run as lists show it: the JSON that its rows decide, and the state that users see."""

    listed: ListedRun
    state: str
    members: bytes
    """An object's members, without its last brace, its state and its duration."""


Render = Callable[[RunRow], bytes]


class FoundRuns(msgspec.Struct, frozen=True):
    """A page of runs; `runs` are there when they were read with it."""

    ids: Sequence[int]
    page: Page
    runs: Sequence[RenderedRun] | None = None


class Runs:
    """Runs of all projects.

    `render` turns a row into JSON, which is kept until one of the run's rows changes.
    """

    def __init__(self, db: asyncpg.Pool, live: LiveAllocations, memory: CacheBudget) -> None:
        self._db = db
        self._live = live
        self._rendered: AnswerCache[int, bytes] = AnswerCache(memory, "run")
        self._groupings = asyncio.Semaphore(GROUPINGS_AT_ONCE)

    async def search(self, caller: Caller, search: Search, render: Render) -> FoundRuns:
        """The runs that match, one page of them; their ids are for `list_some`.

        Raises:
            InvalidArgument: the filter, the sort or the page is wrong.
        """
        access.may(caller, "read", "experiment")
        wanted = search.parsed("run", access.visible(caller, "experiment"))
        async with self._db.acquire() as conn:
            try:
                first = await rows.find_first_page(conn, wanted)
                if first is not None:
                    listed, page = first
                    shown = await self._render(conn, listed, render)
                    return FoundRuns([row.id for row in listed], page, shown)
            except Exception as error:
                if not may_be_of_row(error):
                    raise
            return FoundRuns(*await find_page(conn, rows.RUNS, wanted))

    async def list_some(self, ids: Sequence[int], render: Render) -> list[RenderedRun]:
        """The runs that `search` has found, in that order; deleted ones are left out."""
        async with self._db.acquire() as conn:
            return await self._render(conn, await rows.list_items(conn, ids), render)

    async def groups(
        self, caller: Caller, search: Search, by: str, columns: Sequence[str]
    ) -> GroupedRows:
        """The runs that match, in groups of equal values of `by`, with figures of `columns`.

        Raises:
            InvalidArgument: the filter or a column is wrong.
        """
        access.may(caller, "read", "experiment")
        grouping = parse_grouping(by, columns)
        wanted = search.parsed("run", access.visible(caller, "experiment"))
        async with self._groupings, self._db.acquire() as conn:
            return await find_groups(conn, wanted, grouping)

    async def _render(
        self, conn: Conn, listed: Sequence[ListedRun], render: Render
    ) -> list[RenderedRun]:
        """Kept parts of those whose rows have not changed since, the others rendered again."""
        found = {row.id: self._rendered.find(row.id, row.version) for row in listed}
        stale = [run_id for run_id, members in found.items() if members is None]
        if stale:
            for version, row in await rows.list_versioned(conn, stale):
                rendered = found[row.id] = render(row)
                self._rendered.keep(row.id, version, rendered, len(rendered))
        return [
            RenderedRun(row, shown_state(row.state, self._live.states_of_trial(row.id)), members)
            for row in listed
            if (members := found[row.id]) is not None
        ]

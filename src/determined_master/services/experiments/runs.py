"""Lists of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.listing.filters import parse_filter, parse_sort
from determined_master.domain.listing.paging import Page
from determined_master.domain.states import shown_state
from determined_master.records.experiments import RunRow
from determined_master.store.experiments import run_lists as rows
from determined_master.store.listing.page import ListQuery, find_page

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.listing.columns import Table
    from determined_master.pools.live import LiveAllocations


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


class ShownRun(msgspec.Struct, frozen=True):
    """A run and the state that users are shown."""

    row: RunRow
    state: str


class Runs:
    """Runs of all projects."""

    def __init__(self, db: asyncpg.Pool, live: LiveAllocations) -> None:
        self._db = db
        self._live = live

    async def search(self, caller: Caller, search: Search) -> tuple[list[int], Page]:
        """Ids of the runs that match, one page of them, for `list_some`.

        Raises:
            InvalidArgument: the filter, the sort or the page is wrong.
        """
        access.may(caller, "read", "experiment")
        wanted = search.parsed("run", access.visible(caller, "experiment"))
        async with self._db.acquire() as conn:
            return await find_page(conn, rows.RUNS, wanted)

    async def list_some(self, ids: Sequence[int]) -> list[ShownRun]:
        """The runs that `search` has found, in that order; deleted ones are left out."""
        async with self._db.acquire() as conn:
            found = await rows.list_runs(conn, ids)
        return [ShownRun(row, self._shown(row)) for row in found]

    def _shown(self, row: RunRow) -> str:
        return shown_state(row.state, self._live.states_of_trial(row.id))

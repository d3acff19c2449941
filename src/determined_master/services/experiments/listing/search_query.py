"""Experiments found by the search language, each with its best trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.listing.paging import Page
from determined_master.records.experiments import ListItem
from determined_master.services.experiments.listing.lists import ExperimentLists, Rendered
from determined_master.services.experiments.trials import TrialPage, Trials
from determined_master.store.experiments.search_query import EXPERIMENTS
from determined_master.store.listing.page import find_page

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.records.experiments import ExperimentRow
    from determined_master.services.experiments.listing.runs import Search


class FoundExperiment(msgspec.Struct, frozen=True):
    """One experiment and its best trial, once it has one."""

    listed: ListItem
    rendered: Rendered
    best: TrialPage | None


class ExperimentSearch:
    """Searches among experiments."""

    def __init__(self, db: asyncpg.Pool, lists: ExperimentLists, trials: Trials) -> None:
        self._db = db
        self._lists = lists
        self._trials = trials

    async def search(self, caller: Caller, search: Search) -> tuple[list[int], Page]:
        """Ids of the experiments that match, one page of them, for `list_some`.

        Raises:
            InvalidArgument: the filter, the sort or the page is wrong.
        """
        access.may(caller, "read", "experiment")
        wanted = search.parsed("experiment", access.visible(caller, "experiment"))
        async with self._db.acquire() as conn:
            return await find_page(conn, EXPERIMENTS, wanted)

    async def list_some(
        self, ids: Sequence[int], render: Callable[[ExperimentRow], Rendered]
    ) -> list[FoundExperiment]:
        """The result of `search`, in that order; deleted ones are left out."""
        async with self._db.acquire() as conn:
            items = await self._lists.items(conn, ids, render)
        best_ids = [listed.best_trial_id for listed, _ in items if listed.best_trial_id]
        best = await self._trials.pages(best_ids) if best_ids else {}
        return [FoundExperiment(li, re, best.get(li.best_trial_id or 0)) for li, re in items]

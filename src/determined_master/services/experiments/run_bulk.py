"""Does the same to many runs; each succeeds or fails independently.

Only ending is something that a run does for itself. It is archived, moved and deleted with its
search, so all runs of that search must be meant. A run of a search of several is not paused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.services.experiments.bulk import Act, Result, error_of
from determined_master.services.experiments.listing.runs import Search
from determined_master.store.experiments import run_lists as rows
from determined_master.store.listing.page import find_page

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.store.experiments.run_lists import ExperimentRun

MAX_NAMED = 5


class RunSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs: those named, or all that a filter of the search language matches."""

    project_id: int = 0
    """0 or -1 for all projects."""
    ids: Sequence[int] = ()
    filter: str | None = None
    """Takes the place of `ids` when given."""


class RunBulk:
    """Actions on many runs."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def each(self, caller: Caller, selection: RunSelection, act: Act) -> list[Result]:
        """Do `act` to each run; those that do not exist come first in the answer."""
        members, results = await self._members(caller, selection)
        for member in members:
            if access.can(caller, "control", "experiment", workspace_id=member.workspace_id):
                error = await error_of(act, caller, member.id)
            else:
                error = access.refusal_of(
                    caller, "control", "experiment", member.workspace_id
                ).text
            results.append(Result(member.id, error))
        return results

    async def each_search(
        self, caller: Caller, selection: RunSelection, act: Act, *, verb: str
    ) -> list[Result]:
        """Do `act` to the experiment of each run, if all of its runs are selected.

        Args:
            verb: the action, for the text that refuses a part of a search. Runs of a search of
                several are not paused or resumed at all.
        """
        members, results = await self._members(caller, selection)
        for experiment_id, some in _by_experiment(members).items():
            if verb in ("pause", "resume") and some[0].is_multitrial:
                results += [
                    Result(m.id, f"Cannot pause/unpause run '{m.id}' (part of multi-trial).")
                    for m in some
                ]
                continue
            if len(some) < some[0].siblings:
                named = ", ".join(str(m.id) for m in some[:MAX_NAMED])
                error = (
                    f"cannot {verb} {len(some)} of the {some[0].siblings} trials of experiment "
                    f"{experiment_id} ({named}): {verb} the experiment, or select all its trials"
                )
            else:
                error = await error_of(act, caller, experiment_id)
            results += [Result(member.id, error) for member in some]
        return results

    async def move(
        self, caller: Caller, selection: RunSelection, act: Act, *, skip_multitrial: bool
    ) -> list[Result]:
        """Move each run with its search, and so with that search's other runs.

        Args:
            skip_multitrial: leave out searches of several runs, without results for their runs.
        """
        members, results = await self._members(caller, selection)
        for experiment_id, some in _by_experiment(members).items():
            if skip_multitrial and some[0].is_multitrial:
                continue
            error = await error_of(act, caller, experiment_id)
            results += [Result(member.id, error) for member in some]
        return results

    async def _members(
        self, caller: Caller, selection: RunSelection
    ) -> tuple[list[ExperimentRun], list[Result]]:
        access.may(caller, "read", "experiment")
        seen = access.visible(caller, "experiment")
        project_id = selection.project_id if selection.project_id > 0 else None
        async with self._db.acquire() as conn:
            if selection.filter is None:
                asked = list(dict.fromkeys(selection.ids))
            else:
                search = Search(project_id, selection.filter, limit=-1)
                asked, _ = await find_page(conn, rows.RUNS, search.parsed("run", seen))
            members = await rows.list_members(conn, asked, project_id, among=seen)
        known = {member.id for member in members}
        return members, [Result(i, f"run '{i}' not found") for i in asked if i not in known]


def _by_experiment(members: Sequence[ExperimentRun]) -> dict[int, list[ExperimentRun]]:
    grouped: dict[int, list[ExperimentRun]] = {}
    for member in members:
        grouped.setdefault(member.experiment_id, []).append(member)
    return grouped

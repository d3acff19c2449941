"""Does the same to many experiments of a project; each succeeds or fails independently."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import DetError
from determined_master.records.experiments import ExperimentQuery
from determined_master.store.experiments.lists import list_ids

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller

Act = Callable[["Caller", int], Awaitable[object]]


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which experiments: those named, or all that a filter matches."""

    project_id: int
    """0 for all projects."""
    ids: Sequence[int] = ()
    filter: ExperimentQuery | None = None
    """Takes the place of `ids` when given."""


class Result(msgspec.Struct, frozen=True):
    """The result for one experiment; no error means success."""

    id: int
    error: str = ""


class ExperimentBulk:
    """Actions on many experiments."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def each(self, caller: Caller, selection: Selection, act: Act) -> list[Result]:
        """Do `act` to each; those that do not exist come first in the answer."""
        access.may(caller, "read", "experiment")
        seen = access.visible(caller, "experiment")
        async with self._db.acquire() as conn:
            if selection.filter is not None:
                chosen = msgspec.structs.replace(selection.filter, workspace_ids=seen)
                found = await list_ids(conn, chosen)
                missing: list[int] = []
            else:
                asked = list(dict.fromkeys(selection.ids))
                wanted = ExperimentQuery(
                    ids=asked, project_id=selection.project_id, workspace_ids=seen
                )
                found = await list_ids(conn, wanted) if asked else []
                present = set(found)
                missing = [i for i in asked if i not in present]
        results = [Result(i, f"experiment '{i}' not found") for i in missing]
        for experiment_id in found:
            results.append(Result(experiment_id, await error_of(act, caller, experiment_id)))
        return results


async def error_of(act: Act, caller: Caller, id: int) -> str:
    """Do it; why it was refused, empty when it was not."""
    try:
        await act(caller, id)
    except DetError as error:
        return error.text
    return ""

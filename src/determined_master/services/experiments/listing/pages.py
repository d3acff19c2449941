"""Pages of single experiments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.services.answer_cache import AnswerCache, CacheBudget
from determined_master.store.experiments import experiments as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.records.experiments import ExperimentVersion


class ExperimentPage(msgspec.Struct, frozen=True):
    """The JSON of an experiment that its rows decide."""

    members: bytes
    """An object's members, without its last brace and its state."""
    config: bytes


class ExperimentPages:
    """Pages of experiments; each is kept until a row behind it changes."""

    def __init__(self, db: asyncpg.Pool, memory: CacheBudget) -> None:
        self._db = db
        self._kept: AnswerCache[tuple[int, bool], ExperimentPage] = AnswerCache(memory, "page")

    async def find(
        self, caller: Caller, experiment_id: int, render: Callable[[], Awaitable[ExperimentPage]]
    ) -> tuple[ExperimentVersion, ExperimentPage]:
        """The page of an experiment, made by `render` if none of its version is kept.

        Raises:
            NotFound: none has that id, or the caller may not see it.
        """
        async with self._db.acquire() as conn:
            now = await rows.find_version(conn, experiment_id)
        missing = f"experiment '{experiment_id}' not found"
        if now is None:
            raise NotFound(missing)
        access.may_see(caller, "experiment", now.workspace_id, missing)
        access.may(caller, "read", "experiment")
        # Others are shown the submitted configuration without its secrets.
        key = (experiment_id, caller.is_admin or caller.user_id == now.user_id)
        page = self._kept.find(key, now.version)
        if page is None:
            page = await render()
            self._kept.keep(key, now.version, page, len(page.members) + len(page.config))
        return now, page

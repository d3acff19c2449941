"""Use cases of tasks of every type."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.records.tasks import TaskRow
from determined_master.store.experiments import experiments
from determined_master.store.tasks import generic_tasks, interactive_tasks
from determined_master.store.tasks import tasks as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller


MAX_OWNERS = 10_000
"""Owners of tasks that are kept in memory; they never change."""


class Tasks:
    """Tasks, and the directories that they run in."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db
        self._owners: OrderedDict[str, int | None] = OrderedDict()

    async def get(self, caller: Caller, task_id: str) -> TaskRow:
        """One task."""
        access.may(caller, "read", "task")
        async with self._db.acquire() as conn:
            row = await rows.find_task(conn, task_id)
        if row is None:
            raise NotFound(f"task '{task_id}' not found")
        return row

    async def is_owner(self, user_id: int, task_id: str) -> bool:
        """Whether a user owns a task."""
        if task_id not in self._owners:
            async with self._db.acquire() as conn:
                self._owners[task_id] = await rows.find_user(conn, task_id)
            if len(self._owners) > MAX_OWNERS:
                self._owners.popitem(last=False)
        return self._owners[task_id] == user_id

    async def context_directory(self, caller: Caller, task_id: str) -> bytes:
        """The directory that it starts in as tar.gz; empty when there is none.

        It is its own, or the model directory of its experiment.
        """
        task = await self.get(caller, task_id)
        async with self._db.acquire() as conn:
            group = TASK_KINDS[task.type].group
            if group == "generic":
                return await generic_tasks.find_context(conn, task_id) or b""
            if group == "interactive":
                return await interactive_tasks.find_context(conn, task_id) or b""
            if task.experiment_id is None:
                return b""
            return await experiments.find_model_definition(conn, task.experiment_id) or b""

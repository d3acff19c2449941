"""Use cases of tasks of every type."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.domain.interactive_task.messages import INTERACTIVE_KINDS
from determined_master.store.experiments import experiments
from determined_master.store.tasks import generic_tasks, interactive_tasks

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One task."""

    id: str
    type: str
    job_id: str
    trial_id: int | None
    experiment_id: int | None
    user_id: int
    started_at: datetime
    ended_at: datetime | None


class Tasks:
    """Tasks, and the directories that they run in."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def get(self, caller: Caller, task_id: str) -> TaskRow:
        """One task."""
        access.may(caller, "read", "task")
        query = """
            SELECT id, type, job_id::text, trial_id, experiment_id, user_id, started_at, ended_at
              FROM tasks WHERE id = $1
        """
        async with self._db.acquire() as conn:
            row = await conn.fetchrow(query, task_id)
        if row is None:
            raise NotFound(f"task '{task_id}' not found")
        return TaskRow(**row)

    async def context_directory(self, caller: Caller, task_id: str) -> bytes:
        """The directory that it starts in as tar.gz; empty when there is none.

        It is its own, or the model directory of its experiment.
        """
        task = await self.get(caller, task_id)
        async with self._db.acquire() as conn:
            if task.type == "GENERIC":
                return await generic_tasks.find_context(conn, task_id) or b""
            if task.type in INTERACTIVE_KINDS:
                return await interactive_tasks.find_context(conn, task_id) or b""
            if task.experiment_id is None:
                return b""
            return await experiments.find_model_definition(conn, task.experiment_id) or b""

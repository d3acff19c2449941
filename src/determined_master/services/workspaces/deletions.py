"""Deleting projects and workspaces: their tasks and experiments go first, which takes its time.

A deletion is recorded in its row before anything below is touched, so a master that starts
again continues with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from determined_master import entropy
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.aggregates.generic_tasks import GENERIC_TASK
from determined_master.aggregates.interactive_tasks import INTERACTIVE_TASK
from determined_master.domain.access import rules as access
from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.experiment.messages import DeletionRequested, ExperimentKilled
from determined_master.domain.generic_task.messages import TaskKilled
from determined_master.domain.ids import ExperimentId, TaskId
from determined_master.domain.interactive_task import messages as interactive
from determined_master.domain.states import ENDED, TERMINAL
from determined_master.engine.causes import Occurrence, OnlyOnce
from determined_master.services.cluster.pool_bindings import warn_of_nobody
from determined_master.store.cluster import pool_bindings
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.tasks import generic_tasks, interactive_tasks
from determined_master.store.workspaces import projects as rows
from determined_master.store.workspaces import workspaces

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.store.db import Conn

log = logging.getLogger(__name__)

POLL_S = 0.5
"""Between checks of deletions in progress; without any there are no checks."""
NAMED_AT_MOST = 10


class ProjectDeletions:
    """Projects and workspaces on their way out."""

    def __init__(self, engine: Engine, db: asyncpg.Pool) -> None:
        self._engine = engine
        self._db = db
        self._news = asyncio.Event()
        self._lock = asyncio.Lock()
        """Nobody settles between the mark on a project and the deletions that follow."""

    async def delete_project(self, caller: Caller, project_id: int) -> bool:
        """Start to delete a project; returns whether it is deleted already.

        Generic tasks in it are killed.

        Raises:
            FailedPrecondition: an experiment has not ended.
            PermissionDenied: an experiment belongs to another user.
        """
        async with self._lock:
            async with self._db.acquire() as conn, conn.transaction():
                await _check_ended(conn, project_id)
                ids = await _mark(conn, caller, [project_id])
            self._news.set()
            async with self._db.acquire() as conn:
                await self._end_tasks(conn, [project_id])
                await self._delete_experiments(ids)
                async with conn.transaction():
                    return await _settle_project(conn, project_id)

    async def delete_workspace(self, caller: Caller, workspace_id: int) -> bool:
        """The same for a workspace with all its projects.

        Experiments that have not ended and interactive tasks are killed, too, as in 0.38.1:
        scripts that clean up rely on it.
        """
        async with self._lock:
            async with self._db.acquire() as conn, conn.transaction():
                projects = [i for i, _ in await rows.list_project_states(conn, workspace_id)]
                ids = await _mark(conn, caller, projects)
                values = {"state": "DELETING", "error_message": ""}
                await workspaces.update_workspace(conn, workspace_id, values)
            self._news.set()
            async with self._db.acquire() as conn:
                await self._end_tasks(conn, projects)
                await self._end_interactive(conn, workspace_id)
                await self._kill_experiments(conn, workspace_id)
                await self._delete_experiments(ids)
                async with conn.transaction():
                    for project_id in projects:
                        await _settle_project(conn, project_id)
                    return await _settle_workspace(conn, workspace_id)

    async def run(self) -> None:
        """Finish what experiments have left empty, until cancelled."""
        self._news.set()  # started by an earlier master
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                if await self.settle():
                    self._news.set()
                    await asyncio.sleep(POLL_S)
            except DATABASE_ERRORS:
                log.warning("the deletion of projects waits for the database")
                self._news.set()
                await asyncio.sleep(POLL_S)

    async def settle(self) -> bool:
        """Remove empty projects, give up impossible ones; returns whether work is left."""
        async with self._lock, self._db.acquire() as conn:
            for workspace_id in await workspaces.list_leaving_workspaces(conn):
                await self._kill_experiments(conn, workspace_id)
            leaving = await rows.list_leaving_projects(conn)
            await self._end_tasks(conn, leaving)
            await self._delete_experiments(
                [i for i, _, state in await rows.list_owned(conn, leaving) if state in TERMINAL]
            )
            for project_id in leaving:
                async with conn.transaction():
                    await _settle_project(conn, project_id)
            for workspace_id in await workspaces.list_leaving_workspaces(conn):
                await self._end_interactive(conn, workspace_id)
                async with conn.transaction():
                    await _settle_workspace(conn, workspace_id)
            leaving = await rows.list_leaving_projects(conn)
            return bool(leaving or await workspaces.list_leaving_workspaces(conn))

    async def _end_tasks(self, conn: Conn, project_ids: Sequence[int]) -> None:
        """Order the end of tasks that nobody ends yet; orders outlive this master."""
        for task_id in await generic_tasks.list_unended(conn, project_ids):
            await self._engine.post(
                GENERIC_TASK, TaskId(task_id), TaskKilled(), cause=OnlyOnce("project-deletion")
            )

    async def _end_interactive(self, conn: Conn, workspace_id: int) -> None:
        """The same for commands, notebooks, shells and TensorBoards of a workspace."""
        ended = interactive.InteractiveTaskKilled(reason=f"workspace {workspace_id} is deleted")
        for task_id in await interactive_tasks.list_unended(conn, workspace_id):
            await self._engine.post(
                INTERACTIVE_TASK, TaskId(task_id), ended, cause=OnlyOnce("workspace-deletion")
            )

    async def _kill_experiments(self, conn: Conn, workspace_id: int) -> None:
        """The same for experiments that have not ended."""
        projects = [i for i, _ in await rows.list_project_states(conn, workspace_id)]
        for experiment_id, _, state in await rows.list_owned(conn, projects):
            if state not in ENDED:
                cause = OnlyOnce("workspace-deletion")
                name = ExperimentId(experiment_id)
                await self._engine.post(EXPERIMENT, name, ExperimentKilled(), cause=cause)

    async def _delete_experiments(self, ids: Sequence[int]) -> None:
        for experiment_id in ids:
            cause = Occurrence("project-deletion", entropy.new_uuid())
            try:
                await self._engine.post(
                    EXPERIMENT, ExperimentId(experiment_id), DeletionRequested(), cause=cause
                )
            except FailedPrecondition as error:  # continued since: the project waits for it
                log.warning("experiment is not deleted: %s", error, extra={"id": experiment_id})


async def _check_ended(conn: Conn, project_id: int) -> None:
    found = await rows.list_owned(conn, [project_id])
    going = [str(i) for i, _, state in found if state not in ENDED]
    if going:
        named = ", ".join(going[:NAMED_AT_MOST]) + (" ..." if len(going) > NAMED_AT_MOST else "")
        raise FailedPrecondition(
            f"project {project_id} has {len(going)} experiment(s) that are not over ({named}): "
            "cancel or kill them first"
        )


async def _mark(conn: Conn, caller: Caller, project_ids: Sequence[int]) -> list[int]:
    """Say of projects that they are being deleted; ids of the ended experiments in them.

    Raises:
        PermissionDenied: an experiment belongs to another user.
    """
    found = await rows.list_owned(conn, project_ids)
    for _, owner_id, _ in found:
        access.may(caller, "delete", "experiment", owner_id=owner_id)
    for project_id in project_ids:
        values = {"state": "DELETING", "error_message": ""}
        await rows.update_project(conn, project_id, values)
    return [i for i, _, state in found if state in ENDED]


async def _settle_project(conn: Conn, project_id: int) -> bool:
    """Remove an empty project, give up one that cannot be removed; returns whether it is deleted.

    A task that is put there just now is waited for, and seen: it refers to the locked row.
    """
    await rows.lock_project(conn, project_id)
    found = await rows.list_owned(conn, [project_id])
    failed = [str(i) for i, _, state in found if state == "DELETE_FAILED"]
    if not found and not await generic_tasks.list_unended(conn, [project_id]):
        await rows.delete_project(conn, project_id)
        return True
    if found and len(failed) == len(found):
        named = ", ".join(failed[:NAMED_AT_MOST])
        text = f"experiments that could not be deleted: {named}; delete again to try again"
        values = {"state": "DELETE_FAILED", "error_message": text}
        await rows.update_project(conn, project_id, values)
    return False


async def _settle_workspace(conn: Conn, workspace_id: int) -> bool:
    """The same for a workspace, whose projects are settled."""
    states = await rows.list_project_states(conn, workspace_id)
    if not states and not await interactive_tasks.list_unended(conn, workspace_id):
        left = await pool_bindings.list_pools_of_alone(conn, workspace_id)
        await workspaces.delete_workspace(conn, workspace_id)
        for pool in left:
            warn_of_nobody(pool)
        return True
    if states and all(state == "DELETE_FAILED" for _, state in states):
        text = "its projects could not be deleted; delete again to try again"
        values = {"state": "DELETE_FAILED", "error_message": text}
        await workspaces.update_workspace(conn, workspace_id, values)
    return False

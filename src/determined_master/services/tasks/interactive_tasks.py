"""Use cases of commands, notebooks, shells and TensorBoards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock, entropy
from determined_master.aggregates.interactive_tasks import INTERACTIVE_TASK
from determined_master.domain.access import rules as access
from determined_master.domain.config.policies.rules import check_change
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.ids import TaskId, allocation_id
from determined_master.domain.interactive_task.messages import InteractiveTaskKilled, TaskLaunched
from determined_master.domain.task.kinds import TASK_KINDS, InteractiveKind
from determined_master.engine.causes import Cause, OnlyOnce, UserRequest
from determined_master.records.tasks import InteractiveRow, ListedTask, TaskQuery
from determined_master.services.configs.policies import policies_of
from determined_master.services.queue.request_effects import wait_for_request
from determined_master.services.tasks.interactive_configs import (
    FIRST_WORKSPACE_ID,
    REFUSED,
    InteractiveConfigs,
    InteractiveLaunch,
    PreparedTask,
)
from determined_master.services.workspaces.checks import hold_workspace
from determined_master.store.experiments import experiments
from determined_master.store.queue import job_queue
from determined_master.store.tasks import interactive_tasks as rows
from determined_master.store.workspaces import workspaces
from determined_wire.agent_link import TaskUser

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.listing.paging import Page
    from determined_master.engine import Engine
    from determined_master.services.cluster.pools import Pools
    from determined_master.services.containers.interactive_programs import InteractiveSecrets
    from determined_master.services.queue.job_terms import JobTermsSync
    from determined_master.services.tasks.shares import Entrances
    from determined_master.store.db import Conn, Database

SHOWN_FOR = timedelta(hours=24)
"""How long after its end a task stays in lists."""
USER_KILL = "user requested kill"


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of a TensorBoard: experiments with all of their trials, and single trials."""

    experiment_ids: Sequence[int] = ()
    trial_ids: Sequence[int] = ()


NO_SOURCES = Sources()


class Launched(msgspec.Struct, frozen=True):
    """A task that was just started."""

    row: InteractiveRow
    exceeds_slots: bool
    """Whether it asks for more slots than its pool has now."""
    warnings: tuple[str, ...] = ()
    """About its configuration."""


class InteractiveTasks:
    """Interactive tasks of all users."""

    def __init__(
        self,
        engine: Engine,
        db: Database,
        configs: InteractiveConfigs,
        pools: Pools,
        terms: JobTermsSync,
        secrets: InteractiveSecrets,
        entrances: Entrances,
    ) -> None:
        self._engine = engine
        self._db = db
        self._configs = configs
        self._pools = pools
        self._terms = terms
        self.secrets = secrets
        self._shares, self.visits = entrances

    async def preview(self, caller: Caller, new: InteractiveLaunch) -> PreparedTask:
        """Check a configuration and fill it up, and start nothing.

        Raises:
            InvalidArgument, NotFound, FailedPrecondition: as `launch`.
        """
        _check_place(caller, new)
        return await self._configs.prepare(caller, new)

    async def launch(
        self, caller: Caller, new: InteractiveLaunch, sources: Sources = NO_SOURCES
    ) -> Launched:
        """Check a configuration and start the task.

        Args:
            caller: its owner.
            new: what to start.
            sources: of a TensorBoard.

        Raises:
            InvalidArgument: the configuration has errors, or exceeds its pool or a policy.
            NotFound: the template or the workspace does not exist.
            FailedPrecondition: the workspace is archived or being deleted.
        """
        _check_place(caller, new)
        prepared = await self._configs.prepare(caller, new)
        task_id = str(entropy.new_uuid())

        async def store(conn: Conn) -> None:
            await hold_workspace(conn, prepared.workspace_id)
            if prepared.context is not None and prepared.tgz is not None:
                await experiments.insert_model_definition(conn, prepared.context, prepared.tgz)
            row = rows.NewInteractiveTask(
                id=task_id,
                kind=new.kind,
                job_id=str(entropy.new_uuid()),
                user_id=caller.user_id,
                started_at=clock.now(),
                config=prepared.built.config,
                context=prepared.context,
                workspace_id=prepared.workspace_id,
                port=await self._port(conn, new.kind),
                experiment_ids=sources.experiment_ids,
                trial_ids=sources.trial_ids,
            )
            await rows.insert_interactive_task(conn, row)

        event = TaskLaunched(task_id=task_id, kind=new.kind)
        await self._engine.post(
            INTERACTIVE_TASK, TaskId(task_id), event, cause=OnlyOnce("launched"), within=store
        )
        await wait_for_request(self._engine, allocation_id(TaskId(task_id), run=1))
        row = await self.get(caller, new.kind, task_id)
        return Launched(row, prepared.exceeds_slots, prepared.built.warnings)

    async def get(
        self, caller: Caller, kind: InteractiveKind | None, task_id: str
    ) -> InteractiveRow:
        """One task of that kind, or of any.

        Raises:
            NotFound: there is none.
        """
        access.may(caller, "read", "task")
        async with self._db.acquire() as conn:
            row = await rows.find_interactive_task(conn, task_id)
        if row is None or kind not in (None, row.kind):
            raise NotFound(f"{(kind or 'task').lower()} '{task_id}' not found")
        return row

    async def find(self, caller: Caller, wanted: TaskQuery) -> tuple[list[ListedTask], Page]:
        """Open and recently ended tasks of a kind; a page of them.

        Raises:
            InvalidArgument: the page begins before the first, or its length is negative.
            NotFound: the caller does not see the workspace that it asks for.
        """
        access.may(caller, "read", "task")
        async with self._db.acquire() as conn:
            if wanted.workspace_id:
                await _check_seen(conn, caller, wanted.workspace_id)
            return await rows.list_interactive_tasks(
                conn, msgspec.structs.replace(wanted, among=access.visible(caller, "task"))
            )

    async def kill(
        self, caller: Caller, kind: InteractiveKind | None, task_id: str
    ) -> InteractiveRow:
        """End a task at once; one that has ended does not change.

        Raises:
            NotFound: there is no such task of that kind.
        """
        await self._controlled(caller, kind, task_id)
        await self.end(task_id, UserRequest(caller.user_id, entropy.new_uuid()), USER_KILL)
        return await self.get(caller, kind, task_id)

    async def end(self, task_id: str, cause: Cause, reason: str) -> None:
        """End a task at once, without a check of the caller."""
        await self._engine.post(
            INTERACTIVE_TASK, TaskId(task_id), InteractiveTaskKilled(reason=reason), cause=cause
        )

    async def set_priority(
        self, caller: Caller, kind: InteractiveKind, task_id: str, priority: int
    ) -> InteractiveRow:
        """Give a task another priority in its queue; one that has ended does not change.

        Raises:
            NotFound: there is no such task of that kind.
            InvalidArgument: it is not from 1 to 99, or more urgent than a policy allows.
        """
        row = await self._controlled(caller, kind, task_id)
        if not 1 <= priority <= 99:
            raise InvalidArgument(f"priority must be between 1 and 99, but found {priority}")
        if row.state == "OVER":
            return row
        changes = {"priority": priority}
        async with self._db.acquire() as conn:
            policies = await policies_of(conn, row.workspace_id or 0, "NTSC")
            order = self._pools.priorities(row.resource_pool)
            check_change("resources", changes, policies, priorities=order)
            config = row.typed
            is_same = priority == config.priority
            await job_queue.update_task_terms(
                conn,
                row.job_id,
                priority=priority,
                weight=config.weight,
                position=row.queue_position if is_same else None,  # it joins its equals by age
            )
        await self._terms.sync([row.job_id])
        return await self.get(caller, kind, task_id)

    async def may_enter(self, caller: Caller, row: ListedTask) -> bool:
        """Whether the caller gets the keys of a task, whoever may control it.

        Its owner does, and those with whom the owner or an admin has shared it.
        """
        return access.is_owner(caller, row) or await self._shares.lets_in(caller, row.id)

    async def report_use(self, caller: Caller, task_id: str) -> None:
        """Record that a notebook is in use now.

        Raises:
            NotFound: there is no such notebook.
            PermissionDenied: it is another user's; its owner and its own task may.
        """
        row = await self.get(caller, "NOTEBOOK", task_id)
        if caller.scope is None:  # its own task may
            access.may(caller, "report", "allocation", owner_id=row.user_id)
        async with self._db.acquire() as conn:
            await rows.update_activity(conn, task_id, clock.now())

    async def agent_user(self, row: InteractiveRow) -> TaskUser:
        """Whom a task's program runs as."""
        async with self._db.acquire() as conn:
            linked = await workspaces.find_agent_user(conn, row.user_id, row.workspace_id or 0)
        return msgspec.structs.replace(self.secrets.defaults.user, **linked)

    async def _controlled(
        self, caller: Caller, kind: InteractiveKind | None, task_id: str
    ) -> InteractiveRow:
        row = await self.get(caller, kind, task_id)
        access.may_control(caller, "task", row)
        return row

    async def _port(self, conn: Conn, kind: InteractiveKind) -> int | None:
        """A port for its server that no other task has; any when all are used."""
        given = TASK_KINDS[kind].server_ports
        if given is None:
            return None
        used = await rows.list_used_ports(conn) | self.secrets.defaults.reserved_ports
        free = [port for port in given if port not in used] or list(given)
        return free[entropy.choice_index(len(free))]


def _check_place(caller: Caller, new: InteractiveLaunch) -> None:
    """Do nothing when the caller may start tasks in the workspace."""
    workspace_id = new.workspace_id or FIRST_WORKSPACE_ID
    if new.workspace_id:
        missing = f"{REFUSED}workspace '{workspace_id}' not found"
        access.may_see(caller, "workspace", workspace_id, missing)
    access.may(caller, "create", "task", workspace_id=workspace_id)


async def _check_seen(conn: Conn, caller: Caller, workspace_id: int) -> None:
    missing = f"workspace '{workspace_id}' not found"
    if await workspaces.find_workspace(conn, workspace_id, caller.user_id) is None:
        raise NotFound(missing)
    access.may_see(caller, "workspace", workspace_id, missing)

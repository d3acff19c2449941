"""Use cases of generic tasks: programs that users run without an experiment."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import clock, entropy
from determined_master.aggregates.generic_tasks import GENERIC_TASK
from determined_master.domain.access import rules as access
from determined_master.domain.config.layers import ConfigLayers
from determined_master.domain.config.task import BuiltTask, TaskOptions, build_task
from determined_master.domain.errors import FailedPrecondition, InvalidArgument, NotFound
from determined_master.domain.experiment.model_definition import ModelFile, pack
from determined_master.domain.generic_task import messages as task
from determined_master.domain.ids import TaskId, allocation_id
from determined_master.domain.states import TERMINAL
from determined_master.domain.task.actions import NO_PAUSE
from determined_master.engine import Posting
from determined_master.engine.causes import OnlyOnce, UserRequest
from determined_master.entropy import pet_name
from determined_master.services.configs.workspace_layers import FIRST_PROJECT_ID, in_workspace
from determined_master.services.queue.request_effects import wait_for_request
from determined_master.services.workspaces.checks import check_place, hold_project
from determined_master.settings.yaml_text import parse_yaml
from determined_master.store.experiments import experiments
from determined_master.store.tasks import generic_tasks as rows
from determined_master.store.workspaces import projects

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.services.cluster.pools import Pools
    from determined_master.store.db import Conn, Database
    from determined_master.store.workspaces.projects import ProjectRef


class GenericLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """A request to start a task."""

    config: str = ""
    files: Sequence[ModelFile] = ()
    project_id: int = 0
    parent_id: str = ""
    inherits_context: bool = False
    """Whether it starts in the directory of its parent."""
    forked_from: str = ""
    no_pause: bool | None = None


class _Context(msgspec.Struct, frozen=True):
    """The directory that a task starts in, with its contents when they are not stored yet."""

    digest: bytes | None = None
    tgz: bytes | None = None


class GenericTasks:
    """Generic tasks of all users."""

    def __init__(self, engine: Engine, db: Database, layers: ConfigLayers, pools: Pools) -> None:
        self._engine = engine
        self._db = db
        self._layers = layers
        self._pools = pools

    async def create(self, caller: Caller, new: GenericLaunch) -> tuple[str, bool]:
        """Check a configuration and start the task.

        For a fork, top-level keys of the new configuration replace those of the old one.

        Returns:
            Its id, and whether it asks for more slots than its pool has now.

        Raises:
            InvalidArgument: neither configuration nor fork, or the configuration has errors, or
                the files come from two places.
            NotFound: the parent, the forked task or the project does not exist.
            FailedPrecondition: the project is archived or being deleted.
        """
        if not new.config.strip() and not new.forked_from:
            raise InvalidArgument("the task has no config: give one, or a task to fork")
        given = (await asyncio.to_thread(parse_yaml, new.config)).value or {}
        if not isinstance(given, Mapping):
            raise InvalidArgument("invalid generic task config: it must be a map of keys")
        async with self._db.acquire() as conn:
            forked = await self._related(conn, new.forked_from)
            parent = await self._related(conn, new.parent_id)
            place = await projects.find_place(conn, new.project_id or FIRST_PROJECT_ID)
            missing = f"project '{new.project_id or FIRST_PROJECT_ID}' not found"
            if place is None:
                raise NotFound(missing)
            if new.project_id:
                access.may_see(caller, "project", place.workspace_id, missing)
            access.may(caller, "create", "task", workspace_id=place.workspace_id)
            check_place(place)
            layers = await in_workspace(conn, self._layers, place, "NTSC")
        context = await self._context(new, forked, parent)
        submitted = {**(forked.submitted if forked else {}), **given}
        options = TaskOptions(name=pet_name(), has_files=context.digest is not None)
        built = await asyncio.to_thread(
            build_task, "generic", submitted, layers=layers, options=options
        )
        exceeds = self._pools.check_fit(
            built.typed.resource_pool,
            built.typed.slots,
            is_single_node=built.typed.is_single_node,
            field="resources.slots",
        )
        return await self._store(caller, new, submitted, built, place, context), exceeds

    async def get(self, caller: Caller, task_id: str) -> rows.GenericTaskRow:
        """One generic task. Raises NotFound."""
        access.may(caller, "read", "task")
        async with self._db.acquire() as conn:
            row = await rows.find_generic_task(conn, task_id)
        if row is None:
            raise NotFound(f"task '{task_id}' not found, or it is no generic task")
        return row

    async def pause(self, caller: Caller, task_id: str) -> None:
        """Release its slots, and those of the tasks below it that can be paused.

        Raises:
            NotFound: there is no such generic task.
            FailedPrecondition: it is not pausable, or it has ended.
        """
        row = await self._controlled(caller, task_id)
        if row.no_pause:
            raise FailedPrecondition(f"cannot pause task {task_id}: it was {NO_PAUSE}")
        below = await self._below(row, ("ACTIVE",))
        pausable = [r.id for r in below if r.no_pause is False]
        await self._post(caller, [task_id, *pausable], task.TaskPaused())

    async def unpause(self, caller: Caller, task_id: str) -> None:
        """Let it continue, and the paused tasks below it.

        Raises:
            NotFound: there is no such generic task. FailedPrecondition: it is not paused.
        """
        row = await self._controlled(caller, task_id)
        paused = [r.id for r in await self._below(row, ("PAUSED",))]
        await self._post(caller, [task_id, *paused], task.TaskUnpaused())
        state = await self._engine.read(GENERIC_TASK, TaskId(task_id))
        if state is not None and state.allocation_id is not None:
            await wait_for_request(self._engine, state.allocation_id)

    async def kill(self, caller: Caller, task_id: str, *, from_root: bool) -> None:
        """End it and all tasks below it at once; with `from_root` also those beside it.

        Raises:
            NotFound: there is no such generic task.
        """
        row = await self._controlled(caller, task_id)
        if from_root:
            async with self._db.acquire() as conn:
                root = await rows.find_root(conn, task_id)
            row = await self._controlled(caller, root)
        below = [r.id for r in await self._below(row, None)]
        await self._post(caller, [row.id, *below], task.TaskKilled())

    async def _related(self, conn: Conn, task_id: str) -> rows.GenericTaskRow | None:
        if not task_id:
            return None
        row = await rows.find_generic_task(conn, task_id)
        if row is None:
            raise NotFound(f"task '{task_id}' not found, or it is no generic task")
        return row

    async def _context(
        self,
        new: GenericLaunch,
        forked: rows.GenericTaskRow | None,
        parent: rows.GenericTaskRow | None,
    ) -> _Context:
        if new.inherits_context and parent is None:
            raise InvalidArgument("inherit_context needs a parent: name it as parent_id")
        if new.inherits_context and new.files:
            raise InvalidArgument(
                "inherit_context and a context directory exclude each other: leave one of them out"
            )
        if new.files:
            tgz = await asyncio.to_thread(pack, new.files)
            return _Context(hashlib.sha256(tgz).digest(), tgz)
        if new.inherits_context and parent is not None:
            return _Context(parent.context)
        return _Context(forked.context if forked else None)

    async def _store(
        self,
        caller: Caller,
        new: GenericLaunch,
        submitted: Mapping[str, Any],
        built: BuiltTask,
        place: ProjectRef,
        context: _Context,
    ) -> str:
        row = rows.NewGenericTask(
            id=str(entropy.new_uuid()),
            job_id=str(entropy.new_uuid()),
            user_id=caller.user_id,
            started_at=clock.now(),
            submitted=dict(submitted),
            config=built.config,
            context=context.digest,
            parent_id=new.parent_id or None,
            forked_from=new.forked_from or None,
            no_pause=new.no_pause,
            project_id=place.project_id,
            workspace_id=place.workspace_id,
        )

        async def store(conn: Conn) -> None:
            await hold_project(conn, place)
            if context.digest is not None and context.tgz is not None:
                await experiments.insert_model_definition(conn, context.digest, context.tgz)
            await rows.insert_generic_task(conn, row)

        event = task.TaskCreated(task_id=row.id)
        await self._engine.post(
            GENERIC_TASK, TaskId(row.id), event, cause=OnlyOnce("created"), within=store
        )
        await wait_for_request(self._engine, allocation_id(TaskId(row.id), run=1))
        return row.id

    async def _controlled(self, caller: Caller, task_id: str) -> rows.GenericTaskRow:
        row = await self.get(caller, task_id)
        access.may_control(caller, "task", row)
        return row

    async def _below(
        self, row: rows.GenericTaskRow, states: Sequence[str] | None
    ) -> list[rows.GenericTaskRow]:
        """The descendants of a task in these states; None for all that have not ended."""
        async with self._db.acquire() as conn:
            tree = await rows.list_tree(conn, row.id)
        return [
            r
            for r in tree
            if r.id != row.id
            and (r.state in states if states is not None else r.state not in TERMINAL)
        ]

    async def _post(self, caller: Caller, task_ids: Sequence[str], event: task.TaskEvent) -> None:
        """Post an event to a task, and then to those below it.

        Tasks below may have changed in the meantime: their refusals do not fail the request.
        """
        cause = UserRequest(caller.user_id, entropy.new_uuid())
        first, *others = task_ids
        await self._engine.post(GENERIC_TASK, TaskId(first), event, cause=cause)
        if others:
            await self._engine.post_many(
                [Posting(GENERIC_TASK, TaskId(i), event, cause) for i in others]
            )

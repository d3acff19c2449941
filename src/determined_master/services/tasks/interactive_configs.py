"""From a submitted configuration to the one by which an interactive task runs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.config.layers import ConfigLayers
from determined_master.domain.config.task import BuiltTask, TaskOptions, build_task
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.experiment.model_definition import ModelFile, pack
from determined_master.domain.task.kinds import TASK_KINDS, InteractiveKind
from determined_master.entropy import pet_name
from determined_master.services.configs.templates import source_of
from determined_master.services.configs.workspace_layers import in_workspace
from determined_master.services.workspaces.checks import check_workspace
from determined_master.store.configs import templates
from determined_master.store.workspaces import projects

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.cluster.pools import Pools
    from determined_master.services.configs.task_defaults import IdleTimeouts
    from determined_master.store.db import Conn, Database

FIRST_WORKSPACE_ID = 1
"""Where tasks go whose users do not say."""
REFUSED = "failed to prepare launch params: "
"""Prefix of the error for a task that cannot be launched; scripts match on it."""


class InteractiveLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """A request to start a task."""

    kind: InteractiveKind
    config: Mapping[str, Any] = msgspec.field(default_factory=dict)
    template: str = ""
    files: Sequence[ModelFile] = ()
    workspace_id: int = 0


class PreparedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A checked and completed launch."""

    built: BuiltTask
    workspace_id: int
    context: bytes | None = None
    """The SHA-256 of its directory."""
    tgz: bytes | None = None
    exceeds_slots: bool = False
    """Whether it asks for more slots than its pool has now."""


class InteractiveConfigs:
    """Builds configurations of interactive tasks."""

    def __init__(
        self, db: Database, layers: ConfigLayers, pools: Pools, timeouts: IdleTimeouts
    ) -> None:
        self._db = db
        self._layers = layers
        self._pools = pools
        self._timeouts = timeouts

    async def prepare(self, caller: Caller, new: InteractiveLaunch) -> PreparedTask:
        """Check a configuration of the caller with what belongs to it, and fill it up.

        Raises:
            InvalidArgument: it has errors, exceeds its pool or a policy, or the files are too
                many.
            NotFound: the template or the workspace does not exist.
            FailedPrecondition: the workspace is archived or being deleted.
        """
        try:
            return await self._prepare(caller, new)
        except InvalidArgument as error:
            raise InvalidArgument(f"{REFUSED}{error.text}") from error
        except NotFound as error:
            raise NotFound(f"{REFUSED}{error.text}") from error

    async def _prepare(self, caller: Caller, new: InteractiveLaunch) -> PreparedTask:
        workspace_id = new.workspace_id or FIRST_WORKSPACE_ID
        async with self._db.acquire() as conn:
            layers = await self._with_template(conn, caller, new.template)
            found = await projects.find_workspace_place(conn, workspace_id)
            place = check_workspace(workspace_id, found)
            layers = await in_workspace(conn, layers, place, "NTSC")
        options = TaskOptions(
            name=pet_name(),
            has_files=bool(new.files),
            idle_timeout=self._timeouts.of(new.kind),
        )
        kind = TASK_KINDS[new.kind].config_kind
        built = await asyncio.to_thread(
            build_task, kind, new.config, layers=layers, options=options
        )
        exceeds = self._pools.check_fit(
            built.typed.resource_pool,
            built.typed.slots,
            is_single_node=True,
            field="resources.slots",
        )
        tgz = await asyncio.to_thread(pack, new.files) if new.files else None
        return PreparedTask(
            built=built,
            workspace_id=workspace_id,
            context=hashlib.sha256(tgz).digest() if tgz is not None else None,
            tgz=tgz,
            exceeds_slots=exceeds,
        )

    async def _with_template(self, conn: Conn, caller: Caller, name: str) -> ConfigLayers:
        if not name:
            return self._layers
        row = await templates.find_template(conn, name)
        if row is None:
            raise NotFound(f"template '{name}' not found")
        source = source_of(row, caller.user_id)
        return msgspec.structs.replace(self._layers, template=row.config, template_source=source)

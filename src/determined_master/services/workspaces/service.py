"""Use cases of workspaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.config.layers import ConfigLayers, find_storage_fault
from determined_master.domain.config.masking import keep_masked
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.storage import STORAGE
from determined_master.domain.errors import (
    AlreadyExists,
    DetError,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
)
from determined_master.domain.workspaces.naming import check_workspace_name
from determined_master.records.workspaces import WorkspaceRow
from determined_master.services.access.users import AGENT_FIELDS
from determined_master.store.workspaces import workspaces as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.access.roles import Roles
    from determined_master.services.cluster.pool_bindings import PoolBindings
    from determined_master.services.workspaces.deletions import ProjectDeletions
    from determined_master.services.workspaces.namespaces import (
        Binding,
        NamespaceChange,
        WorkspaceNamespaces,
    )
    from determined_master.store.db import Conn

NOT_YET = 0
"""Stands for the id of a workspace that is being made."""
ONLY_ADMINS_ASSIGN = (
    "only admins may say as which user and group of the agents' machines the tasks of a workspace "
    "run: leave agentUserGroup out, or ask one"
)
DEFAULT_POOLS = ("default_compute_pool", "default_aux_pool")


class WorkspaceChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a workspace; None keeps a field."""

    name: str | None = None
    agent: Mapping[str, Any] | None = None
    """Of `AGENT_FIELDS`; empty clears them."""
    checkpoint_storage: Mapping[str, Any] | None = None
    """Empty clears it. A secret that equals its mask stays unchanged."""
    default_compute_pool: str | None = None
    default_aux_pool: str | None = None


class Workspaces:
    """The workspaces of the cluster; the first is there always."""

    def __init__(
        self,
        db: asyncpg.Pool,
        bindings: PoolBindings,
        deletions: ProjectDeletions,
        roles: Roles,
        namespaces: WorkspaceNamespaces,
        layers: ConfigLayers,
    ) -> None:
        self._namespaces = namespaces
        self._layers = layers
        self._db = db
        self._roles = roles
        self._bindings = bindings
        self._deletions = deletions

    async def list_all(self, caller: Caller) -> list[WorkspaceRow]:
        """All workspaces that the caller sees, by id."""
        access.may(caller, "read", "workspace")
        async with self._db.acquire() as conn:
            return await rows.list_workspaces(
                conn, caller.user_id, among=access.visible(caller, "workspace")
            )

    async def get(self, caller: Caller, workspace_id: int) -> WorkspaceRow:
        """One workspace.

        Raises:
            NotFound: no workspace has that id.
        """
        access.may(caller, "read", "workspace")
        async with self._db.acquire() as conn:
            row = await rows.find_workspace(conn, workspace_id, caller.user_id)
        if row is None:
            raise _missing(workspace_id)
        return row

    async def create(self, caller: Caller, new: WorkspaceChange) -> WorkspaceRow:
        """Make a workspace; its maker has it pinned.

        Raises:
            AlreadyExists: the name is taken, in whatever case.
            InvalidArgument: a bad name or storage, an unknown pool, half an agent user.
            PermissionDenied: the caller may not say as which user its tasks run.
        """
        access.may(caller, "create", "workspace")
        values = _columns(msgspec.structs.replace(new, name=new.name or ""), None)
        self._check_storage(values, None)
        if values.get("agent_user") is not None:
            access.may(caller, "assign", "workspace", refusal=ONLY_ADMINS_ASSIGN)
        async with self._db.acquire() as conn, conn.transaction():
            await self._check_pools(conn, values, NOT_YET)
            try:
                workspace_id = await rows.insert_workspace(conn, caller.user_id, values)
            except asyncpg.UniqueViolationError:
                raise _taken(values["name"]) from None
            await rows.insert_pin(conn, workspace_id, caller.user_id, clock.now())
            await self._roles.welcome(conn, caller.user_id, workspace_id)
            made = await _must_find(conn, workspace_id, caller)
        self._roles.forget()
        return made

    async def create_bound(
        self,
        caller: Caller,
        new: WorkspaceChange,
        namespaces: Sequence[NamespaceChange],
        quotas: Mapping[str, int],
    ) -> tuple[WorkspaceRow, dict[str, Binding]]:
        """The same, bound to Kubernetes namespaces at once; it is not made when they cannot be.

        Raises:
            DetError: as `create`, and as `WorkspaceNamespaces.bind` and `set_quotas`.
        """
        if namespaces or quotas:
            await self._namespaces.check(caller, namespaces)
        made = await self.create(caller, new)
        try:
            bound = {}
            if namespaces:
                bound = await self._namespaces.bind(caller, made.id, namespaces)
            if quotas:
                await self._namespaces.set_quotas(caller, made.id, quotas)
        except DetError:
            await self.delete(caller, made.id)
            raise
        return (await self.get(caller, made.id) if bound else made), bound

    async def change(
        self, caller: Caller, workspace_id: int, changes: WorkspaceChange
    ) -> WorkspaceRow:
        """Apply a change; nothing of it if one part is invalid.

        Raises:
            NotFound, AlreadyExists, InvalidArgument: as above.
            FailedPrecondition: it is the first one's name, or it is archived or being deleted.
            PermissionDenied: it belongs to another user, or the caller may not set the user of its
                tasks.
        """
        refusal = "only admins may set other user's workspaces names"
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, workspace_id, caller)
            if row.immutable and changes.name not in (None, row.name):
                # As in 0.38.1, before the caller's rights: scripts look for this text.
                raise FailedPrecondition(
                    f"workspace ({workspace_id}) is immutable and cannot have its name changed"
                )
            _check_rights(row, caller, refusal)
            if row.archived:
                raise FailedPrecondition(
                    f"workspace ({workspace_id}) is archived and cannot be changed: "
                    "unarchive it first"
                )
            values = _columns(changes, row)
            self._check_storage(values, row)
            _check_agent(caller, values, row)
            await self._check_pools(conn, values, workspace_id)
            try:
                await rows.update_workspace(conn, workspace_id, values)
            except asyncpg.UniqueViolationError:
                raise _taken(values["name"]) from None
            return await _must_find(conn, workspace_id, caller)

    async def archive(self, caller: Caller, workspace_id: int, *, archived: bool) -> None:
        """Hide a workspace with all in it from lists, or show it; again changes nothing.

        Raises:
            FailedPrecondition: it is the first one. PermissionDenied: it belongs to another user.
        """
        word = "archive" if archived else "unarchive"
        refusal = f"only admins may {word} other user's workspaces"
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, workspace_id, caller)
            _check_rights(row, caller, refusal)
            if row.immutable:
                raise FailedPrecondition(
                    f"workspace ({workspace_id}) is immutable and cannot be {word}d"
                )
            await rows.update_workspace(conn, workspace_id, {"archived": archived})

    async def pin(self, caller: Caller, workspace_id: int, *, pinned: bool) -> None:
        """Pin a workspace for the caller, or take the pin away; again changes nothing."""
        await self.get(caller, workspace_id)
        async with self._db.acquire() as conn:
            if pinned:
                await rows.insert_pin(conn, workspace_id, caller.user_id, clock.now())
            else:
                await rows.delete_pin(conn, workspace_id, caller.user_id)

    async def delete(self, caller: Caller, workspace_id: int) -> bool:
        """Delete a workspace with its projects and all their experiments, which are killed first.

        Returns:
            Whether it is deleted already; otherwise the deletion continues after the response.

        Raises:
            FailedPrecondition: it is the first one.
            PermissionDenied: it, or an experiment in it, belongs to another user.
        """
        refusal = "only admins may delete other user's workspaces"
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, workspace_id, caller)
            _check_rights(row, caller, refusal, action="delete")
            if row.immutable:
                raise FailedPrecondition(
                    f"workspace ({workspace_id}) is immutable and cannot be deleted"
                )
        return await self._deletions.delete_workspace(caller, workspace_id)

    def _check_storage(self, values: Mapping[str, Any], old: WorkspaceRow | None) -> None:
        """Check that the admin's limits allow a new storage.

        Raises:
            InvalidArgument: no experiment could use it.
        """
        storage = values.get("checkpoint_storage")
        if not storage or (old is not None and storage == old.checkpoint_storage):
            return
        fault = find_storage_fault(storage, self._layers)
        if fault:
            raise InvalidArgument(f"checkpoint_storage_config.host_path: {fault}")

    async def _check_pools(self, conn: Conn, values: Mapping[str, Any], workspace_id: int) -> None:
        available = await self._bindings.available(conn, workspace_id)
        for field in DEFAULT_POOLS:
            name = values.get(field)
            if name and name not in available:
                raise InvalidArgument(
                    f"{field} is '{name}', and there is no such resource pool, or it is bound to "
                    f"other workspaces; available: {', '.join(available)}"
                )


def shown_storage(row: WorkspaceRow) -> dict[str, Any] | None:
    """A workspace's storage with every field of its kind, the unset ones null."""
    if not row.checkpoint_storage:
        return None
    kind = STORAGE.variants[row.checkpoint_storage["type"]]
    fields = [name for name, field in kind.fields.items() if not field.is_hidden_when_null]
    return {name: row.checkpoint_storage.get(name) for name in sorted({*fields, "type"})}


def _columns(new: WorkspaceChange, old: WorkspaceRow | None) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if new.name is not None:
        values["name"] = check_workspace_name(new.name)
    if new.agent is not None:
        values |= _agent(new.agent)
    if new.checkpoint_storage is not None:
        values["checkpoint_storage"] = _storage(new.checkpoint_storage, old)
    for field in DEFAULT_POOLS:
        name = getattr(new, field)
        if name is not None:
            values[field] = name
    return values


def _agent(given: Mapping[str, Any]) -> dict[str, Any]:
    """The user alone, the group alone or both; an account is its number with its name."""
    values = {name: given.get(name) or None for name in AGENT_FIELDS}
    values |= {name: given.get(name) for name in ("agent_uid", "agent_gid")}
    for number, name in (("agent_uid", "agent_user"), ("agent_gid", "agent_group")):
        if (values[number] is None) != (values[name] is None):
            missing = number if values[number] is None else name
            raise InvalidArgument(f"{number} and {name} must be set together; missing: {missing}")
    return values


def _check_agent(caller: Caller, values: Mapping[str, Any], row: WorkspaceRow) -> None:
    """Return if the agent user stays unchanged, or the caller may choose it.

    A task that runs as another user of the agents' machines can read that user's files.
    """
    if any(values[name] != getattr(row, name) for name in AGENT_FIELDS if name in values):
        access.may(caller, "assign", "workspace", workspace_id=row.id, refusal=ONLY_ADMINS_ASSIGN)


def _storage(given: Mapping[str, Any], old: WorkspaceRow | None) -> dict[str, Any] | None:
    if not given:
        return None
    stored = old.checkpoint_storage if old is not None else None
    report = ProblemReport()
    read = STORAGE.read(keep_masked(given, stored), "checkpoint_storage_config", report)
    if not report.problems:
        STORAGE.find_gaps(read, "checkpoint_storage_config", report)
    if report.problems:
        raise InvalidArgument("\n".join(f"{p.path}: {p.text}" for p in report.problems))
    return {name: value for name, value in (read or {}).items() if value is not None}


async def _lock(conn: Conn, workspace_id: int, caller: Caller) -> WorkspaceRow:
    row = await rows.lock_workspace(conn, workspace_id, caller.user_id)
    if row is None:
        raise _missing(workspace_id)
    return row


def _check_rights(
    row: WorkspaceRow, caller: Caller, refusal: str, *, action: access.Action = "edit"
) -> None:
    """With roles, a refusal names the missing permission instead."""
    access.may(
        caller,
        action,
        "workspace",
        owner_id=row.user_id,
        workspace_id=row.id,
        refusal=refusal if caller.rights is None else access.REFUSAL,
    )
    if action == "edit" and row.state == "DELETING":
        raise FailedPrecondition(
            f"workspace ({row.id}) is being deleted: nothing of it can be changed any more"
        )


async def _must_find(conn: Conn, workspace_id: int, caller: Caller) -> WorkspaceRow:
    row = await rows.find_workspace(conn, workspace_id, caller.user_id)
    if row is None:
        raise _missing(workspace_id)
    return row


def _missing(workspace_id: int) -> NotFound:
    return NotFound(f"workspace '{workspace_id}' not found")


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"workspace '{name}' already exists: choose another name")

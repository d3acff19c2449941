"""Use cases of bindings: a pool that is bound to workspaces serves no others."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from determined_master.domain.access import rules as access
from determined_master.domain.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
)
from determined_master.store.cluster import pool_bindings as rows
from determined_master.store.workspaces import workspaces

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.cluster.pools import Pools
    from determined_master.store.db import Conn, Database

log = logging.getLogger(__name__)

REFUSAL = "the current user has no permission to modify bindings of resource pools: ask an admin"


class PoolBindings:
    """Which workspaces may use which pools. A pool that was never bound serves all."""

    def __init__(self, db: Database, pools: Pools) -> None:
        self._db = db
        self._pools = pools

    async def bind(
        self, caller: Caller, name: str, ids: Sequence[int], names: Sequence[str]
    ) -> None:
        """Bind a pool to workspaces, to all of them or to none; none changes nothing.

        Raises:
            PermissionDenied: the caller is no admin.
            NotFound: there is no such pool or workspace.
            FailedPrecondition: it is a default pool of the cluster.
            AlreadyExists: it is bound to one of them.
        """
        self._check_change(caller, name)
        async with self._db.acquire() as conn, conn.transaction():
            await _insert(conn, name, await _ids(conn, ids, names))

    async def overwrite(
        self, caller: Caller, name: str, ids: Sequence[int], names: Sequence[str]
    ) -> None:
        """Bind a pool to these workspaces and no others; none opens it to all.

        Raises:
            DetError: as `bind`.
        """
        self._check_change(caller, name)
        async with self._db.acquire() as conn, conn.transaction():
            await rows.delete_all_bindings(conn, name)
            await _insert(conn, name, await _ids(conn, ids, names))

    async def unbind(
        self, caller: Caller, name: str, ids: Sequence[int], names: Sequence[str]
    ) -> None:
        """Take bindings away; what runs in the pool runs on.

        Raises:
            PermissionDenied: the caller is no admin.
            NotFound: there is no such workspace, or no such binding; then nothing is changed.
        """
        access.may(caller, "edit", "pool", refusal=REFUSAL)
        async with self._db.acquire() as conn, conn.transaction():
            chosen = await _ids(conn, ids, names)
            missing = set(chosen) - await rows.delete_bindings(conn, name, chosen)
            if missing:
                raise NotFound(
                    f"the binding of resource pool {name} and workspace "
                    f"{_list(sorted(missing))} does not exist: leave it out"
                )

    async def workspaces_of(self, caller: Caller, name: str) -> list[int]:
        """Ids of the workspaces that a pool is bound to and the caller sees, ascending.

        Raises:
            NotFound: there is no such pool.
        """
        access.may(caller, "read", "pool")
        if name not in self._pools.names:
            raise NotFound(f"pool with name {name} doesn't exist or is not available")
        async with self._db.acquire() as conn:
            bound = await rows.list_workspaces_of(conn, name)
        seen = access.visible(caller, "workspace")
        return bound if seen is None else sorted(set(bound).intersection(seen))

    async def pools_of(self, caller: Caller, workspace_id: int) -> list[str]:
        """Pools that tasks of a workspace may use, in the order of the settings.

        Raises:
            NotFound: there is no such workspace.
        """
        access.may(caller, "read", "workspace")
        async with self._db.acquire() as conn:
            if await workspaces.find_workspace(conn, workspace_id, caller.user_id) is None:
                raise NotFound(f"workspace '{workspace_id}' not found")
            return await self.available(conn, workspace_id)

    async def bound(self) -> set[str]:
        """Pools that do not serve everybody."""
        async with self._db.acquire() as conn:
            return await rows.list_bound_pools(conn)

    async def available(self, conn: Conn, workspace_id: int) -> list[str]:
        """The same without a check of the caller; a workspace that does not exist yet has id 0."""
        closed = await rows.list_closed_pools(conn, workspace_id)
        return [name for name in self._pools.names if name not in closed]

    async def check_available(self, conn: Conn, name: str, workspace_id: int) -> None:
        """Do nothing when tasks of a workspace may use a pool.

        Raises:
            InvalidArgument: they may not, or there is no such pool; those that they may use
                are named.
        """
        available = await self.available(conn, workspace_id)
        if name not in available:
            raise InvalidArgument(
                f"resource pool {name} does not exist or is not available to workspace id "
                f"{workspace_id}; available: {', '.join(available)}"
            )

    async def check_defaults(self) -> None:
        """Do nothing when the cluster's default pools serve everybody; asked at start.

        Pools that serve no workspace are named in the master's log.

        Raises:
            FailedPrecondition: one of them is bound.
        """
        async with self._db.acquire() as conn:
            unused = await rows.list_pools_of_nobody(conn)
        for name in unused:
            if name in self._pools.names:
                warn_of_nobody(name)
        for name in sorted(self._pools.defaults & await self.bound()):
            async with self._db.acquire() as conn:
                bound_to = await rows.list_workspaces_of(conn, name)
            raise FailedPrecondition(
                f"default resource pool {name} can not be bound to any workspaces, and is bound "
                f"to {_list(bound_to)}: name another default pool in resource_manager, or start "
                "with the former one and unbind this one first"
            )

    def _check_change(self, caller: Caller, name: str) -> None:
        if name in self._pools.defaults:  # the reason for everybody, also for admins
            raise FailedPrecondition(
                f"default resource pool {name} cannot be bound to any workspace: it takes the "
                "tasks of those that name no pool; bind another one, or name another default pool "
                "in resource_manager"
            )
        access.may(caller, "edit", "pool", refusal=REFUSAL)
        if name not in self._pools.names:
            there = ", ".join(self._pools.names)
            raise NotFound(f"pool with name {name} doesn't exist; there are: {there}")


def warn_of_nobody(pool: str) -> None:
    """Log that a pool serves no workspace, with the remedy."""
    log.warning(
        "resource pool %s serves nobody: the workspaces that it was bound to are deleted; bind "
        "it to others (`det resource-pool bindings add %s WORKSPACE`), or open it to everybody "
        "(an empty PUT of its workspace-bindings)",
        pool,
        pool,
    )


async def _insert(conn: Conn, pool: str, workspace_ids: Sequence[int]) -> None:
    try:
        await rows.insert_bindings(conn, pool, workspace_ids)
    except asyncpg.UniqueViolationError:
        raise AlreadyExists(
            f"resource pool {pool} is already bound to one of the workspaces "
            f"{_list(workspace_ids)}: leave that one out"
        ) from None
    except asyncpg.ForeignKeyViolationError:
        raise NotFound(
            f"one of the workspaces {_list(workspace_ids)} does not exist any more: leave it out"
        ) from None


async def _ids(conn: Conn, ids: Sequence[int], names: Sequence[str]) -> list[int]:
    """Each workspace once, by its id or its name.

    Raises:
        NotFound: some do not exist. InvalidArgument: one is named twice.
    """
    twice = [item for item, count in Counter[int | str]((*ids, *names)).items() if count > 1]
    if twice:
        raise InvalidArgument(f"workspace {twice[0]} is named twice: name it once")
    named = await rows.find_workspace_ids(conn, names)
    known = await rows.list_known_workspaces(conn, ids)
    missing = [name for name in names if name not in named]
    missing += [str(i) for i in ids if i not in known]
    if missing:
        raise NotFound(f"the following workspaces do not exist: {_list(missing)}")
    return sorted({*ids, *named.values()})


def _list(items: Sequence[object]) -> str:
    return f"[{' '.join(map(str, items))}]"

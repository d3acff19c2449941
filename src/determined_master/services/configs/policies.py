"""Use cases of config policies: what admins decide for the cluster, or for a workspace."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from determined_master.domain.access import rules as access
from determined_master.domain.config.masking import keep_masked_config, mask_config
from determined_master.domain.config.policies.rules import Policies, Policy, Workload
from determined_master.domain.config.policies.text import (
    check_author,
    check_policies,
    read_policy,
    workload_type,
)
from determined_master.domain.errors import FailedPrecondition, InvalidArgument, NotFound
from determined_master.records.workspaces import WorkspaceRow
from determined_master.settings.yaml_text import parse_yaml
from determined_master.store.configs import policies as rows
from determined_master.store.workspaces import workspaces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.schedule.priorities import PriorityOrder
    from determined_master.store.db import Conn, Database

log = logging.getLogger(__name__)

CLUSTER = "the cluster"


async def policies_of(
    conn: Conn, workspace_id: int | None, workload: Workload = "EXPERIMENT"
) -> Policies:
    """All policies that apply in a workspace; without one, those of the cluster."""
    found = await rows.list_policies(conn, workspace_id, workload)
    levels = tuple(
        read_policy(
            row.policies, _scope(row.workspace_name), author=row.author, is_admins=row.is_admins
        )
        for row in found
    )
    return Policies(levels=levels, workload=workload)


class ConfigPolicies:
    """Config policies; those of the cluster have `workspace_id` None."""

    def __init__(self, db: Database, priorities: PriorityOrder = "smaller_first") -> None:
        """`priorities`: of all pools of the cluster; `none` where they differ."""
        self._db = db
        self._priorities = priorities

    async def get(self, caller: Caller, workspace_id: int | None, workload: str) -> dict[str, Any]:
        """The policies, secrets masked; empty when there are none.

        Raises:
            InvalidArgument: there is no such workload. NotFound: no such workspace.
        """
        access.may(caller, "read", "workspace")
        kind = workload_type(workload)
        async with self._db.acquire() as conn:
            await _check_workspace(conn, caller, workspace_id)
            stored = await rows.find_policies(conn, workspace_id, kind)
        return _masked(stored or {})

    async def put(
        self, caller: Caller, workspace_id: int | None, workload: str, text: str
    ) -> dict[str, Any]:
        """Store policies, YAML or JSON, in place of all that were set.

        Raises:
            InvalidArgument: they have errors, or contradict themselves or the cluster's.
            NotFound: no such workspace.
            PermissionDenied: it is not the caller's to say, or decides what others' work runs.
        """
        kind = workload_type(workload)
        if not text.strip():
            raise InvalidArgument("config policies must not be empty: delete them instead")
        submitted = (await asyncio.to_thread(parse_yaml, text)).value
        async with self._db.acquire() as conn, conn.transaction():
            scope = await _check_mine(conn, caller, workspace_id)
            above = None if workspace_id is None else await _of_cluster(conn, kind)
            policy = check_policies(
                submitted, kind, scope=scope, above=above, priorities=self._priorities
            )
            is_admins = access.can(caller, "configure", "cluster")
            check_author(policy, is_admin=is_admins)
            stored = await rows.find_policies(conn, workspace_id, kind)
            given = {key: value for key, value in submitted.items() if value is not None}
            kept = _unmasked(given, stored or {})
            await rows.upsert_policies(
                conn, workspace_id, kind, kept, caller.user_id, is_admins=is_admins
            )
        log.info("config policies of %s for %s were set by user %d", scope, kind, caller.user_id)
        return _masked(kept)

    async def delete(self, caller: Caller, workspace_id: int | None, workload: str) -> None:
        """Forget policies.

        Raises:
            NotFound: none are set, or no such workspace. PermissionDenied: as `put`.
        """
        kind = workload_type(workload)
        async with self._db.acquire() as conn, conn.transaction():
            scope = await _check_mine(conn, caller, workspace_id)
            if not await rows.delete_policies(conn, workspace_id, kind):
                raise NotFound(f"no config policies of {scope} are specified for {kind}")
        log.info(
            "config policies of %s for %s were deleted by user %d", scope, kind, caller.user_id
        )


def _scope(workspace_name: str | None) -> str:
    return CLUSTER if workspace_name is None else f"workspace '{workspace_name}'"


async def _of_cluster(conn: Conn, workload: Workload) -> Policy | None:
    stored = await rows.find_policies(conn, None, workload)
    return None if stored is None else read_policy(stored, CLUSTER)


async def _check_workspace(
    conn: Conn, caller: Caller, workspace_id: int | None
) -> WorkspaceRow | None:
    if workspace_id is None:
        return None
    found = await workspaces.find_workspace(conn, workspace_id, caller.user_id)
    if found is None:
        raise NotFound(f"workspace '{workspace_id}' not found")
    return found


async def _check_mine(conn: Conn, caller: Caller, workspace_id: int | None) -> str:
    """Whose policies the caller is about to change; admins only for the cluster."""
    found = await _check_workspace(conn, caller, workspace_id)
    if found is None:
        access.may(caller, "configure", "cluster")
        return CLUSTER
    access.may(caller, "edit", "workspace", owner_id=found.user_id, workspace_id=workspace_id)
    if found.archived:
        raise FailedPrecondition(
            f"workspace ({workspace_id}) is archived and cannot be changed: unarchive it first"
        )
    return _scope(found.name)


def _masked(policies: Mapping[str, Any]) -> dict[str, Any]:
    invariant = policies.get("invariant_config")
    if not invariant:
        return dict(policies)
    return {**policies, "invariant_config": mask_config(invariant)}


def _unmasked(policies: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    invariant = policies.get("invariant_config")
    if not invariant:
        return dict(policies)
    known = stored.get("invariant_config") or {}
    return {**policies, "invariant_config": keep_masked_config(invariant, known)}

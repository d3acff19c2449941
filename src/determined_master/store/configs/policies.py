"""Rows of config policies."""

from __future__ import annotations

from typing import Any

import msgspec

from determined_master.domain.config.policies.rules import Workload
from determined_master.store.db import Conn


class PolicyRow(msgspec.Struct, frozen=True):
    """The policies for one workload of the cluster or of one workspace."""

    workspace_name: str | None
    """None: of the cluster."""
    policies: dict[str, Any]
    """Of `invariant_config` and `constraints`, as they were submitted."""
    author: str
    """The name of the user who set them."""
    is_admins: bool
    """Whether that user was an admin of the cluster."""


class BudgetRow(msgspec.Struct, frozen=True):
    """A policy that limits the cost of one workload in a workspace, or in each of them."""

    workspace_id: int | None
    """None: the policy is the cluster's."""
    workspace_name: str | None
    workload_type: Workload
    max_cost_per_hour: float


async def list_budgets(conn: Conn) -> list[BudgetRow]:
    """All policies that limit costs: at most two for each workspace."""
    query = """
        SELECT p.workspace_id, w.name AS workspace_name, p.workload_type,
               (p.policies #>> '{constraints,resources,max_cost_per_hour}')::float8
               AS max_cost_per_hour
          FROM config_policies p LEFT JOIN workspaces w ON w.id = p.workspace_id
         WHERE p.policies #>> '{constraints,resources,max_cost_per_hour}' IS NOT NULL
         ORDER BY p.workspace_id NULLS FIRST, p.workload_type
    """
    return [BudgetRow(**row) for row in await conn.fetch(query)]


async def list_policies(
    conn: Conn, workspace_id: int | None, workload_type: str
) -> list[PolicyRow]:
    """The policies of a workspace: the cluster's first, then its own; only existing ones.

    Without a workspace only the cluster's.
    """
    query = """
        SELECT w.name AS workspace_name, p.policies, u.username AS author, p.is_admins
          FROM config_policies p LEFT JOIN workspaces w ON w.id = p.workspace_id
          JOIN users u ON u.id = p.changed_by
         WHERE p.workload_type = $2 AND (p.workspace_id IS NULL OR p.workspace_id = $1)
         ORDER BY p.workspace_id NULLS FIRST
    """
    return [PolicyRow(**row) for row in await conn.fetch(query, workspace_id, workload_type)]


async def find_policies(
    conn: Conn, workspace_id: int | None, workload_type: str
) -> dict[str, Any] | None:
    """The policies of the cluster (no workspace) or of one workspace alone."""
    query = """
        SELECT policies FROM config_policies
         WHERE coalesce(workspace_id, 0) = coalesce($1::int, 0) AND workload_type = $2
    """
    policies: dict[str, Any] | None = await conn.fetchval(query, workspace_id, workload_type)
    return policies


async def upsert_policies(
    conn: Conn,
    workspace_id: int | None,
    workload_type: str,
    policies: dict[str, Any],
    changed_by: int,
    *,
    is_admins: bool,
) -> None:
    """Store policies in place of those that were there."""
    query = """
        INSERT INTO config_policies (
            workspace_id, workload_type, policies, changed_by, is_admins)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (coalesce(workspace_id, 0), workload_type)
        DO UPDATE SET policies = excluded.policies, changed_by = excluded.changed_by,
                      is_admins = excluded.is_admins, changed_at = now()
    """
    await conn.execute(query, workspace_id, workload_type, policies, changed_by, is_admins)


async def delete_policies(conn: Conn, workspace_id: int | None, workload_type: str) -> bool:
    """Forget policies; whether there were any."""
    query = """
        DELETE FROM config_policies
         WHERE coalesce(workspace_id, 0) = coalesce($1::int, 0) AND workload_type = $2
    """
    status: str = await conn.execute(query, workspace_id, workload_type)
    return status.endswith(" 1")

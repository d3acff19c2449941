"""Rows of allocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.task.gang_ports import choose_ports
from determined_master.records.tasks import AllocationRow
from determined_master.store.db import Conn


class NewAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a new allocation's row."""

    id: str
    task_id: str
    pool: str
    slots: int
    token_hash: bytes
    user_id: int
    user_token_hash: bytes
    requested_at: datetime
    token_expires_at: datetime


class AllocationChange(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a step."""

    id: str
    state: str
    is_ready: bool
    started_at: datetime | None
    ended_at: datetime | None
    exit_reason: str | None
    exit_error: str | None
    status_code: int | None
    pulling_at: datetime | None
    """Now, when a container waits for its image."""
    pulled_at: datetime | None
    """Now, when none does any more."""
    cause: str | None
    """Why it failed, as JSON, with its sentence as `text`."""


COLUMNS = """
    id, task_id, state, pool, slots, is_ready, requested_at, started_at, ended_at,
    exit_reason, exit_error, status_code, ports
"""


async def insert_allocations(conn: Conn, new: Sequence[NewAllocation]) -> None:
    """Store allocations with the hashes of their tokens, and where their tasks belong."""
    query = """
        WITH n AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::bytea[],
                                 $6::int[], $7::bytea[], $8::timestamptz[], $9::timestamptz[])
                AS n (id, task_id, pool, slots, token_hash, user_id, user_token_hash,
                      requested_at, token_expires_at)
        ), sessions AS (
            INSERT INTO user_sessions (user_id, token_hash, kind, created_at, expires_at)
            SELECT user_id, user_token_hash, 'task', requested_at, token_expires_at FROM n
         RETURNING id, token_hash
        )
        INSERT INTO allocations (id, task_id, state, pool, slots, token_hash, session_id,
                                 requested_at, workspace_id, workspace_name)
        SELECT n.id, n.task_id, 'PENDING', n.pool, n.slots, n.token_hash, s.id, n.requested_at,
               w.id, coalesce(w.name, '')
          FROM n JOIN sessions s ON s.token_hash = n.user_token_hash
          LEFT JOIN tasks k ON k.id = n.task_id
          LEFT JOIN experiments e ON e.id = k.experiment_id
          LEFT JOIN generic_tasks g ON g.task_id = n.task_id
          LEFT JOIN interactive_tasks i ON i.task_id = n.task_id
          LEFT JOIN workspaces w
                 ON w.id = coalesce(e.workspace_id, g.workspace_id, i.workspace_id)
    """
    columns = [list(c) for c in zip(*map(msgspec.structs.astuple, new), strict=True)]
    await conn.execute(query, *columns)


async def update_allocations(conn: Conn, changes: Sequence[AllocationChange]) -> None:
    """Write the changes of several allocations at once; the tokens of ended ones die."""
    query = """
        WITH n AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::bool[], $4::timestamptz[],
                                 $5::timestamptz[], $6::text[], $7::text[], $8::int[],
                                 $9::timestamptz[], $10::timestamptz[], $11::text[]::jsonb[])
                AS n (id, state, is_ready, started_at, ended_at, exit_reason, exit_error, code,
                      pulling_at, pulled_at, cause)
        ), changed AS (
            UPDATE allocations a
               SET state = n.state, is_ready = n.is_ready,
                   started_at = coalesce(a.started_at, n.started_at),
                   ended_at = coalesce(a.ended_at, n.ended_at),
                   exit_reason = n.exit_reason, exit_error = n.exit_error, status_code = n.code,
                   cause = n.cause,
                   pulling_at = coalesce(a.pulling_at, n.pulling_at),
                   pulled_at = CASE WHEN a.pulling_at IS NOT NULL
                                    THEN coalesce(a.pulled_at, n.pulled_at) END
              FROM n WHERE a.id = n.id
         RETURNING a.session_id, a.ended_at
        )
        UPDATE user_sessions s SET revoked_at = changed.ended_at
          FROM changed WHERE s.id = changed.session_id AND changed.ended_at IS NOT NULL
    """
    rows = [msgspec.structs.astuple(c) for c in changes]
    await conn.execute(query, *map(list, zip(*rows, strict=True)))


async def find_owner_id(conn: Conn, allocation_id: str) -> int | None:
    """The user whose task an allocation is of; None when there is no such allocation."""
    query = """
        SELECT t.user_id FROM allocations a JOIN tasks t ON t.id = a.task_id WHERE a.id = $1
    """
    owner_id: int | None = await conn.fetchval(query, allocation_id)
    return owner_id


async def find_allocation(conn: Conn, allocation_id: str) -> AllocationRow | None:
    """The allocation of that id."""
    query = f"SELECT {COLUMNS} FROM allocations WHERE id = $1"
    row = await conn.fetchrow(query, allocation_id)
    return AllocationRow(**row) if row else None


async def list_allocations(conn: Conn, task_id: str) -> list[AllocationRow]:
    """The allocations of a task, newest first."""
    query = f"SELECT {COLUMNS} FROM allocations WHERE task_id = $1 ORDER BY requested_at DESC, id"
    return [AllocationRow(**row) for row in await conn.fetch(query, task_id)]


async def find_token_owner(conn: Conn, token_hash: bytes) -> dict[str, Any] | None:
    """Whose token this is: the ids of an open allocation, its task, trial and owner."""
    query = """
        SELECT a.id AS allocation_id, a.task_id, k.trial_id, k.experiment_id, k.user_id
          FROM allocations a JOIN tasks k ON k.id = a.task_id
         WHERE a.token_hash = $1 AND a.ended_at IS NULL
    """
    row = await conn.fetchrow(query, token_hash)
    return dict(row) if row else None


class PortRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which ports an allocation needs, and where."""

    wanted: Mapping[str, int]
    """First choice of each, by name."""
    hosts: frozenset[str]
    """Names and addresses of its machines; empty stands for all there are."""
    reserved: frozenset[int] = frozenset()
    """Numbers that nobody is given."""


async def reserve_ports(conn: Conn, allocation_id: str, request: PortRequest) -> dict[str, int]:
    """Give an allocation ports that are free on its hosts; the same again when asked twice.

    Call inside a transaction.
    """
    await conn.execute("SELECT pg_advisory_xact_lock(hashtext('task ports'))")
    own = await conn.fetchval("SELECT ports FROM allocations WHERE id = $1", allocation_id)
    if own:
        return dict(own)
    query = """
        SELECT DISTINCT value::int AS port FROM allocations a, jsonb_each_text(a.ports)
         WHERE a.ended_at IS NULL
           AND (a.port_hosts && $1 OR cardinality(a.port_hosts) = 0
                OR cardinality($1::text[]) = 0)
    """
    hosts = sorted(request.hosts)
    used = frozenset(row["port"] for row in await conn.fetch(query, hosts))
    ports = choose_ports(request.wanted, used | request.reserved)
    query = "UPDATE allocations SET ports = $2, port_hosts = $3 WHERE id = $1"
    await conn.execute(query, allocation_id, ports, hosts)
    return ports


async def add_accelerators(conn: Conn, allocation_id: str, data: dict[str, Any]) -> None:
    """Store the devices that a container has found, once."""
    query = """
        UPDATE allocations SET accelerators = accelerators || jsonb_build_array($2::jsonb)
         WHERE id = $1 AND NOT accelerators @> jsonb_build_array($2::jsonb)
    """
    await conn.execute(query, allocation_id, data)


async def list_accelerators(conn: Conn, task_id: str) -> list[dict[str, Any]]:
    """The devices that a task's containers have found, in the order of its allocations."""
    query = """
        SELECT d.value || jsonb_build_object('allocationId', a.id, 'resourcePool', a.pool)
               AS found
          FROM allocations a, jsonb_array_elements(a.accelerators) WITH ORDINALITY d
         WHERE a.task_id = $1 ORDER BY a.requested_at, a.id, d.ordinality
    """
    return [row["found"] for row in await conn.fetch(query, task_id)]


async def list_ids_of_task(conn: Conn, task_id: str) -> list[str]:
    """Ids of a task's allocations in the order of their requests."""
    query = "SELECT id FROM allocations WHERE task_id = $1 ORDER BY requested_at, id"
    return [row["id"] for row in await conn.fetch(query, task_id)]


async def list_ids_of_trial(conn: Conn, trial_id: int) -> list[str]:
    """Ids of a trial's allocations in the order of their requests."""
    query = """
        SELECT a.id FROM allocations a JOIN tasks k ON k.id = a.task_id
         WHERE k.trial_id = $1 ORDER BY a.requested_at, a.id
    """
    return [row["id"] for row in await conn.fetch(query, trial_id)]

"""Rows of machines on demand: their stays, and the orders whose answer is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from determined_master.domain.machines.scaling import Machine
from determined_master.domain.machines.starts import MachineStart
from determined_master.store.db import Conn


class MachineStay(msgspec.Struct, frozen=True):
    """A machine that is there, as far as is written down."""

    machine: Machine
    seen_at: datetime
    is_leaving: bool
    idle_since: datetime | None = None


class LaunchOrder(msgspec.Struct, frozen=True):
    """To start machines."""

    token: str
    count: int
    asked_at: datetime


async def list_open_stays(conn: Conn, pool: str) -> list[MachineStay]:
    """The stays of a pool's machines that have not ended, the oldest first."""
    query = """
        SELECT machine_id, agent_name, state, is_spot, started_at, seen_at,
               leaving_at IS NOT NULL AS is_leaving, idle_since, instance_type, price_per_hour
          FROM machine_stays WHERE pool = $1 AND ended_at IS NULL ORDER BY id
    """
    return [
        MachineStay(
            Machine(
                id=row["machine_id"],
                agent_name=row["agent_name"],
                state=row["state"],
                launched_at=row["started_at"],
                is_spot=row["is_spot"],
                instance_type=row["instance_type"],
                price_per_hour=row["price_per_hour"],
            ),
            row["seen_at"],
            row["is_leaving"],
            row["idle_since"],
        )
        for row in await conn.fetch(query, pool)
    ]


async def upsert_stays(
    conn: Conn, pool: str, machines: Sequence[Machine], slots: int, now: datetime
) -> None:
    """Note that these are there; the stays of all others of the pool end when last seen.

    The first known price of a machine stays: later settings do not change what it cost.
    """
    ids = [m.id for m in machines]
    end = """
        UPDATE machine_stays SET ended_at = seen_at
         WHERE pool = $1 AND ended_at IS NULL AND machine_id <> ALL ($2::text[])
    """
    await conn.execute(end, pool, ids)
    note = """
        INSERT INTO machine_stays
               (pool, machine_id, agent_name, state, is_spot, slots, started_at, seen_at,
                instance_type, price_per_hour)
        SELECT $1, m.id, m.agent_name, m.state, m.is_spot, $7, m.launched_at, $8, m.type, m.price
          FROM unnest($2::text[], $3::text[], $4::text[], $5::bool[], $6::timestamptz[],
                      $9::text[], $10::float8[])
               AS m (id, agent_name, state, is_spot, launched_at, type, price)
        ON CONFLICT (pool, machine_id) WHERE ended_at IS NULL
        DO UPDATE SET seen_at = excluded.seen_at, state = excluded.state,
               instance_type = excluded.instance_type,
               price_per_hour = coalesce(machine_stays.price_per_hour, excluded.price_per_hour)
    """
    columns = (
        ids,
        [m.agent_name for m in machines],
        [m.state for m in machines],
        [m.is_spot for m in machines],
        [m.launched_at for m in machines],
    )
    types, prices = [m.instance_type for m in machines], [m.price_per_hour for m in machines]
    await conn.execute(note, pool, *columns, slots, now, types, prices)


async def end_stays_of_other_pools(conn: Conn, pools: Sequence[str]) -> dict[str, list[str]]:
    """End the stays of machines of other pools, when last seen; their ids by pool."""
    query = """
        WITH ended AS (
            UPDATE machine_stays SET ended_at = seen_at
             WHERE ended_at IS NULL AND pool <> ALL ($1)
            RETURNING pool, machine_id
        )
        SELECT pool, array_agg(machine_id ORDER BY machine_id) AS ids
          FROM ended GROUP BY pool ORDER BY pool
    """
    return {row["pool"]: row["ids"] for row in await conn.fetch(query, pools)}


async def set_start(conn: Conn, pool: str, agent_name: str, start: MachineStart) -> bool:
    """Note the report of a machine that is there; whether it is one of the pool.

    The start of a machine whose agent has joined before has not failed: its tasks may run. Such a
    machine is ended when its agent stays away.
    """
    query = """
        UPDATE machine_stays
           SET start_step = $3, start_detail = $4,
               start_failed = $5 AND NOT EXISTS (SELECT 1 FROM agent_keys WHERE agent_id = $2)
         WHERE pool = $1 AND agent_name = $2 AND ended_at IS NULL
    """
    values = (start.step, start.detail, start.has_failed)
    return bool(await conn.execute(query, pool, agent_name, *values) != "UPDATE 0")


async def list_starts(conn: Conn, pool: str) -> dict[str, MachineStart]:
    """The last reports of a pool's machines, by machine."""
    query = """
        SELECT machine_id, start_step, start_detail, start_failed FROM machine_stays
         WHERE pool = $1 AND ended_at IS NULL AND start_step IS NOT NULL
    """
    return {
        row["machine_id"]: MachineStart(
            step=row["start_step"], detail=row["start_detail"], has_failed=row["start_failed"]
        )
        for row in await conn.fetch(query, pool)
    }


async def mark_leaving(conn: Conn, pool: str, ids: Sequence[str], now: datetime) -> None:
    """Record that the provider is asked to end these machines."""
    query = """
        UPDATE machine_stays SET leaving_at = $3
         WHERE pool = $1 AND machine_id = ANY ($2::text[]) AND ended_at IS NULL
           AND leaving_at IS NULL
    """
    await conn.execute(query, pool, ids, now)


async def update_idle(conn: Conn, pool: str, since: Mapping[str, datetime]) -> None:
    """Note since when machines of a pool are idle, by id; all of its others are not."""
    query = """
        UPDATE machine_stays s SET idle_since = i.since
          FROM machine_stays o
          LEFT JOIN unnest($2::text[], $3::timestamptz[]) AS i (id, since) ON i.id = o.machine_id
         WHERE o.id = s.id AND o.pool = $1 AND o.ended_at IS NULL
           AND o.idle_since IS DISTINCT FROM i.since
    """
    await conn.execute(query, pool, list(since), list(since.values()))


async def insert_order(conn: Conn, pool: str, order: LaunchOrder) -> None:
    """Note an order before it is given."""
    query = "INSERT INTO machine_launches (token, pool, count, asked_at) VALUES ($1, $2, $3, $4)"
    await conn.execute(query, order.token, pool, order.count, order.asked_at)


async def list_orders(conn: Conn, pool: str) -> list[LaunchOrder]:
    """Orders whose answer is not known, the oldest first."""
    query = """
        SELECT token, count, asked_at FROM machine_launches WHERE pool = $1
         ORDER BY asked_at, token
    """
    return [LaunchOrder(**row) for row in await conn.fetch(query, pool)]


async def delete_order(conn: Conn, token: str) -> None:
    """Its answer is known."""
    await conn.execute("DELETE FROM machine_launches WHERE token = $1", token)

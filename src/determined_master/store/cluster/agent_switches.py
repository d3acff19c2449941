"""Rows of agents on which something is switched off."""

from __future__ import annotations

from determined_master.domain.machines.agent_switches import ALL_ON, Switches
from determined_master.store.db import Conn


async def read_switches(conn: Conn) -> dict[str, Switches]:
    """By agent id; agents on which everything is on have no row."""
    query = """
        SELECT agent_id, is_enabled, is_draining, disabled_slots, draining_slots
          FROM agent_switches
    """
    return {
        row["agent_id"]: Switches(
            is_enabled=row["is_enabled"],
            is_draining=row["is_draining"],
            disabled_slots=frozenset(row["disabled_slots"]),
            draining_slots=frozenset(row["draining_slots"]),
        )
        for row in await conn.fetch(query)
    }


async def write_switches(conn: Conn, agent_id: str, switches: Switches, user_id: int) -> None:
    """Store a user's setting."""
    if switches == ALL_ON:
        await conn.execute("DELETE FROM agent_switches WHERE agent_id = $1", agent_id)
        return
    query = """
        INSERT INTO agent_switches AS a
               (agent_id, is_enabled, is_draining, disabled_slots, draining_slots, changed_by)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (agent_id) DO UPDATE
           SET is_enabled = excluded.is_enabled, is_draining = excluded.is_draining,
               disabled_slots = excluded.disabled_slots,
               draining_slots = excluded.draining_slots,
               changed_by = excluded.changed_by, changed_at = now()
    """
    await conn.execute(
        query,
        agent_id,
        switches.is_enabled,
        switches.is_draining,
        sorted(switches.disabled_slots),
        sorted(switches.draining_slots),
        user_id,
    )

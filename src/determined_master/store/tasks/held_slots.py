"""The tasks of the allocations in an agent's record."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.store.db import Conn


class HeldSlots(msgspec.Struct, frozen=True):
    """An allocation and its task; `exit_reason` is empty while it runs."""

    allocation_id: str
    task_id: str
    task_type: str
    experiment_id: int | None
    trial_id: int | None
    exit_reason: str
    exit_error: str


async def list_held(conn: Conn, allocation_ids: Sequence[str]) -> dict[str, HeldSlots]:
    """Allocations by their ids; deleted ones are left out."""
    query = """
        SELECT a.id, a.task_id, k.type, k.experiment_id, k.trial_id,
               coalesce(a.exit_reason, ''), coalesce(a.exit_error, '')
          FROM allocations a JOIN tasks k ON k.id = a.task_id
         WHERE a.id = ANY ($1)
         ORDER BY a.id
    """
    return {row[0]: HeldSlots(*row) for row in await conn.fetch(query, allocation_ids)}

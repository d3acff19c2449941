"""The log policies of trials, and which of them has matched."""

from __future__ import annotations

from typing import Any

import msgspec

from determined_master.store.db import Conn


class TrialPolicies(msgspec.Struct, frozen=True):
    """The policies of a trial's experiment, as its configuration has them."""

    trial_id: int
    policies: list[dict[str, Any]] | None


async def find_policies(conn: Conn, task_id: str) -> TrialPolicies | None:
    """Those of a task's trial; None for other tasks."""
    query = """
        SELECT k.trial_id, e.config->'log_policies' AS policies
          FROM tasks k JOIN experiments e ON e.id = k.experiment_id
         WHERE k.id = $1 AND k.type = 'TRIAL'
    """
    row = await conn.fetchrow(query, task_id)
    return None if row is None else TrialPolicies(**row)


async def update_matched(conn: Conn, trial_id: int, name: str) -> None:
    """Store the name of the policy that has matched."""
    query = "UPDATE trials SET log_policy_matched = $2 WHERE id = $1"
    await conn.execute(query, trial_id, name)

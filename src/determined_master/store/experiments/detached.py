"""Rows of detached trials and experiments besides those that all have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from determined_master.store.db import Conn


class SilentTrial(msgspec.Struct, frozen=True):
    """A detached trial that runs and was not heard of for long."""

    id: int
    last_activity_at: datetime


class DetachedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """What matters of a trial whose program reports."""

    id: int
    state: str
    run_id: int
    is_detached: bool
    experiment_id: int
    experiment_state: str
    owner_id: int
    """The experiment's."""


async def find_experiment_id(conn: Conn, external_id: str) -> int | None:
    """The id of the experiment that is so named outside."""
    query = "SELECT id FROM experiments WHERE external_id = $1"
    experiment_id: int | None = await conn.fetchval(query, external_id)
    return experiment_id


async def find_trial_id(conn: Conn, experiment_id: int, external_id: str) -> int | None:
    """The id of the trial that is so named outside, in that experiment."""
    query = "SELECT id FROM trials WHERE experiment_id = $1 AND external_id = $2"
    trial_id: int | None = await conn.fetchval(query, experiment_id, external_id)
    return trial_id


async def find_trial(conn: Conn, trial_id: int) -> DetachedTrial | None:
    """The trial of that id, detached or not."""
    query = """
        SELECT t.id, t.state, t.run_id, e.unmanaged AS is_detached, t.experiment_id,
               e.state AS experiment_state, e.user_id AS owner_id
          FROM trials t JOIN experiments e ON e.id = t.experiment_id
         WHERE t.id = $1
    """
    row = await conn.fetchrow(query, trial_id)
    return DetachedTrial(**row) if row else None


async def update_activity(conn: Conn, trial_id: int, at: datetime) -> str | None:
    """Note that a detached trial was heard of; its state, None when there is none such."""
    query = """
        UPDATE trials t SET last_activity_at = $2
          FROM experiments e
         WHERE t.id = $1 AND e.id = t.experiment_id AND e.unmanaged
     RETURNING t.state
    """
    state: str | None = await conn.fetchval(query, trial_id, at)
    return state


async def reopen_task(conn: Conn, trial_id: int) -> None:
    """Let the task of a trial that runs again be open again."""
    await conn.execute("UPDATE tasks SET ended_at = NULL WHERE trial_id = $1", trial_id)


async def list_silent(conn: Conn, *, since: datetime, limit: int) -> Sequence[SilentTrial]:
    """Running detached trials not heard of after `since` (UTC), the longest silent first."""
    query = """
        SELECT id, last_activity_at FROM trials
         WHERE state = 'RUNNING' AND last_activity_at < $1
         ORDER BY last_activity_at, id
         LIMIT $2
    """
    return [SilentTrial(**row) for row in await conn.fetch(query, since, limit)]

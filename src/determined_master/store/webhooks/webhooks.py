"""Rows of webhooks and of their triggers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.webhooks.definitions import NewWebhook
from determined_master.records.webhooks import TriggerRow, WebhookRow
from determined_master.store.db import Conn

_SELECT = """
    SELECT w.id, w.workspace_id, w.name, w.url, w.type, w.mode, s.user_id AS owner_id
      FROM webhooks w LEFT JOIN workspaces s ON s.id = w.workspace_id
"""


async def list_webhooks(conn: Conn, *, among: Sequence[int] | None) -> list[WebhookRow]:
    """All webhooks of these workspaces by id; 0 stands for those of all workspaces."""
    query = f"""
        {_SELECT} WHERE $1::int[] IS NULL OR coalesce(w.workspace_id, 0) = ANY ($1)
         ORDER BY w.id
    """
    return await _with_triggers(conn, await conn.fetch(query, among))


async def find_webhook(conn: Conn, webhook_id: int) -> WebhookRow | None:
    """One webhook."""
    webhooks = await _with_triggers(
        conn, await conn.fetch(f"{_SELECT} WHERE w.id = $1", webhook_id)
    )
    return webhooks[0] if webhooks else None


async def _with_triggers(conn: Conn, rows: Iterable[Any]) -> list[WebhookRow]:
    webhooks = {row["id"]: WebhookRow(**row) for row in rows}
    query = """
        SELECT id, type, condition, webhook_id FROM webhook_triggers
         WHERE webhook_id = ANY ($1::int[]) ORDER BY id
    """
    triggers: dict[int, list[TriggerRow]] = {}
    for row in await conn.fetch(query, list(webhooks)):
        trigger = TriggerRow(row["id"], row["type"], row["condition"])
        triggers.setdefault(row["webhook_id"], []).append(trigger)
    return [
        msgspec.structs.replace(row, triggers=triggers.get(row.id, ()))
        for row in webhooks.values()
    ]


async def count_webhooks(conn: Conn, workspace_id: int | None) -> int:
    """How many webhooks a workspace has; None: those of all workspaces."""
    query = "SELECT count(*) FROM webhooks WHERE workspace_id IS NOT DISTINCT FROM $1"
    return int(await conn.fetchval(query, workspace_id))


async def find_owner(conn: Conn, workspace_id: int) -> int | None:
    """The owner of a workspace."""
    owner_id = await conn.fetchval("SELECT user_id FROM workspaces WHERE id = $1", workspace_id)
    return None if owner_id is None else int(owner_id)


async def next_id(conn: Conn) -> int:
    """The id of a webhook that is not stored yet."""
    return int(await conn.fetchval("SELECT nextval(pg_get_serial_sequence('webhooks', 'id'))"))


async def insert_webhook(
    conn: Conn, webhook_id: int, user_id: int, new: NewWebhook, now: datetime
) -> None:
    """Store a webhook under an id of `next_id`, in a transaction of the caller's.

    Raises:
        asyncpg.UniqueViolationError: its workspace has one of that name.
    """
    query = """
        INSERT INTO webhooks (id, workspace_id, user_id, name, url, type, mode, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    """
    place = webhook_id, new.workspace_id, user_id
    await conn.execute(query, *place, new.name, new.url, new.type, new.mode, now)
    add = "INSERT INTO webhook_triggers (webhook_id, type, condition) VALUES ($1, $2, $3)"
    await conn.executemany(add, [(webhook_id, t.type, t.condition) for t in new.triggers])


async def update_url(conn: Conn, webhook_id: int, url: str) -> None:
    """Send what comes next, and what waits, to another address."""
    await conn.execute("UPDATE webhooks SET url = $2 WHERE id = $1", webhook_id, url)


async def delete_webhook(conn: Conn, webhook_id: int) -> None:
    """Delete a webhook with what it has to deliver."""
    await conn.execute("DELETE FROM webhooks WHERE id = $1", webhook_id)

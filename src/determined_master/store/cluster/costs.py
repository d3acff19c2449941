"""The costs of machines on demand, and the shares of those who used them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from determined_master.domain.usage import CostKey
from determined_master.store.db import Conn


class CostShare(msgspec.Struct, frozen=True, kw_only=True):
    """The use of one user, workspace, job or pool within a window."""

    key: str
    slot_hours: float
    cost: float | None
    """US dollars; None where no price is known."""
    unpriced_slot_hours: float
    """Those of `slot_hours` that have no known price, and are not in `cost`."""


async def list_costs(
    conn: Conn, window: tuple[datetime, datetime], now: datetime, by: CostKey, limit: int
) -> list[CostShare]:
    """The most expensive first.

    An allocation pays its slots times its hours times the price of a slot-hour: the mean, by time,
    of its pool's machines with a known price while it ran. Those that run count until `now`. Call
    within a transaction.
    """
    query = """
        WITH used AS (
            SELECT CASE $4 WHEN 'user' THEN u.username
                           WHEN 'workspace' THEN a.workspace_name
                           WHEN 'pool' THEN a.pool
                           ELSE coalesce('experiment ' || a.experiment_id,
                                         lower(a.task_type) || ' ' || rtrim(
                                             rtrim(a.id, '0123456789'), '.'))
                    END AS key,
                   a.pool, a.slots, greatest(a.started_at, $1) AS since,
                   least(coalesce(a.ended_at, $3), $2) AS until
              FROM used_allocations a JOIN users u ON u.id = a.user_id
             WHERE a.started_at < least($2, $3) AND coalesce(a.ended_at, 'infinity') > $1
        ), priced AS (
            SELECT a.key, a.slots * extract(epoch FROM a.until - a.since) / 3600 AS slot_hours,
                   m.slot_hour
              FROM used a, LATERAL (
                   SELECT sum(s.price_per_hour * o.s) / nullif(sum(s.slots * o.s), 0) AS slot_hour
                     FROM machine_stays s, LATERAL (
                          SELECT extract(epoch FROM least(coalesce(s.ended_at, $3), a.until)
                                                    - greatest(s.started_at, a.since)) AS s) o
                    WHERE s.pool = a.pool AND s.started_at < a.until
                      AND (s.ended_at IS NULL OR s.ended_at > a.since)
                      AND s.price_per_hour IS NOT NULL) m
        )
        SELECT key, sum(slot_hours)::float8 AS slot_hours,
               sum(slot_hours * slot_hour)::float8 AS cost,
               coalesce(sum(slot_hours) FILTER (WHERE slot_hour IS NULL), 0)::float8
                   AS unpriced_slot_hours
          FROM priced GROUP BY key
         ORDER BY cost DESC NULLS LAST, slot_hours DESC, key LIMIT $5
    """
    return [CostShare(**row) for row in await conn.fetch(query, *window, now, by, limit)]


async def sum_machines(conn: Conn, window: tuple[datetime, datetime], now: datetime) -> float:
    """Dollars of all machines with a known price within a window, also while they were idle."""
    query = """
        SELECT coalesce(sum(price_per_hour / 3600 * extract(
                   epoch FROM least(coalesce(ended_at, $3), $2) - greatest(started_at, $1))), 0)
               ::float8
          FROM machine_stays
         WHERE started_at < least($2, $3) AND (ended_at IS NULL OR ended_at > $1)
    """
    return float(await conn.fetchval(query, *window, now))

"""Use cases of usage reports: who has used how many slots for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec

from determined_master import clock
from determined_master.domain import usage
from determined_master.domain.access import rules as access
from determined_master.domain.errors import ResourceExhausted, Unavailable
from determined_master.records.cluster import Span, UsedAllocation
from determined_master.store.cluster import costs as cost_rows
from determined_master.store.cluster import usage as rows
from determined_master.store.cluster.costs import CostShare

if TYPE_CHECKING:
    from datetime import date

    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn, Database

T = TypeVar("T")
REPORTS_AT_ONCE = 2
"""Each reads much of large tables."""
WAIT_S = 30.0
MAX_SHARES = 1000
"""Of a report on costs: the most expensive ones."""
MAX_LISTED_SPANS = 20_000
"""More of them in one JSON answer would hold the event loop."""


class PeriodUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Slot-seconds of one day or month."""

    start: date
    total: float
    by_username: dict[str, float]
    by_label: dict[str, float]
    by_pool: dict[str, float]


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of machines on demand within a window, in US dollars."""

    shares: list[CostShare]
    machines: float
    """All machines, also while they were idle."""


class Usage:
    """Reads usage, and aggregates whole days."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._reports = asyncio.Semaphore(REPORTS_AT_ONCE)

    async def allocations(
        self, caller: Caller, window: usage.Window, take: rows.Take[UsedAllocation]
    ) -> None:
        """Hand out allocations that had slots within a window, by their start.

        Raises:
            Unavailable: others read reports all the time.
        """
        access.may(caller, "read", "usage")
        await self._report(rows.list_allocations, window, take)

    async def spans(self, caller: Caller, window: usage.Window, take: rows.Take[Span]) -> None:
        """Hand out what trials did, and which agents were there, within a window.

        Raises:
            Unavailable: others read reports all the time.
        """
        access.may(caller, "read", "usage")
        await self._report(rows.list_spans, window, take)

    async def list_spans(self, caller: Caller, window: usage.Window) -> list[Span]:
        """The same in one list.

        Raises:
            ResourceExhausted: there are too many for that.
        """
        found: list[Span] = []

        def take(batch: list[Span]) -> None:
            found.extend(batch)
            if len(found) > MAX_LISTED_SPANS:
                raise ResourceExhausted(
                    f"there are more than {MAX_LISTED_SPANS} entries in this time: ask for less "
                    "of it, or read /resources/allocation/raw, which has no limit"
                )

        await self.spans(caller, window, take)
        return found

    async def costs(self, caller: Caller, window: usage.Window, by: usage.CostKey) -> Costs:
        """The shares of the costs within a window, the largest first.

        Raises:
            Unavailable: others read reports all the time.
        """
        access.may(caller, "read", "usage")
        found = Costs(shares=[], machines=0.0)

        async def read(
            conn: Conn, within: tuple[datetime, datetime], now: datetime, take: rows.Take[Costs]
        ) -> None:
            shares = await cost_rows.list_costs(conn, within, now, by, MAX_SHARES)
            machines = await cost_rows.sum_machines(conn, within, now)
            take([Costs(shares=shares, machines=machines)])

        def keep(read: list[Costs]) -> None:
            nonlocal found
            [found] = read

        await self._report(read, window, keep)
        return found

    async def sums(
        self, caller: Caller, days: usage.Days, period: usage.Period
    ) -> list[PeriodUsage]:
        """Days or months that anything was used in, oldest first; today is not among them."""
        access.may(caller, "read", "usage")
        async with self._db.acquire() as conn:
            found = await rows.list_sums(conn, days.first, days.last, by_month=period == "monthly")
        by_start: dict[date, dict[str, dict[str, float]]] = {}
        for row in found:
            by_start.setdefault(row.period, {}).setdefault(row.type, {})[row.key] = row.seconds
        return [
            PeriodUsage(
                start=start,
                total=sum(kinds.get("total", {}).values()),
                by_username=kinds.get("username", {}),
                by_label=kinds.get("experiment_label", {}),
                by_pool=kinds.get("resource_pool", {}),
            )
            for start, kinds in by_start.items()
        ]

    async def sum_up(self, now: datetime) -> int:
        """Sum up every whole UTC day that is not yet; how many there were."""
        count = 0
        async with self._db.acquire() as conn:
            async with conn.transaction():
                await rows.plan_for_reports(conn)
                first = await rows.find_first_due(conn)
            for day in usage.days_due(first, now):
                bounds = usage.bounds(day)
                async with conn.transaction():
                    await rows.plan_for_reports(conn)
                    await rows.upsert_day(conn, day, bounds.after, bounds.before)
                count += 1
        return count

    async def _report(
        self,
        hand_out: Callable[
            [Conn, tuple[datetime, datetime], datetime, rows.Take[T]], Awaitable[None]
        ],
        window: usage.Window,
        take: rows.Take[T],
    ) -> None:
        try:
            await asyncio.wait_for(self._reports.acquire(), WAIT_S)
        except TimeoutError:
            raise Unavailable("other reports on usage are being made: try again later") from None
        try:
            async with self._db.acquire() as conn, conn.transaction(readonly=True):
                await rows.plan_for_reports(conn)
                await hand_out(conn, (window.after, window.before), clock.now(), take)
        finally:
            self._reports.release()

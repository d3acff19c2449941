"""Use cases of log retention, and the sweep that removes expired lines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.cron import next_after, parse_cron
from determined_master.domain.durations import parse_duration
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.experiments import trials
from determined_master.store.logs import log_values
from determined_master.store.logs import retention as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller

log = logging.getLogger(__name__)

FOR_EVER = -1
MAX_DAYS = 32767
TASKS_AT_ONCE = 100
DAY = timedelta(days=1)


class LogRetention:
    """How long logs are kept, by trial, experiment and cluster."""

    def __init__(
        self,
        db: asyncpg.Pool,
        default_days: int | None,
        schedule: str | None,
        on_removed: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_removed` is called when lines of some tasks were removed."""
        self._on_removed = on_removed
        self._db = db
        self._default_days = FOR_EVER if default_days is None else default_days
        self._schedule = schedule

    async def retain_trial(self, caller: Caller, trial_id: int, days: int) -> None:
        """Set the days for which lines of a trial are kept after its end; -1 is forever.

        Raises:
            NotFound: there is no such trial. InvalidArgument: the number cannot be.
        """
        if not FOR_EVER <= days <= MAX_DAYS:
            raise InvalidArgument(
                f"numDays is {days}: it must be from {FOR_EVER} (forever) to {MAX_DAYS}"
            )
        async with self._db.acquire() as conn, conn.transaction():
            trial = await trials.find_trial(conn, trial_id)
            if trial is None:
                raise NotFound(f"trial '{trial_id}' not found")
            access.may(caller, "control", "trial")
            await rows.update_trial_days(conn, trial_id, days)

    async def remaining_days(self, caller: Caller, trial_id: int) -> int:
        """For how many days more a trial's lines are kept; -1 is forever.

        Raises:
            NotFound: there is no such trial.
        """
        access.may(caller, "read", "trial")
        async with self._db.acquire() as conn:
            kept = await rows.find_kept(conn, trial_id, self._default_days)
        if kept is None:
            raise NotFound(f"trial '{trial_id}' not found")
        if kept.days < 0 or kept.ended_at is None:
            return kept.days
        left = kept.ended_at + kept.days * DAY - clock.now()
        return max(0, -(-left // DAY))

    async def clean_up(self, caller: Caller) -> int:
        """Remove expired lines now; returns their number."""
        access.may(caller, "delete", "log")
        return await self.sweep()

    async def sweep(self) -> int:
        """The same without anybody asking."""
        removed, now = 0, clock.now()
        while True:
            async with self._db.acquire() as conn:
                expired = await rows.list_expired(
                    conn, self._default_days, now, limit=TASKS_AT_ONCE
                )
                while count := await rows.delete_lines(conn, expired):
                    removed += count
                await log_values.delete_values(conn, expired)
                await rows.mark_removed(conn, expired, now)
            self._on_removed()
            if not expired:
                return removed

    async def run(self) -> None:
        """Sweep when the settings say, until cancelled; without a schedule nothing is done."""
        while (due_at := next_sweep(self._schedule, clock.now())) is not None:
            await asyncio.sleep((due_at - clock.now()).total_seconds())
            try:
                removed = await self.sweep()
            except DATABASE_ERRORS:
                log.exception("old logs were not removed; it is tried again at the next time")
            else:
                log.info("removed old log lines", extra={"lines": removed})


def next_sweep(schedule: str | None, now: datetime) -> datetime | None:
    """When logs are removed next; None without a schedule, or one whose time never comes."""
    if not schedule:
        return None
    length = parse_duration(schedule)
    if length is not None:
        return now + length if length else None
    return next_after(parse_cron(schedule), now)

"""Lines in the logs of tasks that wait for long: what holds them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.log_lines import LEVEL_NUMBERS
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.logs import task_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from determined_master.domain.allocation.messages import Allocation
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.loop import PoolDecision
    from determined_master.services.logs.task_logs import TaskLogs
    from determined_master.services.queue.job_why import JobWhy
    from determined_master.store.db import Database

log = logging.getLogger(__name__)

ROUND_S = 5.0
FIRST = timedelta(seconds=15)
"""A task that has waited this long gets the reason into its log."""
AGAIN = timedelta(minutes=10)
"""After that, if the reason has changed, once more."""
LINES_A_ROUND = 5
"""The first in the queue come first; a line costs some plans of the whole pool."""


class WaitLines:
    """Writes into the logs of waiting tasks why they wait."""

    def __init__(self, db: Database, live: LiveAllocations, why: JobWhy, logs: TaskLogs) -> None:
        self._db = db
        self._live = live
        self._why = why
        self._logs = logs
        self._written: dict[str, tuple[str, float]] = {}

    async def run(self, decisions: Callable[[], Sequence[PoolDecision]]) -> None:
        """Repeat forever."""
        while True:
            await asyncio.sleep(ROUND_S)
            try:
                await self.write_due(decisions())
            except DATABASE_ERRORS:
                log.warning("failed to write why tasks wait into their logs")

    async def write_due(self, decisions: Sequence[PoolDecision]) -> int:
        """Write the lines that are due; returns their number."""
        self._written = {i: written for i, written in self._written.items() if self._live.find(i)}
        lines = []
        for decision, allocation, code in self._due(decisions):
            text = await self._why.explain(decision, allocation.id)
            if text is None:
                continue
            self._written[allocation.id] = code, clock.monotonic_s()
            lines.append((allocation, f"waits since {_since(allocation)}: {text}"))
        if not lines:
            return 0
        level = LEVEL_NUMBERS["INFO"]
        rows = [
            (a.request.task_id, a.id, None, None, None, clock.now(), level, "master", "stdout", t)
            for a, text in lines
            for t in [f"{text}\n"]
        ]
        async with self._db.acquire() as conn:
            await task_logs.copy_lines(conn, rows)
        for allocation, _ in lines:
            self._logs.notify(allocation.request.task_id)
        return len(lines)

    def _due(
        self, decisions: Sequence[PoolDecision]
    ) -> Iterator[tuple[PoolDecision, Allocation, str]]:
        now, now_s, left = clock.now(), clock.monotonic_s(), LINES_A_ROUND
        for decision in decisions:
            for wait in decision.plan.waits:
                allocation = self._live.find(wait.allocation_id)
                if allocation is None or allocation.state != "PENDING":
                    continue
                since = allocation.request.requested_at
                if since is None or now - since < FIRST:
                    continue
                code, at_s = self._written.get(allocation.id, ("", 0.0))
                is_new = code != wait.code and (not code or now_s - at_s > AGAIN.total_seconds())
                if is_new:
                    yield decision, allocation, wait.code
                    left -= 1
                    if not left:
                        return


def _since(allocation: Allocation) -> str:
    at = allocation.request.requested_at
    return at.strftime("%H:%M:%S UTC") if at else "its request"

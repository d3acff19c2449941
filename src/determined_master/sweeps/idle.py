"""Notebooks and TensorBoards that nobody uses are ended."""

from __future__ import annotations

import asyncio
import logging

from determined_master import clock
from determined_master.domain.errors import DetError
from determined_master.services.tasks.idle_tasks import IdleTasks
from determined_master.store.connection_errors import DATABASE_ERRORS

log = logging.getLogger(__name__)

PERIOD_S = 5.0


async def watch_idle(tasks: IdleTasks, *, period_s: float = PERIOD_S) -> None:
    """Look every five seconds; cancelled at the master's end. A jump of the clock ends nothing."""
    jumps = clock.Jumps()
    while True:
        await asyncio.sleep(period_s)
        if jumps.take():
            tasks.begin_anew()
        try:
            await tasks.end_idle()
        except (*DATABASE_ERRORS, DetError):
            log.exception("idle tasks could not be looked for; it is tried again")

"""Detached trials that nobody hears of are taken for failed."""

from __future__ import annotations

import asyncio
import logging

from determined_master import clock
from determined_master.services.experiments.detached import SILENT_AFTER, Detached
from determined_master.store.connection_errors import DATABASE_ERRORS

log = logging.getLogger(__name__)

PERIOD_S = 30.0


async def watch_silence(
    detached: Detached,
    *,
    silent_s: float = SILENT_AFTER.total_seconds(),
    period_s: float = PERIOD_S,
) -> None:
    """Look every half minute; cancelled at the master's end.

    Only time counts in which a master could be reached: it looks first when it has run for as
    long as a trial may be silent. After a jump of the clock it begins anew.
    """
    jumps = clock.Jumps()
    await asyncio.sleep(silent_s)
    while True:
        if jumps.take():
            await asyncio.sleep(silent_s)
            continue
        try:
            await detached.end_silent(clock.now())
        except DATABASE_ERRORS:
            log.exception("silent trials could not be looked for; it is tried again")
        await asyncio.sleep(period_s)

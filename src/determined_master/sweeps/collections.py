"""Tasks that delete checkpoints and find no place to run are told of."""

from __future__ import annotations

import asyncio
import logging

from determined_master import clock
from determined_master.services.checkpoints.gc_waits import GcWaitNotices
from determined_master.store.connection_errors import DATABASE_ERRORS

log = logging.getLogger(__name__)

PERIOD_S = 15.0


async def watch_collections(waits: GcWaitNotices) -> None:
    """Look every quarter of a minute; cancelled at the master's end."""
    while True:
        await asyncio.sleep(PERIOD_S)
        try:
            await waits.tell(clock.now())
        except DATABASE_ERRORS:
            log.exception("waiting collections could not be looked for; it is tried again")

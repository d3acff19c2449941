"""Aggregates usage by day, and records which agents are present."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.usage import next_summing
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from determined_master.services.cluster.agent_stays import AgentStays
    from determined_master.services.cluster.usage import Usage

log = logging.getLogger(__name__)

RETRY_S = 60.0
MAX_SLEEP_S = 600.0
"""Clocks can be set; a day must not be missed because of that."""
LOOK_S = 30.0


async def aggregate_usage(usage: Usage) -> None:
    """Aggregate days at once, and then a minute after each midnight (UTC), until cancelled."""
    due_at = clock.now()
    while True:
        pause_s = (due_at - clock.now()).total_seconds()
        if pause_s > 0:
            await asyncio.sleep(min(pause_s, MAX_SLEEP_S))
            continue
        try:
            count = await usage.sum_up(clock.now())
        except DATABASE_ERRORS:
            log.exception("usage could not be aggregated; retrying")
            await asyncio.sleep(RETRY_S)
            continue
        due_at = next_summing(clock.now())
        if count:
            log.info("aggregated usage", extra={"days": count})


async def record_agents(stays: AgentStays, first_look_s: float) -> None:
    """Record connected agents twice a minute, until cancelled.

    Args:
        stays: the store of the records.
        first_look_s: until then agents of the last leader may still reconnect.
    """
    await asyncio.sleep(first_look_s)
    while True:
        try:
            await stays.note(clock.now())
        except DATABASE_ERRORS:
            log.exception("connected agents could not be recorded; retrying")
        await asyncio.sleep(LOOK_S)

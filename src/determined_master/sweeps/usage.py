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
LONGEST_SLEEP_S = 600.0
"""Clocks are set; a day must not be missed for that."""
LOOK_S = 30.0


async def sum_up_days(usage: Usage) -> None:
    """Sum days up at once, and then a minute after each midnight (UTC), until cancelled."""
    due_at = clock.now()
    while True:
        pause_s = (due_at - clock.now()).total_seconds()
        if pause_s > 0:
            await asyncio.sleep(min(pause_s, LONGEST_SLEEP_S))
            continue
        try:
            count = await usage.sum_up(clock.now())
        except DATABASE_ERRORS:
            log.exception("usage could not be summed up; it is tried again")
            await asyncio.sleep(RETRY_S)
            continue
        due_at = next_summing(clock.now())
        if count:
            log.info("summed usage up", extra={"days": count})


async def watch_agents(stays: AgentStays, first_look_s: float) -> None:
    """Write down twice a minute which agents are there, until cancelled.

    Args:
        stays: where it is written.
        first_look_s: before that agents of the lead before may still be on their way back.
    """
    await asyncio.sleep(first_look_s)
    while True:
        try:
            await stays.note(clock.now())
        except DATABASE_ERRORS:
            log.exception("agents could not be written down; it is tried again")
        await asyncio.sleep(LOOK_S)

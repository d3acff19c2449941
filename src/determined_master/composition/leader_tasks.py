"""Work of a leading master: compares memory with the rows, and admits agents."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.errors import DetError
from determined_master.store.aggregates import list_open_allocations
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports.agents import AgentAdmission
    from determined_master.services.cluster.agent_switches import AgentSwitches
    from determined_master.services.queue.job_terms import JobTermsSync
    from determined_master.store.db import Database

log = logging.getLogger(__name__)
LOOK_S = 10.0
"""Between looks at whether what users have set is carried out."""


async def _nothing(epoch: int) -> None:
    """Without machines on demand there is nothing to do."""


@dataclass(frozen=True)
class LeaderTasks:
    engine: Engine
    db: Database
    live: LiveAllocations
    admission: AgentAdmission
    switches: AgentSwitches
    terms: JobTermsSync
    take_over_machines: Callable[[int], Awaitable[None]] = _nothing
    """Called with the epoch once the live allocations are known, before agents are admitted."""

    async def _compare_until_done(self, epoch: int) -> None:
        """At the start of a leadership.

        Agents may only be admitted against the state of the rows.
        """
        while True:
            try:
                await self._compare_live()
                await self.switches.load()
                await self.take_over_machines(epoch)
                return
            except DATABASE_ERRORS:
                log.warning("the database does not answer yet")
                await asyncio.sleep(0.2)

    async def enforce_settings(self) -> None:
        """End containers that may not run, now and then."""
        while True:
            await asyncio.sleep(LOOK_S)
            with contextlib.suppress(*DATABASE_ERRORS, DetError):
                await self.switches.enforce()

    async def _compare_live(self) -> None:
        """Bring the live allocations in line with their rows."""
        allocations = self.live.known()
        rows = await list_open_allocations(self.db)
        decode = ALLOCATION.codec.state
        states = [(decode(row["state"], row["parts"]), row["version"]) for row in rows]
        self.live.reconcile(allocations, states)

    async def repeat_terms(self) -> None:
        """Repeat the terms of jobs to live requests, in case a change was lost."""
        while True:
            with contextlib.suppress(*DATABASE_ERRORS, DetError):
                await self.terms.sync()
            await asyncio.sleep(LOOK_S)

    async def admit_agents(self) -> None:
        """Admit agents while this process leads, in each term again."""
        try:
            while True:
                epoch = await self.engine.wait_until_leading(timeout_s=None)
                await self._compare_until_done(epoch)
                expected = {
                    container.agent_id: allocation.request.pool
                    for allocation in self.live.values()
                    for container in allocation.containers
                    if container.state != "TERMINATED"
                }
                self.admission.open(expected, epoch)
                await self.engine.wait_while_leading(epoch)
                await self.admission.close()
        finally:
            await self.admission.close()

"""One loop a pool: look, plan, apply."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from determined_master import entropy
from determined_master.domain.allocation.messages import (
    Assigned,
    Placed,
    PreemptRequested,
)
from determined_master.domain.errors import DetError
from determined_master.pools.view import build_view

if TYPE_CHECKING:
    from determined_master.domain.schedule.plan import Plan, Preempt, Start, Wait
    from determined_master.domain.schedule.view import PoolView
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports import AgentSnapshot

log = logging.getLogger(__name__)

IDLE_TICK_S = 5.0
MIN_TICK_S = 0.1


class PoolLoop:
    """Runs on change, at most every 100 ms, and every 5 s without."""

    def __init__(
        self,
        name: str,
        engine: Engine,
        agents: Callable[[], Iterable[AgentSnapshot]],
        live: LiveAllocations,
        plan: Callable[[PoolView], Plan],
    ) -> None:
        self.name = name
        self.waits: dict[str, Wait] = {}
        """Why each waiting allocation waits, as of the last plan."""
        self._engine = engine
        self._agents = agents
        self._live = live
        self._plan = plan
        self._news = asyncio.Event()

    def nudge(self) -> None:
        """Something that the scheduler looks at has changed."""
        self._news.set()

    async def run(self) -> None:
        """Plan for ever; cancelled at the master's end."""
        loop = asyncio.get_running_loop()
        last = -MIN_TICK_S
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), IDLE_TICK_S)
            await asyncio.sleep(max(0.0, last + MIN_TICK_S - loop.time()))
            self._news.clear()
            last = loop.time()
            try:
                await self.tick()
            except Exception:  # the loop must live on
                log.exception("planning failed", extra={"pool": self.name})

    async def tick(self) -> None:
        """Plan once and carry it out."""
        view = build_view(self.name, self._agents(), self._live.values())
        if not view.pending:
            self.waits = {}
            return
        plan = self._plan(view)
        self.waits = {wait.allocation_id: wait for wait in plan.waits}
        tasks = [self._start(start) for start in plan.starts]
        tasks += [self._preempt(preempt) for preempt in plan.preemptions]
        await asyncio.gather(*tasks)

    async def _start(self, start: Start) -> None:
        placed = tuple(
            Placed(container_id=str(entropy.new_uuid()), agent_id=agent_id, slot_ids=slots)
            for agent_id, slots in start.placement
        )
        await self._post(start.allocation_id, Assigned(containers=placed))

    async def _preempt(self, preempt: Preempt) -> None:
        await self._post(preempt.allocation_id, PreemptRequested(reason=preempt.reason))

    async def _post(self, allocation_id: str, event: Assigned | PreemptRequested) -> None:
        cause = f"plan:{entropy.new_uuid()}"
        try:
            await self._engine.post("allocation", allocation_id, event, cause=cause)
        except DetError as error:
            log.info("a plan went stale: %s", error, extra={"allocation": allocation_id})

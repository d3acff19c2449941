"""One loop for each pool: view, plan, apply."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from determined_master import entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation.messages import (
    Assigned,
    Placed,
    PreemptRequested,
)
from determined_master.domain.errors import DetError
from determined_master.domain.ids import AllocationId
from determined_master.domain.schedule import planner
from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.view import PoolView, Rules
from determined_master.engine.causes import Occurrence

if TYPE_CHECKING:
    from determined_master.domain.schedule.plan import Preempt, Start
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.pod_placement import PodPlacement
    from determined_master.ports.agents import AgentSnapshot

log = logging.getLogger(__name__)

IDLE_TICK_S = 5.0
MIN_TICK_S = 0.1


class PoolDecision(msgspec.Struct, frozen=True):
    """A plan and its input."""

    view: PoolView
    plan: Plan


class PoolConfig(msgspec.Struct, frozen=True):
    name: str
    rules: Rules = Rules()
    max_zero_slot_tasks: int = 100


class PoolLoop:
    """Plans after changes and back-offs, at most every 100 ms, at least every 5 s."""

    def __init__(
        self,
        config: PoolConfig,
        engine: Engine,
        agents: Callable[[], Iterable[AgentSnapshot]],
        live: LiveAllocations,
        on_decision: Callable[[PoolDecision], None] = lambda decision: None,
        pods: PodPlacement | None = None,
    ) -> None:
        """
        Args:
            config: of the pool.
            engine: carries out decisions.
            agents: all that are known.
            live: all allocations.
            on_decision: receives every decision before it is carried out; must not block.
            pods: where the pool's tasks run as pods.
        """
        self.config = config
        self.decision: PoolDecision | None = None
        """The last decision."""
        self._engine = engine
        self._agents = agents
        self._live = live
        self._on_decision = on_decision
        self._pods = pods
        self._news = asyncio.Event()
        self._cordoned: frozenset[str] = frozenset()
        self._carrying_out = asyncio.Lock()

    def trigger_planning(self) -> None:
        """Plan soon: an input of the scheduler has changed."""
        self._news.set()

    async def cordon(self, agent_ids: frozenset[str]) -> None:
        """Start nothing new on these agents, and on no others than these.

        Returns once no start is in progress there either: the running containers are all there
        are.
        """
        self._cordoned = agent_ids
        async with self._carrying_out:
            pass

    async def run(self) -> None:
        """Plan until cancelled, at the master's end."""
        loop = asyncio.get_running_loop()
        last, patience_s = -MIN_TICK_S, IDLE_TICK_S
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience_s):  # `wait_for` may swallow a cancellation
                    await self._news.wait()
            await asyncio.sleep(max(0.0, last + MIN_TICK_S - loop.time()))
            self._news.clear()
            last = loop.time()
            # Read before the plan, so that the plan sees requests that aged meanwhile.
            patience_s = self._patience_s()
            try:
                await self.tick()
            except Exception:  # the loop must survive
                log.exception("planning failed", extra={"pool": self.config.name})

    def _patience_s(self) -> float:
        """How long to wait for changes: no event announces the end of an agent's back-off."""
        rested_s = self._live.next_backoff_end_s()
        return IDLE_TICK_S if rested_s is None else min(IDLE_TICK_S, rested_s)

    async def tick(self) -> None:
        """Plan once and carry it out."""
        async with self._carrying_out:
            if self._pods is not None and await self._pods.read():
                self.trigger_planning()
            decision = self.decide()
            plan = decision.plan
            tasks = [self._start(start, decision.view) for start in plan.starts]
            tasks += [self._preempt(preempt) for preempt in plan.preemptions]
            if tasks:
                await asyncio.gather(*tasks)

    def decide(self) -> PoolDecision:
        config = self.config
        agents = self._agents()
        if self._cordoned:
            agents = [
                replace(a, is_draining=True) if a.id in self._cordoned else a for a in agents
            ]
        view = self._live.view(config.name, agents, config.rules, config.max_zero_slot_tasks)
        made = Plan()
        if self._pods is not None and view.pending:
            view, made = self._pods.plan(view)
        elif view.pending or view.running:
            made = planner.plan(view)
        if self._pods is not None:
            self._pods.request_nodes(view, made)
        self.decision = PoolDecision(view, made)
        self._on_decision(self.decision)
        return self.decision

    async def _start(self, start: Start, view: PoolView) -> None:
        placed = tuple(
            Placed(container_id=str(entropy.new_uuid()), agent_id=agent_id, slot_ids=slots)
            for agent_id, slots in start.placement
        )
        event = Assigned(containers=placed, at=view.now, is_long_awaited=start.is_long_awaited)
        await self._post(start.allocation_id, event)

    async def _preempt(self, preempt: Preempt) -> None:
        await self._post(preempt.allocation_id, PreemptRequested(reason=preempt.reason))

    async def _post(self, allocation_id: str, event: Assigned | PreemptRequested) -> None:
        cause = Occurrence("plan", entropy.new_uuid())
        try:
            await self._engine.post(ALLOCATION, AllocationId(allocation_id), event, cause=cause)
        except DetError as error:
            log.info("a plan went stale: %s", error, extra={"allocation": allocation_id})

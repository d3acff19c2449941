"""The loops of all pools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from determined_master.pools.loop import PoolConfig, PoolDecision, PoolLoop

if TYPE_CHECKING:
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.pod_placement import PodPlacement
    from determined_master.ports.agents import AgentSnapshot

log = logging.getLogger(__name__)


class PoolLoops:
    """One loop for each pool; pools share nothing but the agents' registry and the database."""

    def __init__(
        self,
        configs: Iterable[PoolConfig],
        engine: Engine,
        agents: Callable[[], Iterable[AgentSnapshot]],
        live: LiveAllocations,
        on_decision: Callable[[PoolDecision], None] = lambda decision: None,
        pods: Mapping[str, PodPlacement] | None = None,
    ) -> None:
        """`pods` has the pools whose tasks run as pods; the rest is that of each loop."""
        placements = pods or {}
        self._loops: Mapping[str, PoolLoop] = {
            c.name: PoolLoop(c, engine, agents, live, on_decision, placements.get(c.name))
            for c in configs
        }
        self._unknown_pools: set[str] = set()

    def trigger_planning(self, pool: str) -> None:
        """Plan a pool soon: an input of its scheduler has changed."""
        loop = self._loops.get(pool)
        if loop is not None:
            loop.trigger_planning()
        elif pool not in self._unknown_pools:
            self._unknown_pools.add(pool)
            log.warning(
                "requests wait in a pool that is not in the settings: add it again, or move "
                "their jobs to another with `det job update`",
                extra={"pool": pool},
            )

    async def cordon(self, pool: str, agent_ids: frozenset[str]) -> None:
        """Start nothing new on these agents of a pool; return once no start is in progress."""
        loop = self._loops.get(pool)
        if loop is not None:
            await loop.cordon(agent_ids)

    def decision(self, pool: str) -> PoolDecision | None:
        """The last decision of a pool; None before the first, and for an unknown pool."""
        loop = self._loops.get(pool)
        return None if loop is None else loop.decision

    def decisions(self) -> list[PoolDecision]:
        return [loop.decision for loop in self._loops.values() if loop.decision is not None]

    def config(self, pool: str) -> PoolConfig | None:
        """The settings of a pool; None if there is no such pool."""
        loop = self._loops.get(pool)
        return None if loop is None else loop.config

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for loop in self._loops.values():
                group.create_task(loop.run())

"""The parts of a pool that the loop of its machines needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.loop import PoolDecision
    from determined_master.ports import AgentSnapshot


@dataclass(frozen=True)
class Scheduling:
    """The scheduler of a pool, its agents and its work."""

    engine: Engine
    live: LiveAllocations
    agents: Callable[[], Iterable[AgentSnapshot]]
    decision: Callable[[], PoolDecision | None]
    """The last one of the pool's scheduler."""
    cordon: Callable[[frozenset[str]], Awaitable[None]]
    """Starts nothing new on these agents; returns once no start is in progress there."""

    def is_busy(self, agent_name: str) -> bool:
        """Whether anything runs on an agent."""
        return bool(self.live.on_agent(agent_name))

    def connected(self) -> frozenset[str]:
        """The agents with a connection."""
        return frozenset(a.id for a in self.agents() if a.is_connected)

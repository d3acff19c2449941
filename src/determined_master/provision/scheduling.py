"""The parts of a pool that the loop of its machines needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from determined_master.domain.schedule.view import RequestView
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.loop import PoolDecision
    from determined_master.ports.agents import AgentSnapshot


async def _none(waiting: Sequence[RequestView]) -> Mapping[str, str]:
    return {}


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

    held_back: Callable[[Sequence[RequestView]], Awaitable[Mapping[str, str]]] = _none
    """Requests for which no machine may start, by allocation, with the reason."""

    def is_busy(self, agent_name: str) -> bool:
        """Whether anything runs on an agent."""
        return bool(self.live.on_agent(agent_name))

    def connected(self) -> frozenset[str]:
        """The agents with a connection."""
        return frozenset(a.id for a in self.agents() if a.is_connected)

"""Agents that could not start what they were given: they rest a while before they get more.

An agent whose disk is full, or whose daemon hangs, ends whatever it is given at once; and since
that is no fault of the task it is asked for again at once. Without a rest the two would go round
many times a second, and a healthy agent beside it would get nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from determined_master import clock

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation

LONGEST_S = 300.0
_MOST_DOUBLINGS = 9


class Backoff(msgspec.Struct, frozen=True):
    """How long an agent still rests, and after how many failed starts in a row."""

    left_s: float
    failures: int


class AgentBackoff:
    """Who rests, from the changes of allocations. A container that runs ends the rest."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self._until_s: dict[str, float] = {}

    def changed(self, before: Allocation | None, after: Allocation) -> None:
        """An allocation has another state."""
        known = {c.id: c.state for c in before.containers} if before is not None else {}
        for container in after.containers:
            if container.state == known.get(container.id):
                continue
            if container.state == "RUNNING":
                self._failures.pop(container.agent_id, None)
                self._until_s.pop(container.agent_id, None)
            elif container.failure is not None and container.failure.type == "agent_error":
                self._begin(container.agent_id)

    def find(self, agent_id: str) -> Backoff | None:
        """The rest of an agent, None when it has none at present."""
        until_s = self._until_s.get(agent_id)
        if until_s is None:  # as with nearly all agents, which are asked for at every plan
            return None
        left_s = until_s - clock.monotonic_s()
        return Backoff(left_s, self._failures[agent_id]) if left_s > 0 else None

    def next_end_s(self) -> float | None:
        """How long until the next agent has rested, None when none rests."""
        now_s = clock.monotonic_s()
        return min((u - now_s for u in self._until_s.values() if u > now_s), default=None)

    def _begin(self, agent_id: str) -> None:
        failures = self._failures[agent_id] = self._failures.get(agent_id, 0) + 1
        rest_s = min(LONGEST_S, 2.0 ** min(failures, _MOST_DOUBLINGS))
        self._until_s[agent_id] = clock.monotonic_s() + rest_s

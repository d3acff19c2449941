"""Agents that could not start what they were given: they rest a while before they get more.

An agent whose disk is full, or whose daemon hangs, ends whatever it is given at once; and since
that is no fault of the task it is asked for again at once. Without a rest the two would go round
many times a second, and a healthy agent beside it would get nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master import clock

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation

LONGEST_S = 300.0
_MOST_DOUBLINGS = 9


class Resting:
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

    def is_resting(self, agent_id: str) -> bool:
        """Whether the agent gets nothing new at present."""
        until_s = self._until_s.get(agent_id)
        return until_s is not None and until_s > clock.monotonic_s()

    def _begin(self, agent_id: str) -> None:
        failures = self._failures[agent_id] = self._failures.get(agent_id, 0) + 1
        rest_s = min(LONGEST_S, 2.0 ** min(failures, _MOST_DOUBLINGS))
        self._until_s[agent_id] = clock.monotonic_s() + rest_s

"""Back-off of agents that could not start their tasks, before they get more.

An agent whose disk is full, or whose daemon hangs, ends every task at once. Because that is not
the task's fault, the task requests slots again at once. Without a back-off this would repeat many
times a second, and a healthy agent would get nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_wire.backoff import Backoff

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation

BACKOFF = Backoff(2.0, 300.0)


class CurrentBackoff(msgspec.Struct, frozen=True):
    """How long an agent's back-off still lasts, and the number of failed starts in a row."""

    left_s: float
    failures: int


class AgentBackoff:
    """Tracks back-offs from the changes of allocations. A running container ends a back-off."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self._until_s: dict[str, float] = {}

    def changed(self, before: Allocation | None, after: Allocation) -> None:
        known = {c.id: c.state for c in before.containers} if before is not None else {}
        for container in after.containers:
            if container.state == known.get(container.id):
                continue
            if container.state == "RUNNING":
                self._failures.pop(container.agent_id, None)
                self._until_s.pop(container.agent_id, None)
            elif container.failure is not None and container.failure.type == "agent_error":
                self._begin(container.agent_id)

    def find(self, agent_id: str) -> CurrentBackoff | None:
        """The back-off of an agent; None if it has none at present."""
        until_s = self._until_s.get(agent_id)
        if until_s is None:  # the usual case: almost all agents, which every plan looks up
            return None
        left_s = until_s - clock.monotonic_s()
        return CurrentBackoff(left_s, self._failures[agent_id]) if left_s > 0 else None

    def next_end_s(self) -> float | None:
        """How long until the next back-off ends, None without any."""
        now_s = clock.monotonic_s()
        return min((u - now_s for u in self._until_s.values() if u > now_s), default=None)

    def _begin(self, agent_id: str) -> None:
        failures = self._failures[agent_id] = self._failures.get(agent_id, 0) + 1
        self._until_s[agent_id] = clock.monotonic_s() + BACKOFF.after(failures)

"""Which idle machines might take a waiting request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from determined_master.domain.schedule.view import AgentView, RequestView, Size


class WantedSlots:
    """Slots that requests need on a single machine.

    Cost: O(n) in requests to build, O(1) a query.
    """

    def __init__(self, waiting: Iterable[RequestView], size: Size) -> None:
        """
        Args:
            waiting: what got no place in the last plan.
            size: of machines; requests that they could never hold do not count.
        """
        self._excluded: dict[int, frozenset[str]] = {}
        """By slots needed on one machine: the agents that all such requests exclude."""
        for request in waiting:
            if not size.may_hold(request.slots, is_single_node=request.is_single_node):
                continue
            # A gang takes whole machines of one size.
            need = min(request.slots, size.slots)
            known = self._excluded.get(need, request.excluded_agents)
            self._excluded[need] = known & request.excluded_agents

    def might_take(self, agent: AgentView) -> bool:
        """Whether an idle agent meets all needs of some request.

        One with fewer slots than its machine type (a device is broken or disabled) counts only for
        small requests: otherwise a large request would wait for it forever.
        """
        return agent.is_accepting and any(
            need <= agent.slots and agent.id not in excluded
            for need, excluded in self._excluded.items()
        )

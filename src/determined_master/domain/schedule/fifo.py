"""A pool that serves its requests in the order of their submission.

Nobody overtakes, so that a large request is not starved by small ones: what cannot start holds
back all that came after it. Two kinds do not take part in this: a request that these agents
could not hold even if they were empty, which waits for other agents; and tasks without slots,
which take no slots from anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.domain.schedule import reasons
from determined_master.domain.schedule.fitting import Demand, fit, fits_when_drained, take
from determined_master.domain.schedule.plan import Plan, Start, Wait
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView

MAX_AHEAD = 10


def plan(view: PoolView) -> Plan:
    """Decide who starts where, and why the others wait; nobody is preempted.

    Args:
        view: one pool; the order of its parts never changes the plan.

    Returns:
        Starts and waits, each in the order of submission, then of allocation id.

    Cost: one fit (O(n log n) in agents) a start, one more a distinct demand, and O(1) a request
    that waits behind another.
    """
    line = sorted(view.pending, key=lambda r: (r.submitted_at, r.allocation_id))
    queue = _Queue(view)
    for request in line:
        queue.serve(request)
    return Plan(starts=tuple(queue.starts), waits=tuple(queue.waits))


class _Queue:
    """One pass over a pool."""

    def __init__(self, view: PoolView) -> None:
        self.starts: list[Start] = []
        self.waits: list[Wait] = []
        self._pool = view.pool
        self._agents: dict[str, AgentView] = {a.id: a for a in view.agents}
        self._possible: dict[Demand, bool] = {}
        self._full: set[Demand] = set()
        self._free = reasons.free_slots(view.agents)
        self._ahead: list[str] = []
        """Those that wait for slots and could get them here, in their order."""

    def serve(self, request: RequestView) -> None:
        """Start the request, or note why it waits."""
        demand = Demand.of(request)
        if demand.slots > 0 and self._is_possible(demand) and self._ahead:
            self._wait(request, reasons.behind(demand, self._ahead))
            self._ahead.append(request.allocation_id)
            return
        placement = None
        if demand not in self._full and self._is_possible(demand):
            placement = fit(demand, self._present())
        if placement is not None:
            self._agents = take(self._agents, placement)
            self._free = reasons.free_slots(self._present())
            order = tuple(sorted(placement.items()))
            self.starts.append(Start(request.allocation_id, order))
            return
        self._full.add(demand)
        if not self._is_possible(demand):
            self._wait(request, reasons.impossible(demand, self._pool, self._present()))
            return
        self._wait(request, reasons.full(demand, self._present()))
        if demand.slots > 0:
            self._ahead.append(request.allocation_id)

    def _present(self) -> Sequence[AgentView]:
        return tuple(self._agents.values())

    def _is_possible(self, demand: Demand) -> bool:
        if demand not in self._possible:
            self._possible[demand] = fits_when_drained(demand, self._present())
        return self._possible[demand]

    def _wait(self, request: RequestView, reason: str) -> None:
        free, hole = self._free
        ahead = () if request.slots < 1 else tuple(reversed(self._ahead[-MAX_AHEAD:]))
        self.waits.append(
            Wait(
                allocation_id=request.allocation_id,
                reason=reason,
                needs_slots=request.slots,
                free_slots=free,
                largest_hole=hole,
                ahead=ahead,
            )
        )

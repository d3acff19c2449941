"""Plans a pool of pods until every start fits, each time without the nodes that were too full.

Free memory and the like are compared with the plan's starts, since each start uses some up: a
start that does not fit is withdrawn and planned again without that node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from msgspec.structs import replace

from determined_master.domain.pods.placement import Misfit, pods_that_fit, shortage
from determined_master.domain.pods.quantities import Amounts, total
from determined_master.domain.schedule import planner
from determined_master.domain.schedule.kubernetes import parts_beyond
from determined_master.domain.schedule.placing.pods_view import (
    Misfits,
    PodsView,
    with_requests,
    with_slots,
)
from determined_master.domain.schedule.plan import Plan, Start
from determined_master.domain.schedule.view import PoolView

MAX_ROUNDS = 5
"""Plans of one pool at a time; a request that got no node until then waits for the next time."""


class PodRounds:
    """The plans of one view, and what withdrew starts from them."""

    def __init__(self, view: PoolView, side: PodsView) -> None:
        self._view = view
        self._side = side
        self._agents = {a.id: a for a in view.agents}
        self.nodes = len(view.agents)
        self._requested_at = {r.allocation_id: r.requested_at for r in view.pending}
        self._starving_at = view.now - timedelta(seconds=view.rules.gang_patience_s)
        self._full: dict[str, frozenset[str]] = {}
        self.short: dict[str, dict[str, Misfit]] = {}
        """By request: the nodes with free slots that have too little of another resource."""
        self.over_quota: dict[str, str] = {}
        """By request: the quota that is full with the starts before it."""

    def run(self) -> Plan:
        """The plan whose starts all fit."""
        for _ in range(MAX_ROUNDS):
            plan = planner.plan(self._without_full())
            over = dict(self._over_quota(plan.starts))
            self.over_quota.update(over)
            unfit = self._unfit_starts([s for s in plan.starts if s.allocation_id not in over])
            withdrawn = over.keys() | unfit.keys()
            if not self._exclude(plan.starts, unfit) and not over:
                break
        return replace(
            plan, starts=tuple(s for s in plan.starts if s.allocation_id not in withdrawn)
        )

    def _exclude(self, starts: Iterable[Start], unfit: Mapping[str, Misfits]) -> bool:
        """Exclude the full nodes from the next plan; whether there is something to exclude.

        A request that waits for long keeps the slots until a node has enough of the rest.
        """
        is_new = False
        for start in starts:
            id = start.allocation_id
            if id in unfit:
                self.short.setdefault(id, {}).update(unfit[id])
                if self._requested_at[id] > self._starving_at:
                    self._full[id] = self._full.get(id, frozenset()).union(
                        *(self._too_much(start, agent_id) for agent_id in unfit[id])
                    )
                    is_new = True
        return is_new

    def _without_full(self) -> PoolView:
        """The view without requests over a quota, and for each other one without full nodes."""
        if not self._full and not self.over_quota:
            return self._view
        return with_requests(
            self._view,
            tuple(
                replace(r, excluded_agents=r.excluded_agents | self._full[r.allocation_id])
                if r.allocation_id in self._full
                else r
                for r in self._view.pending
                if r.allocation_id not in self.over_quota
            ),
        )

    def _over_quota(self, starts: Iterable[Start]) -> Iterator[tuple[str, str]]:
        """The starts for which a quota is full, counting those before them."""
        used: dict[str, Amounts] = {}
        for start in starts:
            pods = self._side.pods[start.allocation_id]
            if pods.namespace not in self._side.loads.quotas:
                continue
            before = used.get(pods.namespace, self._side.planned.get(pods.namespace, {}))
            text = self._side.quota(start.allocation_id, before)
            if text:
                yield start.allocation_id, text
            else:
                used[pods.namespace] = total([before, pods.uses])

    def _unfit_starts(self, starts: Sequence[Start]) -> dict[str, Misfits]:
        """The starts for which nodes have too little, counting those before them."""
        unfit: dict[str, Misfits] = {}
        used = dict(self._side.used()) if starts else {}
        for start in starts:
            after, misfits = self._add(start, used)
            if misfits:
                unfit[start.allocation_id] = misfits
            else:
                used.update(after)
        return unfit

    def _add(
        self, start: Start, used: Mapping[str, Amounts]
    ) -> tuple[dict[str, Amounts], dict[str, Misfit]]:
        """The use of a start's nodes with it, and those that have too little for it."""
        after: dict[str, Amounts] = {}
        misfits: dict[str, Misfit] = {}
        for agent_id, slots in start.placement:
            load = self._side.loads.nodes.get(agent_id)
            if load is None:
                continue
            amounts = self._amounts(start, len(slots))
            own = after.get(agent_id) or used.get(agent_id, {})
            lack = shortage(amounts, load.facts, total([load.foreign, own]))
            if lack is not None:
                misfits[agent_id] = lack
            after[agent_id] = total([own, amounts])
        return after, misfits

    def _too_much(self, start: Start, agent_id: str) -> frozenset[str]:
        """What to exclude so that the next plan places fewer of the request's pods on a node."""
        load = self._side.loads.nodes[agent_id]
        pods = [len(numbers) for other, numbers in start.placement if other == agent_id]
        before = total([load.foreign, self._side.used().get(agent_id, {})])
        fitting = pods_that_fit(self._amounts(start, pods[-1]), load.facts, before) or 0
        most = self._view.rules.max_slots_per_pod
        return parts_beyond(self._agents[agent_id], most, min(fitting, len(pods) - 1))

    def _amounts(self, start: Start, slots: int) -> Amounts:
        """The requests of one pod of a start."""
        return with_slots(self._side.pods[start.allocation_id].needs, slots, self._side.loads)

"""Plans a pool of a Kubernetes cluster so that its scheduler can place every pod as planned.

The requests go through filters, which exclude nodes and hold back what no node can take; the
others are planned in rounds; then each wait gets its reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from determined_master.domain.pods.placement import summary
from determined_master.domain.schedule.ordering import queue_key
from determined_master.domain.schedule.placing.pod_filters import (
    ClosedNodes,
    Filtered,
    NodeFilter,
    PodKind,
    Requests,
    TopologyFilter,
    filtered,
    kind_of,
    over_quota,
)
from determined_master.domain.schedule.placing.pod_rounds import PodRounds
from determined_master.domain.schedule.placing.pods_view import PodsView, with_requests
from determined_master.domain.schedule.plan import LacksResources, OverQuota, Plan, Wait
from determined_master.domain.schedule.view import PoolView, RequestView


class PodPlanner:
    """Plans one pool; an unchanged request stays the same object from plan to plan."""

    def __init__(self) -> None:
        self._nodes = NodeFilter()
        self._cached: dict[tuple[str, bool], RequestView] = {}
        """By allocation: the request with its excluded nodes as planned, and as shown."""

    def plan(self, view: PoolView, side: PodsView) -> tuple[PoolView, Plan]:
        """The view with what excludes nodes for each request, and the plan.

        Cost: of a plan, up to `MAX_ROUNDS` times; O(nodes) for each kind of pods, after a change
        of nodes.
        """
        specified = tuple(r for r in view.pending if r.allocation_id in side.pods)
        topology = TopologyFilter()
        filters = self._exclude_nodes, topology.apply, over_quota
        requests, reasons = filtered(filters, specified, view, side)
        rounds = PodRounds(_without(view, requests, reasons), side)
        plan = rounds.run()
        if topology.drop_lost(plan):
            rounds = PodRounds(_without(view, topology.narrowed(), reasons), side)
            plan = rounds.run()
        reasons = {**reasons, **_reasons_of(rounds, plan, requests, self._nodes.closed, side)}
        return with_requests(view, self._shown(topology)), _explained(plan, reasons, view)

    def _exclude_nodes(self, requests: Requests, view: PoolView, side: PodsView) -> Filtered:
        narrowed, reasons = self._nodes.apply(requests, view, side)
        pairs = zip(requests, narrowed, strict=True)
        same = tuple(
            before if after is before else self._same(after, is_shown=False)
            for before, after in pairs
        )
        self._cached = {key: r for key, r in self._cached.items() if key[0] in side.pods}
        return Filtered(same, reasons)

    def _shown(self, topology: TopologyFilter) -> Requests:
        requests, texts = topology.shown()
        return tuple(
            self._same(replace(r, unfit=texts[r.allocation_id]), is_shown=True)
            if r.allocation_id in texts
            else r
            for r in requests
        )

    def _same(self, request: RequestView, *, is_shown: bool) -> RequestView:
        """The equal object of the plan before, if there is one."""
        key = request.allocation_id, is_shown
        cached = self._cached.get(key)
        if cached != request:
            cached = self._cached[key] = request
        return cached


def _without(view: PoolView, requests: Requests, reasons: Mapping[str, Wait]) -> PoolView:
    return with_requests(view, tuple(r for r in requests if r.allocation_id not in reasons))


def _reasons_of(
    rounds: PodRounds,
    plan: Plan,
    requests: Requests,
    closed: Mapping[PodKind, ClosedNodes],
    side: PodsView,
) -> dict[str, Wait]:
    """Why starts were withdrawn: too little of a resource, or of a quota, after other starts."""
    started = {start.allocation_id for start in plan.starts}
    reasons: dict[str, Wait] = {}
    for request in requests:
        id = request.allocation_id
        if id in rounds.short and id not in started:
            misfits = {**closed[kind_of(request, side)].misfits, **rounds.short[id]}
            reasons[id] = LacksResources(id, summary(misfits.values(), rounds.nodes))
    reasons.update({id: OverQuota(id, text) for id, text in rounds.over_quota.items()})
    return reasons


def _explained(plan: Plan, reasons: Mapping[str, Wait], view: PoolView) -> Plan:
    """The plan with these reasons in place of its own, in the order of the queue."""
    if not reasons:
        return plan
    order = {r.allocation_id: (r.slots < 1, queue_key(r, view.rules)) for r in view.pending}
    waits = [w for w in plan.waits if w.allocation_id not in reasons]
    waits = sorted([*waits, *reasons.values()], key=lambda w: order[w.allocation_id])
    return replace(plan, waits=tuple(waits))

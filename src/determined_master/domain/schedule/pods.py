"""Plans a pool of a Kubernetes cluster so that its scheduler can place every pod as planned.

Nodes that can never run a request's pods are excluded before the plan. Free memory and the like
are compared with the plan's starts, since each start uses some up: a start that does not fit is
withdrawn and planned again without that node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from determined_master.domain.pods.needs import PodNeeds
from determined_master.domain.pods.placement import (
    ClusterLoads,
    Misfit,
    misfit,
    pods_that_fit,
    shortage,
    summary,
)
from determined_master.domain.pods.quantities import Amounts, total
from determined_master.domain.pods.quotas import exceeded, quota_uses
from determined_master.domain.schedule import planner
from determined_master.domain.schedule.kubernetes import parts_beyond, split
from determined_master.domain.schedule.ordering import queue_key
from determined_master.domain.schedule.placing.topology import (
    Topology,
    Wish,
    dropped_preferences,
    inside,
    narrow_all,
    required_ones,
    wait_texts,
    wish_of,
)
from determined_master.domain.schedule.plan import Plan, Start, Wait
from determined_master.domain.schedule.view import PoolView, RequestView

ROUNDS = 5
"""Most plans of one pass; a request that found no node until then waits for the next pass."""
Used = Mapping[str, Amounts]
Misfits = Mapping[str, Misfit]
_Kind = tuple[str, bool]
"""The key of pods, and whether their requests have slots."""


class TaskPods(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one request; all of them are alike."""

    key: str
    """Equal for requests whose pods are alike."""
    needs: PodNeeds
    avoided: Misfits = {}
    """Nodes that did not take such a pod lately, by agent."""
    namespace: str = ""
    uses: Amounts = {}
    """Of quotas of its namespace, by all pods together."""
    topology: Topology | None = None
    """The domain that its pods share."""


class PodsView(msgspec.Struct, frozen=True, kw_only=True):
    """The Kubernetes side of a pool at one instant."""

    loads: ClusterLoads
    pods: Mapping[str, TaskPods]
    """By allocation. A request without an entry is not planned yet."""
    used: Callable[[], Used]
    """The requests of our own pods, by agent; called when something can start."""
    planned: Mapping[str, Amounts] = {}
    """By namespace: the use of quotas by pods that are planned and not created yet."""

    def quota(self, allocation_id: str, more: Amounts | None = None) -> str:
        """The quota that does not admit a request's pods, for people; empty when all do."""
        pods = self.pods[allocation_id]
        quotas = self.loads.quotas.get(pods.namespace)
        if not quotas:
            return ""
        return exceeded(quotas, pods.uses, more or self.planned.get(pods.namespace))


class _Closed(msgspec.Struct, frozen=True):
    """What excludes nodes for pods of one key."""

    agents: frozenset[str]
    misfits: Misfits
    text: str


class PodPlanner:
    """Plans one pool; an unchanged request stays the same object from plan to plan."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, bool], RequestView] = {}
        """By allocation: the request with its excluded nodes as planned, and as shown."""
        self._nodes: tuple[object, tuple[tuple[str, int], ...]] = None, ()
        self._closed: dict[_Kind, _Closed] = {}
        """By kind of pods, for these nodes."""

    def plan(self, view: PoolView, given: PodsView) -> tuple[PoolView, Plan]:
        """The view with what excludes nodes for each request, and the plan.

        Cost: of a plan, up to `ROUNDS` times; O(nodes) for each kind of pods, after a change of
        nodes.
        """
        nodes = given.loads.nodes, tuple((a.id, a.slots) for a in view.agents)
        known = self._closed if nodes[0] is self._nodes[0] and nodes[1] == self._nodes[1] else {}
        self._nodes, self._closed = nodes, {}
        requests = tuple(
            self._narrowed(r, view, given, known)
            for r in view.pending
            if r.allocation_id in given.pods
        )
        closed = self._closed
        self._made = {k: made for k, made in self._made.items() if k[0] in given.pods}
        blocked = {
            r.allocation_id: text for r in requests if (text := given.quota(r.allocation_id))
        }
        preferences = _preferences(requests, view, given)
        candidates = narrow_all(_with(view, requests), preferences) if preferences else {}
        unplaceable = {id: one.impossible for id, one in candidates.items() if one.impossible}
        excluded = blocked.keys() | unplaceable.keys()
        eligible = tuple(r for r in requests if r.allocation_id not in excluded)
        pass_ = _Pass(_with(view, inside(eligible, candidates)), given)
        plan = pass_.run()
        dropped = dropped_preferences(plan, preferences, candidates)
        if dropped:
            candidates = {id: one for id, one in candidates.items() if id not in dropped}
            pass_ = _Pass(_with(view, inside(eligible, candidates)), given)
            plan = pass_.run()
        blocked.update(pass_.blocked)
        short = {
            r.allocation_id: summary(
                {**closed[_kind(r, given)].misfits, **pass_.short[r.allocation_id]}.values(),
                len(view.agents),
            )
            for r in eligible
            if r.allocation_id in pass_.short and r.allocation_id not in blocked
        }
        for start in plan.starts:
            short.pop(start.allocation_id, None)
        waits = [w for w in plan.waits if w.allocation_id not in short]
        waits += [Wait(i, "resources") for i in short]
        waits += [Wait(i, "quota") for i in blocked]
        waits += [Wait(i, "topology") for i in unplaceable if i not in blocked]
        texts = wait_texts(requests, preferences, candidates)
        texts = {**texts, **unplaceable, **short, **blocked}
        shown = tuple(
            self._as_shown(r, texts.get(r.allocation_id, ""))
            for r in inside(requests, required_ones(candidates, preferences))
        )
        if short or blocked or unplaceable:
            waits = _in_order(waits, view)
        return _with(view, shown), replace(plan, waits=tuple(waits))

    def _narrowed(
        self,
        request: RequestView,
        view: PoolView,
        given: PodsView,
        known: Mapping[_Kind, _Closed],
    ) -> RequestView:
        kind = _kind(request, given)
        found = self._closed.get(kind)
        if found is None:
            is_fixed = not given.pods[request.allocation_id].avoided
            found = known.get(kind) if is_fixed else None
            found = self._closed[kind] = found or _closed(request, view, given)
        if not found.agents and not found.text:
            return request
        excluded = request.excluded_agents | found.agents
        made = replace(request, excluded_agents=excluded, unfit=found.text)
        return self._kept(made, is_shown=False)

    def _as_shown(self, request: RequestView, text: str) -> RequestView:
        if not text or text == request.unfit:
            return request
        return self._kept(replace(request, unfit=text), is_shown=True)

    def _kept(self, made: RequestView, *, is_shown: bool) -> RequestView:
        before = self._made.get((made.allocation_id, is_shown))
        if before == made:
            return before
        self._made[made.allocation_id, is_shown] = made
        return made


class _Pass:
    """Plans until every start fits, each time without the nodes that were too full."""

    def __init__(self, view: PoolView, given: PodsView) -> None:
        self._view = view
        self._given = given
        self._agents = {a.id: a for a in view.agents}
        self._full: dict[str, frozenset[str]] = {}
        self.short: dict[str, dict[str, Misfit]] = {}
        """By request: the nodes with free slots that have too little of another resource."""
        self.blocked: dict[str, str] = {}
        """By request: the quota that is full with the starts before it."""

    def run(self) -> Plan:
        starving_at = self._view.now - timedelta(seconds=self._view.rules.gang_patience_s)
        requests = {r.allocation_id: r for r in self._view.pending}
        for _ in range(ROUNDS):
            plan = planner.plan(self._without_full())
            over = dict(self._over_quota(plan.starts))
            self.blocked.update(over)
            withdrawn = set(over)
            is_again = bool(over)
            for start, misfits in self._unfit_starts(plan.starts, withdrawn):
                withdrawn.add(start.allocation_id)
                self.short.setdefault(start.allocation_id, {}).update(misfits)
                # One that waits for long keeps the slots until a node has enough of the rest.
                if requests[start.allocation_id].requested_at > starving_at:
                    is_again = True
                    self._close(start, misfits)
            if not is_again:
                break
        return replace(
            plan, starts=tuple(s for s in plan.starts if s.allocation_id not in withdrawn)
        )

    def _without_full(self) -> PoolView:
        """The view without requests over a quota, and for each other one without full nodes."""
        if not self._full and not self.blocked:
            return self._view
        return _with(
            self._view,
            tuple(
                replace(r, excluded_agents=r.excluded_agents | self._full[r.allocation_id])
                if r.allocation_id in self._full
                else r
                for r in self._view.pending
                if r.allocation_id not in self.blocked
            ),
        )

    def _over_quota(self, starts: Iterable[Start]) -> Iterator[tuple[str, str]]:
        """The starts for which a quota is full, counting those before them."""
        taken: dict[str, Amounts] = {}
        for start in starts:
            pods = self._given.pods[start.allocation_id]
            if pods.namespace not in self._given.loads.quotas:
                continue
            before = taken.get(pods.namespace, self._given.planned.get(pods.namespace, {}))
            text = self._given.quota(start.allocation_id, before)
            if text:
                yield start.allocation_id, text
            else:
                taken[pods.namespace] = total([before, pods.uses])

    def _unfit_starts(
        self, starts: Sequence[Start], withdrawn: set[str]
    ) -> Iterator[tuple[Start, Misfits]]:
        """The other starts for which nodes have too little, counting those before them."""
        taken: dict[str, Amounts] = {}
        loads, used = self._given.loads, self._given.used() if starts else {}
        for start in [s for s in starts if s.allocation_id not in withdrawn]:
            now, misfits = dict(taken), {}
            for agent_id, amounts in self._pods_of(start):
                load = loads.nodes.get(agent_id)
                if load is None:
                    continue
                before = total([load.foreign, used.get(agent_id, {}), now.get(agent_id, {})])
                found = shortage(amounts, load.facts, before)
                if found is not None:
                    misfits[agent_id] = found
                now[agent_id] = total([now.get(agent_id, {}), amounts])
            if misfits:
                yield start, misfits
            else:
                taken = now

    def _pods_of(self, start: Start) -> Iterator[tuple[str, Amounts]]:
        needs = self._given.pods[start.allocation_id].needs
        for agent_id, slots in start.placement:
            yield agent_id, with_slots(needs, len(slots), self._given.loads)

    def _close(self, start: Start, misfits: Misfits) -> None:
        """Exclude what is too full from the next plan of a request."""
        found = self._full.get(start.allocation_id, frozenset())
        used = self._given.used()
        most = self._view.rules.max_slots_per_pod
        slots = {agent_id: len(numbers) for agent_id, numbers in start.placement}
        for agent_id in misfits:
            load = self._given.loads.nodes[agent_id]
            amounts = with_slots(
                self._given.pods[start.allocation_id].needs, slots[agent_id], self._given.loads
            )
            before = total([load.foreign, used.get(agent_id, {})])
            pods = pods_that_fit(amounts, load.facts, before) or 0
            planned = sum(1 for other, _ in start.placement if other == agent_id)
            found |= parts_beyond(self._agents[agent_id], most, min(pods, planned - 1))
        self._full[start.allocation_id] = found


def with_slots(needs: PodNeeds, slots: int, loads: ClusterLoads) -> Amounts:
    """The requests of one pod that has so many slots."""
    if not slots:
        return needs.requests
    return total([needs.requests, {r: amount * slots for r, amount in loads.per_slot.items()}])


def uses_of(
    needs: PodNeeds, slots: int, most: int | None, loads: ClusterLoads, secrets: int = 1
) -> dict[str, Decimal]:
    """The use of quotas by all pods of a request.

    Args:
        needs: of one pod, without its slots.
        slots: of the request.
        most: slots of one pod; None without a limit.
        loads: has the requests of a slot.
        secrets: of one pod.
    """
    pods = len(split(slots, most) or (slots,))
    by_slots = {r: amount * slots for r, amount in loads.per_slot.items()}
    requests = total([*([needs.requests] * pods), by_slots])
    limits = total([*([needs.limits] * pods), by_slots])
    return quota_uses(requests, limits, pods, secrets * pods)


def _closed(request: RequestView, view: PoolView, given: PodsView) -> _Closed:
    """The nodes of a pool that can never run a request's pods, or do not take them now."""
    pods, loads = given.pods[request.allocation_id], given.loads
    most = view.rules.max_slots_per_pod
    agents: set[str] = set()
    misfits: dict[str, Misfit] = {}
    for agent in view.agents:
        load = loads.nodes.get(agent.id)
        if load is None:
            continue
        found = pods.avoided.get(agent.id) or misfit(pods.needs, load.facts, load.foreign)
        if found is not None:
            misfits[agent.id] = found
            agents.add(agent.id)
        elif request.slots and most is not None:
            count = pods_that_fit(pods.needs.requests, load.facts, load.foreign)
            agents |= frozenset() if count is None else parts_beyond(agent, most, count)
    return _Closed(frozenset(agents), misfits, summary(misfits.values(), len(view.agents)))


def _preferences(
    requests: Iterable[RequestView], view: PoolView, given: PodsView
) -> dict[str, Wish]:
    """The domains that requests ask for; requests of one kind of wish share its value."""
    known: dict[Topology, Wish] = {}
    found = {}
    for request in requests:
        topology = given.pods[request.allocation_id].topology
        if topology is not None:
            if topology not in known:
                known[topology] = wish_of(topology, view.agents, given.loads)
            found[request.allocation_id] = known[topology]
    return found


def _kind(request: RequestView, given: PodsView) -> _Kind:
    return given.pods[request.allocation_id].key, request.slots > 0


def _with(view: PoolView, pending: tuple[RequestView, ...]) -> PoolView:
    """The view with these requests, in the same order."""
    if len(pending) == len(view.pending) and all(map(_is, pending, view.pending)):
        return view
    return replace(view, pending=pending, jobs=None)


def _is(one: RequestView, other: RequestView) -> bool:
    return one is other


def _in_order(waits: list[Wait], view: PoolView) -> list[Wait]:
    order = {r.allocation_id: (r.slots < 1, queue_key(r, view.rules)) for r in view.pending}
    return sorted(waits, key=lambda w: order[w.allocation_id])

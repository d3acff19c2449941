"""What must hold of every plan of every pool, and of what follows from them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import PoolView, RequestView, RunningView
from determined_master.pools.loop import PoolDecision

_MAX_S = 900.0
"""Beyond its patience, a gang waits for those who run on what is drained for it."""
_WAITING = ("full", "leaving", "kept")


class ScheduleChecks:
    """Watches the decisions of one pool."""

    def __init__(self, violate: Callable[[str], None], *, is_calm: bool) -> None:
        self._violate, self._is_calm = violate, is_calm
        self._queue: frozenset[object] = frozenset()
        self._asked: dict[str, str] = {}
        """The allocation of each task that was asked to leave since the queue has changed."""
        self._preempted: set[str] = set()
        """All allocations that were ever asked to leave."""
        self._newest: dict[str, str] = {}
        """The allocation of each task at the tick before."""
        self._late: set[str] = set()
        """Those that the head alone has kept from starting, at the tick before."""
        self.decisions = 0

    def decided(self, decision: PoolDecision) -> None:
        """Check one plan."""
        self.decisions += 1
        self._check_places(decision)
        self._check_head(decision)
        self._check_turns(decision)
        if self._is_calm:
            self._check_patience(decision)

    def _check_places(self, decision: PoolDecision) -> None:
        """Only free slots of agents that take work, each once; only those who wait start."""
        view = decision.view
        free = {(a.id, s) for a in view.agents if a.is_accepting for s in a.free_slots}
        waiting = {r.allocation_id: r for r in view.pending}
        for start in decision.plan.starts:
            request = waiting.pop(start.allocation_id, None)
            if request is None:
                self._violate(f"the plan starts {start.allocation_id}, which does not wait")
                continue
            taken = {(agent, slot) for agent, slots in start.placement for slot in slots}
            if len(taken) != request.slots:
                self._violate(f"{start.allocation_id} is given {len(taken)} of {request.slots}")
            if not taken <= free:
                self._violate(f"{start.allocation_id} is given slots that are not free: {taken}")
            free -= taken

    def _check_head(self, decision: PoolDecision) -> None:
        """Who can never fit delays nobody by more than a tick."""
        waits = decision.plan.waits
        impossible = {w.allocation_id for w in waits if w.code == "impossible"}
        if not impossible:
            self._late.clear()
            return
        rest = tuple(r for r in decision.view.pending if r.allocation_id not in impossible)
        without = plan(msgspec.structs.replace(decision.view, pending=rest))
        started = {s.allocation_id for s in decision.plan.starts}
        late = {s.allocation_id for s in without.starts} - started
        for allocation_id in sorted(late & self._late):
            self._violate(f"{allocation_id} waits for {sorted(impossible)}, which can never fit")
        self._late = late

    def _check_turns(self, decision: PoolDecision) -> None:
        """No task is asked to leave a second time while the queue is what it was."""
        queue = _queue(decision.view) | self._stopped(decision.view)
        if queue != self._queue or self._has_come_back(decision.view):
            self._queue = queue
            self._asked.clear()
        for preempt in decision.plan.preemptions:
            task = _task(preempt.allocation_id)
            self._preempted.add(preempt.allocation_id)
            known = self._asked.setdefault(task, preempt.allocation_id)
            if known != preempt.allocation_id:
                self._violate(
                    f"{preempt.allocation_id} is asked to leave, as {known} was, and the queue "
                    "has not changed: tasks take turns"
                )

    def _stopped(self, view: PoolView) -> frozenset[object]:
        """Those that leave though no plan has asked them: the slots they give back are news."""
        return frozenset(
            r.allocation_id
            for r in view.running
            if r.is_leaving and r.allocation_id not in self._preempted
        )

    def _has_come_back(self, view: PoolView) -> bool:
        """Whether a task left by itself and asks for slots again: the queue had changed."""
        newest = {_task(o.allocation_id): o.allocation_id for o in (*view.running, *view.pending)}
        asked = set(self._asked.values())
        known, self._newest = self._newest, newest
        return any(known.get(task, newest[task]) not in (newest[task], *asked) for task in newest)

    def _check_patience(self, decision: PoolDecision) -> None:
        """Nobody who could be held waits forever, unless more urgent ones do."""
        view = decision.view
        codes = {w.allocation_id: w.code for w in decision.plan.waits}
        most_urgent = min((r.priority for r in view.pending), default=0)
        for request in view.pending:
            if codes.get(request.allocation_id) not in _WAITING or request.priority > most_urgent:
                continue
            waited_s = (view.now - request.requested_at).total_seconds()
            if waited_s > view.rules.gang_patience_s + _MAX_S:
                self._violate(f"{request.allocation_id} starves: it waits for {waited_s:.0f} s")


def _queue(view: PoolView) -> frozenset[object]:
    """What of a view is the queue: who is in it, on what terms, and with which agents."""
    members: list[object] = [(a.id, a.slots, a.is_accepting) for a in view.agents]
    for one in (*view.pending, *view.running):
        members.append((_task(one.allocation_id), _terms(one)))
    # A gang that ends by itself gives its slots back one agent after the other.
    members += [(r.allocation_id, r.slots_by_agent) for r in view.running if _is_ending(r)]
    return frozenset(members)


def _is_ending(one: RunningView) -> bool:
    return not one.is_leaving and sum(slots for _, slots in one.slots_by_agent) < one.slots


def _terms(one: RequestView | RunningView) -> object:
    return one.slots, one.priority, one.weight, one.max_slots, one.position


def _task(allocation_id: str) -> str:
    return allocation_id.rpartition(".")[0]

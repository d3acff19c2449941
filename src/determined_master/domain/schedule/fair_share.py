"""Fair share scheduling: each job is offered a part of the pool by its weight.

Jobs with more than their offer are asked to give slots back, those with less start requests in
the order of age. Offers follow from what jobs ask for and not from who happens to hold what, so
the plan settles: nobody is asked to leave in turns.

A request that its job's share could never hold, or that others have passed for too long, is
served outside of the shares: agents are drained for it, the oldest such request first. What was
started so is not asked to leave for being more than a share.

Source: scheduling-and-provisioning b.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from determined_master.domain.schedule.fitting import Demand, fit
from determined_master.domain.schedule.line import PREEMPTED, Pass
from determined_master.domain.schedule.ordering import age_key
from determined_master.domain.schedule.plan import Plan, Preempt
from determined_master.domain.schedule.shares import Share, fill
from determined_master.domain.schedule.view import PoolView, RequestView, RunningView


def plan(view: PoolView) -> Plan:
    """Decide who starts where, who is asked to leave, and why the others wait.

    Tasks without slots start wherever there is a place, in the order of age.

    Cost: O(n log n) in requests, O(jobs) a round of offers, O(log agents) a start.
    """
    aux, slots = Pass(view, "aux"), _Shares(view)
    for request in sorted((r for r in view.pending if r.slots < 1), key=age_key):
        demand = Demand.of(request)
        parts = aux.fit(request, demand)
        if parts is not None:
            aux.start(request, parts)
        else:
            aux.wait(request, "full" if aux.is_possible(demand) else "impossible")
    slots.serve()
    return Plan(
        starts=(*aux.starts, *slots.line.starts),
        preemptions=tuple(slots.line.preemptions),
        waits=(*slots.line.waits, *aux.waits),
    )


class _Shares:
    """The requests for slots of one pool, by job."""

    def __init__(self, view: PoolView) -> None:
        self.line = Pass(view, "slots")
        self._view = view
        self._pending: dict[str, list[RequestView]] = defaultdict(list)
        self._running: dict[str, list[RunningView]] = defaultdict(list)
        for request in sorted((r for r in view.pending if r.slots > 0), key=age_key):
            if self.line.is_possible(Demand.of(request)):
                self._pending[request.job_id].append(request)
            else:
                self.line.wait(request, "impossible")
        for one in view.running:
            if one.slots > 0:
                self._running[one.job_id].append(one)

    def serve(self) -> None:
        """Offer slots to all jobs, then let each use its offer or give back what is above it."""
        shares = fill(self._claims(), _capacity(self._view))
        served = self._serve_longest_waiting({s.job_id: s for s in shares})
        for share in shares:
            running = [r for r in self._running[share.job_id] if not r.is_gone]
            active = sum(r.slots for r in running)
            staying = [r for r in running if not r.is_leaving]
            excess = sum(r.slots for r in staying) - share.offered
            if excess > 0:
                self._give_back(staying, excess)
            self._start(share, active, is_full=excess >= 0, served=served)

    def _claims(self) -> list[Share]:
        claims = []
        for job_id in {*self._pending, *self._running}:
            pending, running = self._pending[job_id], self._running[job_id]
            members: Sequence[RequestView | RunningView] = [*pending, *running]
            fixed = sum(r.slots for r in running if _is_fixed(r))
            sizes = [r.slots for r in pending]
            sizes += [r.slots for r in running if not _is_fixed(r)]
            demand = sum(m.slots for m in members)
            limits = [m.max_slots for m in members if m.max_slots is not None]
            claims.append(
                Share(
                    job_id=job_id,
                    submitted_at=min(m.submitted_at for m in members),
                    weight=max(m.weight for m in members),
                    demand=min([demand, *limits]),
                    fixed=fixed,
                    smallest=min(sizes, default=None),
                )
            )
        return claims

    def _serve_longest_waiting(self, shares: dict[str, Share]) -> str | None:
        """Start, or drain agents for, the oldest request that its share does not serve.

        One at a time, so that shares stay what they are for all others.
        """
        stuck = [r for job_id, share in shares.items() if (r := self._stuck(share)) is not None]
        if not stuck:
            return None
        request = min(stuck, key=age_key)
        demand = Demand.of(request)
        parts = self.line.fit(request, demand)
        if parts is not None:
            self.line.start(request, parts, is_long_awaited=True)
            return request.allocation_id
        soon = fit(demand, request.allocation_id, self.line.room, is_soon=True)
        if soon is not None:
            self.line.room.promise(soon)
            self.line.wait(request, "leaving", agents=soon)
            return request.allocation_id
        kept = self.line.drain_for(request, demand)
        if kept is None:
            return None
        self.line.wait(request, "kept", agents=kept)
        return request.allocation_id

    def _stuck(self, share: Share) -> RequestView | None:
        """The job's oldest request, if it has waited too long and its offer does not start it."""
        pending = self._pending[share.job_id]
        if not pending or pending[0].requested_at > self.line.impatient_at:
            return None
        oldest = pending[0]
        holds = sum(r.slots for r in self._running[share.job_id] if not r.is_gone)
        if oldest.max_slots is not None and holds + oldest.slots > oldest.max_slots:
            return None
        is_offered = holds + oldest.slots <= share.offered
        if is_offered and self.line.fit(oldest, Demand.of(oldest)) is not None:
            return None
        can_be_passed = any(r.slots < oldest.slots for r in pending)
        is_stuck = is_offered or can_be_passed or oldest.slots > share.offered
        return oldest if is_stuck else None

    def _give_back(self, staying: list[RunningView], excess: int) -> None:
        """Ask the oldest to leave until the job has no more than its offer."""
        able = [r for r in staying if r.is_preemptible and not r.is_long_awaited]
        for one in sorted(able, key=lambda r: (r.submitted_at, r.started_at, r.allocation_id)):
            if excess <= 0:
                return
            self.line.preemptions.append(Preempt(one.allocation_id, PREEMPTED))
            self.line.room.leaves(one)
            excess -= one.slots

    def _start(self, share: Share, active: int, *, is_full: bool, served: str | None) -> None:
        for request in self._pending[share.job_id]:
            if request.allocation_id == served:
                continue
            if is_full or active + request.slots > share.offered:
                self.line.wait(request, "share")
                continue
            parts = self.line.fit(request, Demand.of(request))
            if parts is None:
                self.line.wait(request, "full")
                continue
            self.line.start(request, parts)
            active += request.slots


def _is_fixed(one: RunningView) -> bool:
    """Whether it is never asked to give its slots back."""
    holds = not (one.is_leaving or one.is_gone)
    return holds and (one.is_long_awaited or not one.is_preemptible)


def _capacity(view: PoolView) -> int:
    """Slots of the agents that take work, and those in use that do not."""
    accepting = {a.id for a in view.agents if a.is_accepting}
    shut = sum(count for a in view.agents if a.is_accepting for _, count in a.shut)
    elsewhere = sum(
        slots
        for one in view.running
        if not one.is_gone
        for agent_id, slots in one.slots_by_agent
        if agent_id not in accepting
    )
    return elsewhere + shut + sum(a.slots for a in view.agents if a.is_accepting)

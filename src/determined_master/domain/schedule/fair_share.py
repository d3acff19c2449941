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
from dataclasses import dataclass, field

from determined_master.domain.schedule.fitting import Demand, fit
from determined_master.domain.schedule.line import PREEMPTED, Pass
from determined_master.domain.schedule.ordering import age_key
from determined_master.domain.schedule.plan import Plan, Preempt, Wait
from determined_master.domain.schedule.shares import Share, fill
from determined_master.domain.schedule.view import PoolView, RequestView, RunningView


def plan(view: PoolView) -> Plan:
    """Decide who starts where, who is asked to leave, and why the others wait.

    Tasks without slots start wherever there is a place, in the order of age.

    Cost: O(n log n) in requests, O(jobs) a round of offers, O(log agents) a start.
    """
    slots = _Shares(view)
    slots.serve()
    aux = _serve_aux(view)
    return Plan(
        starts=(*(aux.starts if aux else ()), *slots.line.starts),
        preemptions=tuple(slots.line.preemptions),
        waits=(*slots.line.waits, *(aux.waits if aux else ())),
    )


def _serve_aux(view: PoolView) -> Pass | None:
    """Start what has no slots; None when nothing of that kind waits."""
    requests = sorted((r for r in view.pending if r.slots < 1), key=age_key)
    if not requests:
        return None
    aux = Pass(view, "aux")
    for request in requests:
        demand = Demand.of(request)
        parts = aux.fit(request, demand)
        if parts is not None:
            aux.start(request, parts)
        else:
            aux.wait(request, "full" if aux.is_possible(demand) else "impossible")
    return aux


@dataclass(slots=True)
class _Job:
    """What one job asks for and holds."""

    pending: list[RequestView] = field(default_factory=list)
    """By age."""
    running: list[RunningView] = field(default_factory=list)
    """Those that stand for a request that comes back, too."""

    def claim(self, job_id: str) -> Share:
        """Its claim on the pool."""
        members: list[RequestView | RunningView] = [*self.pending, *self.running]
        fixed = [r.slots for r in self.running if _is_fixed(r)]
        loose = [r.slots for r in self.running if not _is_fixed(r)]
        loose += [r.slots for r in self.pending]
        limits = [m.max_slots for m in members if m.max_slots is not None]
        return Share(
            job_id=job_id,
            submitted_at=min([m.submitted_at for m in members]),
            weight=max([m.weight for m in members]),
            demand=min([sum(fixed) + sum(loose), *limits]),
            fixed=sum(fixed),
            smallest=min(loose, default=None),
        )

    @property
    def holds(self) -> int:
        """Slots that its tasks have now."""
        return sum([r.slots for r in self.running if not r.is_gone])

    @property
    def staying(self) -> list[RunningView]:
        """Those that hold slots and were not asked to leave."""
        return [r for r in self.running if not (r.is_leaving or r.is_gone)]


class _Shares:
    """The requests for slots of one pool, by job."""

    def __init__(self, view: PoolView) -> None:
        self.line = Pass(view, "slots")
        self._view = view
        self._jobs: dict[str, _Job] = defaultdict(_Job)
        impossible: list[RequestView] = []
        possible: dict[tuple[int, bool, frozenset[str]], bool] = {}
        for request in view.pending:
            if request.slots < 1:
                continue
            # The same as its Demand, at a fraction of the cost.
            key = (request.slots, request.is_single_node, request.excluded_agents)
            is_possible = possible.get(key)
            if is_possible is None:
                is_possible = possible[key] = self.line.is_possible(Demand(*key))
            if is_possible:
                self._jobs[request.job_id].pending.append(request)
            else:
                impossible.append(request)
        for request in sorted(impossible, key=age_key):
            self.line.wait(request, "impossible")
        for job in self._jobs.values():
            job.pending.sort(key=age_key)
        for one in view.running:
            if one.slots > 0:
                self._jobs[one.job_id].running.append(one)

    def serve(self) -> None:
        """Offer slots to all jobs, then let each use its offer or give back what is above it."""
        claims = [job.claim(job_id) for job_id, job in self._jobs.items()]
        shares = fill(claims, _capacity(self._view))
        served = self._serve_longest_waiting(shares)
        for share in shares:
            job = self._jobs[share.job_id]
            staying = job.staying
            excess = sum([r.slots for r in staying]) - share.offered
            if excess > 0:
                self._give_back(staying, excess)
            self._start(job, share.offered, is_full=excess >= 0, served=served)

    def _serve_longest_waiting(self, shares: list[Share]) -> str | None:
        """Start, or drain agents for, the oldest request that its share does not serve.

        One at a time, so that shares stay what they are for all others.
        """
        request = self._longest_waiting(shares)
        if request is None:
            return None
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

    def _longest_waiting(self, shares: list[Share]) -> RequestView | None:
        """The oldest of the jobs' oldest requests that has waited too long and is stuck."""
        impatient_at = self.line.impatient_at
        oldest = [
            (job.pending[0], job, share.offered)
            for share in shares
            if (job := self._jobs[share.job_id]).pending
        ]
        for request, job, offered in sorted(oldest, key=lambda entry: age_key(entry[0])):
            if request.requested_at <= impatient_at and self._is_stuck(request, job, offered):
                return request
        return None

    def _is_stuck(self, oldest: RequestView, job: _Job, offered: int) -> bool:
        """Whether the job's oldest request is not started by its offer."""
        wanted = job.holds + oldest.slots
        if oldest.max_slots is not None and wanted > oldest.max_slots:
            return False
        is_offered = wanted <= offered
        if is_offered and self.line.fit(oldest, Demand.of(oldest)) is not None:
            return False
        return (
            is_offered
            or oldest.slots > offered
            or any(r.slots < oldest.slots for r in job.pending)  # which can pass it
        )

    def _give_back(self, staying: list[RunningView], excess: int) -> None:
        """Ask the oldest to leave until the job has no more than its offer."""
        able = [r for r in staying if r.is_preemptible and not r.is_long_awaited]
        for one in sorted(able, key=lambda r: (r.submitted_at, r.started_at, r.allocation_id)):
            if excess <= 0:
                return
            self.line.preemptions.append(Preempt(one.allocation_id, PREEMPTED))
            self.line.room.leaves(one)
            excess -= one.slots

    def _start(self, job: _Job, offered: int, *, is_full: bool, served: str | None) -> None:
        left = 0 if is_full else offered - job.holds
        waits = self.line.waits
        for request in job.pending:
            if request.allocation_id == served:
                continue
            if request.slots > left:
                waits.append(Wait(request.allocation_id, "share"))
                continue
            parts = self.line.fit(request, Demand.of(request))
            if parts is None:
                waits.append(Wait(request.allocation_id, "full"))
                continue
            self.line.start(request, parts)
            left -= request.slots


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

"""Fair share scheduling: each job is offered a part of the pool by its weight.

Jobs above their offer give up slots; jobs below it start requests, sorted by age. Offers depend on
demand and not on which job holds which slots at the moment, so plans converge: no two jobs preempt
each other in turn.

A request that its job's share could never hold, or that others have passed for too long, is
served outside of the shares: agents are drained for it, the oldest such request first. A
request that started in this way is not preempted for exceeding its share.

Source: scheduling-and-provisioning b.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from determined_master.domain.schedule.fitting import Demand, demand_of, fit
from determined_master.domain.schedule.jobs import job_view, jobs_of
from determined_master.domain.schedule.ordering import age_key
from determined_master.domain.schedule.plan import Plan, Preempt, Wait
from determined_master.domain.schedule.planning_pass import PREEMPTED, PlanningPass
from determined_master.domain.schedule.shares import Share, fill
from determined_master.domain.schedule.view import DemandKey, JobView, PoolView, RequestView


def plan(view: PoolView) -> Plan:
    """Decide which requests start where, which tasks are preempted, and why the others wait.

    Tasks without slots start wherever there is a place, in the order of age.

    Cost: O(n log n) in requests, O(jobs) a round of offers, O(log agents) a start.
    """
    slots = _Shares(view)
    slots.serve()
    aux = _serve_aux(view)
    return Plan(
        starts=(*(aux.starts if aux else ()), *slots.planning.starts),
        preemptions=tuple(slots.planning.preemptions),
        waits=(*slots.planning.waits, *(aux.waits if aux else ())),
    )


def _serve_aux(view: PoolView) -> PlanningPass | None:
    """Start requests without slots; None if none of them waits."""
    if view.jobs is not None and len(view.pending) == sum([len(j.ids) for j in view.jobs]):
        return None
    requests = sorted((r for r in view.pending if r.slots < 1), key=age_key)
    if not requests:
        return None
    aux = PlanningPass(view, "aux")
    for request in requests:
        demand = Demand.of(request)
        parts = aux.fit(request, demand)
        if parts is not None:
            aux.start(request, parts)
        else:
            aux.wait(request, "full" if aux.is_possible(demand) else "impossible")
    return aux


class _Shares:
    """The requests for slots of one pool, by job."""

    def __init__(self, view: PoolView) -> None:
        self.planning = PlanningPass(view, "slots")
        self._view = view
        self._jobs = {job.job_id: job for job in self._possible(jobs_of(view))}

    def _possible(self, jobs: Sequence[JobView]) -> Sequence[JobView]:
        """The jobs without requests that these agents could never hold; those wait."""
        demands = frozenset[DemandKey]().union(*[job.demands for job in jobs])
        unservable = {d for d in demands if not self.planning.is_possible(Demand(*d))}
        if not unservable:
            return jobs
        kept: list[JobView] = []
        never: list[RequestView] = []
        for job in jobs:
            if unservable.isdisjoint(job.demands):
                kept.append(job)
                continue
            never += [r for r in job.pending if demand_of(r) in unservable]
            left = [r for r in job.pending if demand_of(r) not in unservable]
            if left or job.running:
                kept.append(job_view(job.job_id, left, job.running))
        for request in sorted(never, key=age_key):
            self.planning.wait(request, "impossible")
        return kept

    def serve(self) -> None:
        """Offer slots to all jobs; then each uses its offer, or gives up the slots above it."""
        jobs = self._jobs
        shares = fill(map(_claim, jobs.values()), _capacity(self._view, jobs.values()))
        served = self._serve_longest_waiting(shares)
        for share in shares:
            job = jobs[share.job_id]
            excess = job.staying - share.offered
            if excess > 0:
                self._give_back(job, excess)
            if job.pending:
                self._start(job, 0 if excess >= 0 else share.offered - job.holds, served)

    def _serve_longest_waiting(self, shares: list[Share]) -> str | None:
        """Start, or drain agents for, the oldest request that its share does not serve.

        One at a time, so that the shares of all others stay unchanged.
        """
        request = self._longest_waiting(shares)
        if request is None:
            return None
        demand = Demand.of(request)
        parts = self.planning.fit(request, demand)
        if parts is not None:
            self.planning.start(request, parts, is_long_awaited=True)
            return request.allocation_id
        reserved = fit(demand, request.allocation_id, self.planning.capacity, is_reservation=True)
        if reserved is not None:
            self.planning.capacity.reserve(reserved)
            self.planning.wait(request, "leaving", agents=reserved)
            return request.allocation_id
        kept = self.planning.drain_for(request, demand)
        if kept is None:
            return None
        self.planning.wait(request, "kept", agents=kept)
        return request.allocation_id

    def _longest_waiting(self, shares: list[Share]) -> RequestView | None:
        """The oldest of the jobs' oldest requests that has waited too long and is stuck."""
        starving_at = self.planning.starving_at
        oldest = [
            (job.pending[0], job, share.offered)
            for share in shares
            if (job := self._jobs[share.job_id]).pending
        ]
        for request, job, offered in sorted(oldest, key=lambda entry: age_key(entry[0])):
            if request.requested_at <= starving_at and self._is_stuck(request, job, offered):
                return request
        return None

    def _is_stuck(self, oldest: RequestView, job: JobView, offered: int) -> bool:
        """Whether the job's offer does not start its oldest request."""
        wanted = job.holds + oldest.slots
        if oldest.max_slots is not None and wanted > oldest.max_slots:
            return False
        is_offered = wanted <= offered
        if is_offered and self.planning.fit(oldest, Demand.of(oldest)) is not None:
            return False
        return (
            is_offered
            or oldest.slots > offered
            or any(r.slots < oldest.slots for r in job.pending)  # those that can pass it
        )

    def _give_back(self, job: JobView, excess: int) -> None:
        """Preempt the oldest tasks until the job has no more than its offer."""
        able = [
            r
            for r in job.running
            if r.is_preemptible and not (r.is_leaving or r.is_gone or r.is_long_awaited)
        ]
        for one in sorted(able, key=lambda r: (r.submitted_at, r.started_at, r.allocation_id)):
            if excess <= 0:
                return
            self.planning.preemptions.append(Preempt(one.allocation_id, PREEMPTED))
            self.planning.capacity.add_preempted(one)
            excess -= one.slots

    def _start(self, job: JobView, left: int, served: str | None) -> None:
        """Start its requests until the rest of its offer is used."""
        waits = self.planning.waits
        if job.smallest_asked is None or left < job.smallest_asked:  # the common case
            waits += [Wait(id, "share") for id in job.ids if id != served]
            return
        for request in job.pending:
            if request.allocation_id == served:
                continue
            if request.slots > left:
                waits.append(Wait(request.allocation_id, "share"))
                continue
            parts = self.planning.fit(request, Demand.of(request))
            if parts is None:
                waits.append(Wait(request.allocation_id, "full"))
                continue
            self.planning.start(request, parts)
            left -= request.slots


def _claim(job: JobView) -> Share:
    return Share(job.job_id, job.submitted_at, job.weight, job.demand, job.fixed, job.smallest)


def _capacity(view: PoolView, jobs: Iterable[JobView]) -> int:
    """Slots of agents that accept work, and used slots of those that do not."""
    accepting = {a.id for a in view.agents if a.is_accepting}
    capacity = 0
    for agent in view.agents:
        if agent.is_accepting:
            capacity += agent.slots
            if agent.shut:
                capacity += sum([count for _, count in agent.shut])
    for job in jobs:
        if not accepting.issuperset(job.agents):
            parts = [p for r in job.running if not r.is_gone for p in r.slots_by_agent]
            capacity += sum([slots for agent_id, slots in parts if agent_id not in accepting])
    return capacity

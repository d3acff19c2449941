"""The order of a pool with fair shares: each job is offered a part of the pool by its weight.

Jobs above their offer give up slots; jobs below it start requests, sorted by age. Offers depend on
demand and not on which job holds which slots at the moment, so plans converge: no two jobs preempt
each other in turn.

A request that its job's share could never hold, or that others have passed for too long, is
served outside of the shares: agents are drained for it, the oldest such request first. A
request that started in this way is not preempted for exceeding its share.

Source: scheduling-and-provisioning b.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter

from determined_master.domain.schedule.fitting import Demand, demand_of
from determined_master.domain.schedule.jobs import job_view, jobs_of
from determined_master.domain.schedule.ordering import age_key
from determined_master.domain.schedule.plan import Impossible
from determined_master.domain.schedule.stages.planning import Planning, Turn
from determined_master.domain.schedule.stages.shares import Share, fill
from determined_master.domain.schedule.view import (
    AgentView,
    DemandKey,
    JobView,
    PoolView,
    RequestView,
    RunningView,
)

_id_of = attrgetter("allocation_id")
Jobs = Mapping[str, JobView]


def order(planning: Planning) -> Planning:
    """One turn for each job with a share, in which it uses its offer or gives up slots above it.

    Tasks without slots start wherever there is a place, in the order of age.

    Cost: O(n log n) in requests, O(jobs) a round of offers.
    """
    if planning.kind == "aux":
        by_age = sorted(planning.requests, key=age_key)
        planning.turns = [Turn(requests=by_age)] if by_age else []
        return planning
    jobs = {job.job_id: job for job in _possible(planning, jobs_of(planning.view))}
    shares = fill(map(_claim, jobs.values()), _slots(planning.view, jobs.values()))
    planning.overdue = _overdue(planning, jobs, shares)
    planning.turns = [_turn(jobs[share.job_id], share.offered) for share in shares]
    return planning


def _possible(planning: Planning, jobs: Sequence[JobView]) -> Sequence[JobView]:
    """The jobs without requests that these agents could never hold; those wait."""
    demands = frozenset[DemandKey]().union(*[job.demands for job in jobs])
    unservable = {d for d in demands if not planning.capacity.could_hold(Demand(*d))}
    if not unservable:
        return jobs
    requests = chain.from_iterable(job.pending for job in jobs)
    never = sorted((r for r in requests if demand_of(r) in unservable), key=age_key)
    planning.waits += map(Impossible, map(_id_of, never))
    servable = (_without(job, unservable) for job in jobs)
    return list(filter(None, servable))


def _without(job: JobView, unservable: Collection[DemandKey]) -> JobView | None:
    """The job without these demands; None if it then has neither requests nor tasks."""
    if job.demands.isdisjoint(unservable):
        return job
    pending = [r for r in job.pending if demand_of(r) not in unservable]
    return job_view(job.job_id, pending, job.running) if pending or job.running else None


def _turn(job: JobView, offered: int) -> Turn:
    excess = job.staying - offered
    return Turn(
        requests=job.pending,
        preempted=_given_up(job, excess) if excess > 0 else (),
        slots=0 if excess >= 0 else offered - job.holds,
        smallest=job.smallest_asked or 0,
    )


def _given_up(job: JobView, excess: int) -> list[RunningView]:
    """The oldest tasks, until the job has no more than its offer."""
    able = [
        r
        for r in job.running
        if r.is_preemptible and not (r.is_leaving or r.is_gone or r.is_long_awaited)
    ]
    oldest: list[RunningView] = []
    for one in sorted(able, key=lambda r: (r.submitted_at, r.started_at, r.allocation_id)):
        if excess <= 0:
            break
        oldest.append(one)
        excess -= one.slots
    return oldest


def _overdue(planning: Planning, jobs: Jobs, shares: Iterable[Share]) -> RequestView | None:
    """The oldest of the jobs' oldest requests that has waited too long and is stuck.

    One at a time, so that the shares of all others stay unchanged.
    """
    claims = [(jobs[share.job_id], share.offered) for share in shares]
    oldest = [(job.pending[0], job, offered) for job, offered in claims if job.pending]
    for request, job, offered in sorted(oldest, key=lambda entry: age_key(entry[0])):
        is_starving = request.requested_at <= planning.starving_at
        if is_starving and _is_stuck(planning, request, job, offered):
            return request
    return None


def _is_stuck(planning: Planning, oldest: RequestView, job: JobView, offered: int) -> bool:
    """Whether the job's offer does not start its oldest request."""
    slots = job.holds + oldest.slots
    if oldest.max_slots is not None and slots > oldest.max_slots:
        return False
    if slots <= offered:
        return planning.capacity.fit(Demand.of(oldest), oldest.allocation_id) is None
    # Smaller ones can pass it.
    return oldest.slots > offered or any(r.slots < oldest.slots for r in job.pending)


def _claim(job: JobView) -> Share:
    return Share(job.job_id, job.submitted_at, job.weight, job.demand, job.fixed, job.smallest)


def _slots(view: PoolView, jobs: Iterable[JobView]) -> int:
    """Slots of agents that accept work, and used slots of those that do not."""
    open_agents = [agent for agent in view.agents if agent.is_accepting]
    slots = sum([a.slots for a in open_agents]) + sum(map(_shut, open_agents))
    accepting = {agent.id for agent in open_agents}
    elsewhere = [job for job in jobs if not accepting.issuperset(job.agents)]
    return slots + sum([_slots_elsewhere(job, accepting) for job in elsewhere])


def _shut(agent: AgentView) -> int:
    return sum([count for _, count in agent.shut]) if agent.shut else 0


def _slots_elsewhere(job: JobView, accepting: Collection[str]) -> int:
    parts = [part for one in job.running if not one.is_gone for part in one.slots_by_agent]
    return sum([n for agent_id, n in parts if agent_id not in accepting])

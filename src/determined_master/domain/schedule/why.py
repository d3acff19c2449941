"""Explains why a request waits, from the decision that left it waiting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from determined_master.domain.schedule import planner, reasons
from determined_master.domain.schedule.fitting import Demand
from determined_master.domain.schedule.plan import (
    Impossible,
    LacksResources,
    NoDomain,
    OverQuota,
    Plan,
    Wait,
)
from determined_master.domain.schedule.view import (
    PAST,
    AgentView,
    PoolView,
    RequestView,
    RunningView,
)

MAX_AHEAD = 10
MAX_NEXT = 5
MAX_ASKS = 6
"""Most smaller requests that are tried, each by a plan of the whole pool."""


_OUTSIDE = Impossible, OverQuota, NoDomain
"""Waits of requests that hold nobody back."""


class Free(msgspec.Struct, frozen=True):
    agent_id: str
    free: int
    slots: int


class Ahead(msgspec.Struct, frozen=True):
    """A request that is ahead in the queue."""

    allocation_id: str
    job_id: str
    slots: int
    priority: int


class Next(msgspec.Struct, frozen=True):
    """A task whose slots will become free."""

    allocation_id: str
    job_id: str
    slots: int
    agents: tuple[str, ...]
    is_leaving: bool
    about_at: datetime | None
    """The expected time, by its progress; None when there is no estimate."""


class Why(msgspec.Struct, frozen=True):
    """The reasons why one request waits."""

    allocation_id: str
    job_id: str
    pool: str
    decided_at: datetime
    code: str
    reason: str
    """It may name another request: `behind`."""
    reason_without_ids: str
    behind: str
    """The allocation that `reason` names; empty for none."""
    needs_slots: int
    is_single_node: bool
    waits_since: datetime
    free_slots: int
    largest_hole: int
    free: tuple[Free, ...]
    """Agents with free slots that accept this request, the most first."""
    ahead_count: int
    ahead: tuple[Ahead, ...]
    """The requests ahead of it, the nearest first."""
    next: tuple[Next, ...]
    """The next slots to become free: of exiting tasks, then by time, then by age."""
    smaller: int | None
    """The largest smaller number of slots that would have started at once; None for none."""


def explain(
    view: PoolView,
    plan: Plan,
    allocation_id: str,
    ends: Mapping[str, datetime] | None = None,
    *,
    with_smaller: bool = True,
) -> Why | None:
    """Explain why a request waits.

    Args:
        view: the input of the decision.
        plan: the decision.
        allocation_id: of the request.
        ends: estimated ends of running allocations, as far as they are known.
        with_smaller: try whether less would have started.

    Returns:
        None when the request did not wait in that decision.

    Cost: up to `MAX_ASKS` plans of the whole pool; not for the event loop.
    """
    request = next((r for r in view.pending if r.allocation_id == allocation_id), None)
    number = next((n for n, w in enumerate(plan.waits) if w.allocation_id == allocation_id), None)
    if request is None or number is None:
        return None
    wait = plan.waits[number]
    usable = reasons.open_to(Demand.of(request), view.agents)
    free, hole = reasons.free_slots(usable)
    ahead = _ahead(view, plan, request, number)
    return Why(
        allocation_id=allocation_id,
        job_id=request.job_id,
        pool=view.pool,
        decided_at=view.now,
        code=wait.code,
        reason=reasons.reason(view, request, wait),
        reason_without_ids=reasons.reason_without_ids(view, request, wait),
        behind=reasons.named_request(wait),
        needs_slots=request.slots,
        is_single_node=request.is_single_node,
        waits_since=request.requested_at,
        free_slots=free,
        largest_hole=hole,
        free=_free(usable),
        ahead_count=len(ahead),
        ahead=tuple(ahead[:MAX_AHEAD]),
        next=_next(view, ends or {}),
        smaller=smaller(view, request) if with_smaller and _is_for_slots(request, wait) else None,
    )


def _is_for_slots(request: RequestView, wait: Wait) -> bool:
    """Whether slots alone decide, so that fewer of them could start at once."""
    return not request.unfit and not isinstance(wait, LacksResources | OverQuota | NoDomain)


def smaller(view: PoolView, request: RequestView) -> int | None:
    """The largest smaller number of slots with which the request would have started at once."""
    free = [len(a.free_slots) for a in reasons.open_to(Demand.of(request), view.agents)]
    if request.slots <= 1 or not any(free):
        return None
    sizes = {1, *free}
    if not request.is_single_node:
        sizes |= {size * free.count(size) for size in free}
    asks = sorted((size for size in sizes if 0 < size < request.slots), reverse=True)
    return next((slots for slots in asks[:MAX_ASKS] if _would_start(view, request, slots)), None)


def _would_start(view: PoolView, request: RequestView, slots: int) -> bool:
    """Whether a request would start at once with another number of slots."""
    others = (r for r in view.pending if r is not request)
    plan = planner.plan(view.with_pending((*others, replace(request, slots=slots))))
    return any(s.allocation_id == request.allocation_id for s in plan.starts)


def _free(agents: Sequence[AgentView]) -> tuple[Free, ...]:
    ordered = sorted(agents, key=lambda a: (-len(a.free_slots), a.id))
    return tuple(Free(a.id, len(a.free_slots), a.slots) for a in ordered if a.free_slots)


def _ahead(view: PoolView, plan: Plan, request: RequestView, number: int) -> list[Ahead]:
    """The waiting requests of its kind that come before it, the nearest first."""
    requests = {r.allocation_id: r for r in view.pending}
    ahead = []
    for wait in reversed(plan.waits[:number]):
        other = requests[wait.allocation_id]
        if (other.slots > 0) is (request.slots > 0) and not isinstance(wait, _OUTSIDE):
            ahead.append(Ahead(other.allocation_id, other.job_id, other.slots, other.priority))
    return ahead


def _next(view: PoolView, ends: Mapping[str, datetime]) -> tuple[Next, ...]:
    able = [r for r in view.running if r.slots > 0 and not r.is_gone]

    def order(one: RunningView) -> tuple[bool, bool, datetime, datetime, str]:
        end = ends.get(one.allocation_id)
        return not one.is_leaving, end is None, end or PAST, one.started_at, one.allocation_id

    return tuple(
        Next(
            allocation_id=r.allocation_id,
            job_id=r.job_id,
            slots=r.slots,
            agents=tuple(sorted(a for a, _ in r.slots_by_agent)),
            is_leaving=r.is_leaving,
            about_at=ends.get(r.allocation_id),
        )
        for r in sorted(able, key=order)[:MAX_NEXT]
    )

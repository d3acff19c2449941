"""Converts allocations into the scheduler's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from determined_master.domain.schedule.stages.planning import PREEMPTED
from determined_master.domain.schedule.view import RequestView, RunningView, position_of

if TYPE_CHECKING:
    from decimal import Decimal

    from determined_master.domain.allocation.messages import Allocation, AllocationRequest

NOBODY: frozenset[str] = frozenset()
"""One shared object: thousands of requests have it, and comparing it to itself is free."""


def request_view(allocation: Allocation) -> RequestView:
    request = allocation.request
    return RequestView(
        allocation_id=allocation.id,
        job_id=request.job_id,
        slots=request.slots,
        submitted_at=request.submitted_at,
        requested_at=request.requested_at or request.submitted_at,
        position=_position(request),
        is_preemptible=request.is_preemptible,
        is_single_node=request.is_single_node,
        priority=request.priority,
        weight=request.weight,
        max_slots=request.max_slots,
        excluded_agents=frozenset(request.excluded_agents) if request.excluded_agents else NOBODY,
    )


def running_view(allocation: Allocation) -> RunningView:
    request = allocation.request
    return RunningView(
        allocation_id=allocation.id,
        job_id=request.job_id,
        slots=request.slots,
        submitted_at=request.submitted_at,
        is_preemptible=request.is_preemptible,
        is_leaving=allocation.preempt_reason is not None or allocation.kill_cause is not None,
        is_long_awaited=allocation.is_long_awaited,
        started_at=allocation.assigned_at or request.submitted_at,
        position=_position(request),
        priority=request.priority,
        weight=request.weight,
        max_slots=request.max_slots,
        slots_by_agent=tuple(
            (c.agent_id, len(c.slot_ids)) for c in allocation.containers if c.state != "TERMINATED"
        ),
        is_waiting=allocation.state == "ASSIGNED",
        is_returning=_will_return(allocation),
        is_single_node=request.is_single_node,
        excluded_agents=frozenset(request.excluded_agents) if request.excluded_agents else NOBODY,
    )


def _position(request: AllocationRequest) -> int | Decimal:
    """Computed once, not at every plan."""
    known = request.position
    return position_of(request.submitted_at) if known is None else known


def gone_view(before: RunningView, ended: Allocation) -> RunningView | None:
    """The stand-in for a preempted task until its next request.

    Without it the job's demand, and with it its share, would drop for an instant.
    """
    outcome = ended.outcome
    has_left = outcome is not None and outcome.kind in ("preempted", "killed")
    if not has_left or not _will_return(ended):
        return None
    return replace(before, is_leaving=True, is_gone=True, is_returning=True, slots_by_agent=())


def _will_return(allocation: Allocation) -> bool:
    """Whether its task asks for slots again, unless it finishes before it exits."""
    return allocation.preempt_reason == PREEMPTED and allocation.kill_cause != "request"

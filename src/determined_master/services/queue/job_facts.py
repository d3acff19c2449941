"""Facts about a job of a queue, from its row and from what the scheduler knows."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.allocation.messages import JobTerms
from determined_master.domain.schedule.ordering import Position
from determined_master.domain.schedule.priorities import PriorityOrder, urgency
from determined_master.domain.schedule.view import position_of
from determined_master.services.queue.job_terms import terms_of

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.allocation.messages import Allocation, AllocationRequest
    from determined_master.store.queue.job_queue import JobRow

NO_ORDER = -1
JobState = Literal["QUEUED", "SCHEDULED"]
Order = tuple[int, Position, datetime, str]
"""Of jobs in a queue with priorities: urgency, position, age, id."""


class JobFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One job of a queue."""

    job_id: str
    type: str
    name: str
    entity_id: str
    user_id: int
    username: str
    workspace_id: int
    pool: str
    submitted_at: datetime
    is_preemptible: bool
    priority: int
    weight: float
    position: Position
    terms: JobTerms
    requested_slots: int
    allocated_slots: int
    is_scheduled: bool
    progress: float
    jobs_ahead: int = NO_ORDER
    """From 0; -1 where the scheduler knows no order."""
    cost_per_hour: float | None = None
    """US dollars of its slots at present; None if unknown."""
    is_limited: bool = False
    """Whether the caller may not see it: it has no ids, no name, no user and no times."""

    @property
    def state(self) -> JobState:
        """SCHEDULED when anything of it has slots."""
        return "SCHEDULED" if self.is_scheduled else "QUEUED"


def first_of(allocations: Sequence[Allocation]) -> Allocation:
    """The allocation of a job that was submitted first: its terms are those of the job."""
    return min(allocations, key=lambda a: (a.request.submitted_at, a.id))


def order_of(request: AllocationRequest, priorities: PriorityOrder) -> Order:
    """The place of a request in a queue with priorities."""
    own = position_of(request.submitted_at) if request.position is None else request.position
    return urgency(request.priority, priorities), own, request.submitted_at, request.job_id


def facts_of(row: JobRow, pool: str, allocations: Sequence[Allocation]) -> JobFacts:
    """A job with requests. Without Kubernetes, it is scheduled when anything of it has slots."""
    request = first_of(allocations).request
    own = position_of(request.submitted_at)
    scheduled = [a for a in allocations if a.state != "PENDING"]
    return JobFacts(
        job_id=row.job_id,
        type=row.type,
        name=row.name if row.experiment_id is not None else request.name,
        entity_id=str(row.experiment_id) if row.experiment_id is not None else request.task_id,
        user_id=row.user_id,
        username=row.username,
        workspace_id=row.workspace_id,
        pool=pool,
        submitted_at=request.submitted_at,
        is_preemptible=request.is_preemptible,
        priority=request.priority,
        weight=request.weight,
        position=own if request.position is None else request.position,
        terms=JobTerms(request.priority, request.weight, request.max_slots, request.position),
        requested_slots=sum(a.request.slots for a in allocations),
        allocated_slots=sum(a.request.slots for a in scheduled),
        is_scheduled=bool(scheduled),
        progress=row.progress,
    )


def facts_at_rest(row: JobRow) -> JobFacts:
    """A job that requests no slots now: it is paused, or its next run is about to start."""
    terms = terms_of(row)
    return JobFacts(
        job_id=row.job_id,
        type=row.type,
        name=row.name,
        entity_id=str(row.experiment_id) if row.task_id is None else row.task_id,
        user_id=row.user_id,
        username=row.username,
        workspace_id=row.workspace_id,
        pool=row.resource_pool or "",
        submitted_at=row.submitted_at,
        is_preemptible=True,
        priority=terms.priority,
        weight=terms.weight,
        position=position_of(row.submitted_at) if terms.position is None else terms.position,
        terms=terms,
        requested_slots=0,
        allocated_slots=0,
        is_scheduled=False,
        progress=row.progress,
    )


def priced(job: JobFacts, slot_price: float | None) -> JobFacts:
    """With the cost of its slots, if the price of a slot is known."""
    if slot_price is None:
        return job
    return msgspec.structs.replace(job, cost_per_hour=round(job.allocated_slots * slot_price, 4))


def limited(caller: Caller, job: JobFacts) -> JobFacts:
    """A job as its caller may see it: of a hidden one only its place, its terms and its slots.

    A queue without them would show no reason for a wait. Ids and places of hidden jobs would let
    their readers follow one job, and count the work of a hidden workspace.
    """
    kind: access.ThingKind = "experiment" if job.type == "EXPERIMENT" else "task"
    if access.can(caller, "read", kind, workspace_id=job.workspace_id):
        return job
    return msgspec.structs.replace(
        job,
        job_id="",
        name="",
        username="",
        user_id=0,
        entity_id="",
        workspace_id=0,
        progress=0.0,
        is_limited=True,
    )


def is_uuid(id: str) -> bool:
    """Whether it could be a job's id: no row has any other."""
    try:
        uuid.UUID(id)
    except ValueError:
        return False
    return True

"""The input of a scheduler: one pool at one instant."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

import msgspec
from msgspec.structs import replace

from determined_master.domain.schedule.priorities import PriorityOrder

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PAST = EPOCH


class Size(msgspec.Struct, frozen=True, omit_defaults=True):
    """The size of one machine, and the maximum number of machines."""

    slots: int
    zero_slot_tasks: int
    """The maximum on one machine."""
    max_machines: int

    def may_hold(self, slots: int, *, is_single_node: bool) -> bool:
        """Whether the pool could hold the request at its maximum size, when empty."""
        if slots == 0:
            return self.zero_slot_tasks > 0
        if slots <= self.slots:
            return True
        if self.slots == 0 or is_single_node or slots % self.slots:
            return False
        return slots <= self.slots * self.max_machines


class Rules(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a pool's scheduler."""

    type: Literal["priority", "fair_share", "kubernetes"] = "priority"
    fitting: Literal["best", "worst"] = "best"
    spreads_aux: bool = False
    """Whether a task without slots gets the agent with the most free aux places, whatever
    `fitting` says and whether its slots are idle."""
    is_heterogeneous: bool = False
    """Whether one request may use agents of different sizes."""
    preemption: bool = False
    """Of the priority scheduler; fair share always preempts."""
    gang_patience_s: float = 600.0
    """How long later requests may pass one that needs several slots at once."""
    machines: Size | None = None
    """The machines that the pool starts on demand; None for a pool without provisioning."""
    max_slots_per_pod: int | None = None
    """In Kubernetes: larger requests are split into several pods."""
    queue: str = ""
    """The agent that stands for the cluster's own queue; empty where this planner places pods."""

    @property
    def priorities(self) -> PriorityOrder:
        if self.type == "kubernetes":
            return "larger_first"
        return "none" if self.type == "fair_share" else "smaller_first"


class AgentView(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An agent that may accept work."""

    id: str
    slots: int
    """Enabled slots, in use or free."""
    free_slots: tuple[int, ...]
    """Numbers of the free ones, ascending."""
    zero_slot_tasks: int = 0
    max_zero_slot_tasks: int = 100
    is_accepting: bool = True
    """False while it drains, is disabled, disconnected or backs off."""
    is_resting: bool = False
    """It could not start its last task, and gets no new ones for a while."""
    shut: tuple[tuple[str, int], ...] = ()
    """Tasks on disabled or draining slots, and how many slots: these do not become free."""


class RequestView(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An allocation that waits."""

    allocation_id: str
    job_id: str
    slots: int
    submitted_at: datetime
    """When its job was submitted."""
    requested_at: datetime = PAST
    """When it started to wait."""
    position: int | Decimal | None = None
    """The job's position in the queue; None for the one that `submitted_at` gives."""
    is_preemptible: bool = False
    is_single_node: bool = False
    priority: int = 42
    weight: float = 1.0
    max_slots: int | None = None
    """Most slots of all allocations of its job together."""
    excluded_agents: frozenset[str] = frozenset()
    unfit: str = ""
    """In Kubernetes: what excludes nodes, or its quota; empty when nothing does."""


class RunningView(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An allocation that holds slots."""

    allocation_id: str
    job_id: str
    slots: int
    submitted_at: datetime
    is_preemptible: bool
    is_leaving: bool = False
    is_gone: bool = False
    """It was preempted and has exited, and its next request is expected: it holds nothing."""
    is_long_awaited: bool = False
    """Others passed it for too long before it started: neither its size nor its job's rank counts
    against it."""
    started_at: datetime = PAST
    position: int | Decimal | None = None
    priority: int = 42
    weight: float = 1.0
    max_slots: int | None = None
    slots_by_agent: tuple[tuple[str, int], ...] = ()
    is_waiting: bool = False
    """Its containers have not begun: its pods may wait in the cluster's own queue."""
    is_returning: bool = False
    """The scheduler preempted it, and it will ask for slots again when it has exited."""
    is_single_node: bool = False
    excluded_agents: frozenset[str] = frozenset()

    def next_request(self, now: datetime) -> RequestView:
        """The request that it will make when it has exited, as if it waited since `now`."""
        return RequestView(
            allocation_id=self.allocation_id,
            job_id=self.job_id,
            slots=self.slots,
            submitted_at=self.submitted_at,
            requested_at=now,
            position=self.position,
            is_preemptible=self.is_preemptible,
            is_single_node=self.is_single_node,
            priority=self.priority,
            weight=self.weight,
            max_slots=self.max_slots,
            excluded_agents=self.excluded_agents,
        )


DemandKey = tuple[int, bool, frozenset[str]]
"""Slots, single-agent flag and excluded agents: equals a `Demand`, and costs less to build."""


class JobView(msgspec.Struct, frozen=True):
    """The totals of one job's requests and holdings; `jobs.job_view` builds it."""

    job_id: str
    pending: tuple[RequestView, ...]
    """Its requests for slots, the oldest first."""
    ids: tuple[str, ...]
    """Their allocations."""
    running: tuple[RunningView, ...]
    """Its tasks with slots, including placeholders of expected requests."""
    submitted_at: datetime
    weight: float
    demand: int
    """Slots of all of them, no more than its max_slots."""
    smallest: int | None
    """Slots of the smallest preemptible one."""
    smallest_asked: int | None
    """Slots of its smallest request."""
    holds: int
    """Slots that its tasks hold now."""
    staying: int
    """Slots of tasks that were not preempted."""
    fixed: int
    """Slots of tasks that are never preempted."""
    demands: frozenset[DemandKey]
    """The demands of its requests, each once."""
    agents: frozenset[str]
    """The agents of its tasks."""


class PoolView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One pool at one instant; the order of its parts never changes a decision."""

    pool: str
    agents: tuple[AgentView, ...]
    pending: tuple[RequestView, ...]
    running: tuple[RunningView, ...] = ()
    now: datetime = PAST
    rules: Rules = Rules()
    is_sorted: bool = False
    """Whether `pending` is in the order of `queue_key`, so that it need not be sorted."""
    jobs: tuple[JobView, ...] | None = None
    """`pending` and `running` by job, if the caller keeps them so; None to have them grouped."""

    def with_pending(self, pending: tuple[RequestView, ...]) -> PoolView:
        """The same pool with other requests, in any order."""
        return replace(self, pending=pending, is_sorted=False, jobs=None)


def position_of(submitted_at: datetime) -> int:
    """The default position of a job by its age: microseconds since the epoch."""
    age = submitted_at - EPOCH
    return (age.days * 86_400 + age.seconds) * 1_000_000 + age.microseconds

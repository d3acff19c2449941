"""The planning that the stages of the scheduler hand on: one kind of requests on one pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property

import msgspec

from determined_master.domain.schedule.capacity import Capacity
from determined_master.domain.schedule.plan import Preempt, Start, Wait
from determined_master.domain.schedule.seats import SlotCounts, SlotKind
from determined_master.domain.schedule.view import PoolView, RequestView, RunningView

PREEMPTED = "preempted by the scheduler"


class Turn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Requests that are served one after the other, on the same terms."""

    requests: Sequence[RequestView]
    is_aged: frozenset[str] = frozenset()
    """Requests that are served before others that are ahead of them in the queue."""
    preempted: Sequence[RunningView] = ()
    """Tasks that give up their slots before the turn."""
    slots: int | None = None
    """The slots that its requests may use together; None for any number."""
    smallest: int = 0
    """Slots of its smallest request."""


class Planning:
    """The state of one plan; each stage fills in its part and uses up the capacity."""

    def __init__(self, view: PoolView, kind: SlotKind, requests: Sequence[RequestView]) -> None:
        """
        Args:
            view: the pool.
            kind: of the requests.
            requests: the eligible ones, in any order.
        """
        self.view = view
        self.kind = kind
        self.requests = requests
        self.returning: Mapping[str, RunningView] = {}
        """Preempted tasks that will ask for slots again, by allocation."""
        self.turns: Sequence[Turn] = ()
        self.overdue: RequestView | None = None
        """The request that is served before all turns, whatever its job's share."""
        self.starts: list[Start] = []
        self.preemptions: list[Preempt] = []
        self.waits: list[Wait] = []
        self.starving_at = view.now - timedelta(seconds=view.rules.gang_patience_s)

    @property
    def has_priorities(self) -> bool:
        """Whether requests are ordered by priority; else jobs have shares."""
        return self.view.rules.type != "fair_share"

    @property
    def preempts(self) -> bool:
        """Whether requests preempt lower-priority tasks."""
        return self.has_priorities and self.view.rules.preemption

    @cached_property
    def capacity(self) -> Capacity:
        """Free and reservable places of this kind; built on the first use."""
        return Capacity(self.view.agents, self.view.running, self.view.rules, self.kind)

    def start(
        self,
        request: RequestView,
        parts: SlotCounts,
        *,
        is_backfill: bool = False,
        is_long_awaited: bool = False,
    ) -> None:
        placement = self.capacity.take(parts)
        self.starts.append(Start(request.allocation_id, placement, is_backfill, is_long_awaited))

    def is_starving(self, request: RequestView) -> bool:
        """Whether it has waited so long that others may not pass it any more.

        Only a request for several slots can be passed: a single free slot goes to the first
        request that can use it.
        """
        return request.slots > 1 and request.requested_at <= self.starving_at


def agents_of(parts: SlotCounts) -> tuple[str, ...]:
    """The ids of the agents, in order."""
    return tuple(sorted(agent_id for agent_id, _ in parts))

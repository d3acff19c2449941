"""The first stage: which requests take part in a plan, as two queues that ignore each other."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.domain.schedule.seats import SlotKind
from determined_master.domain.schedule.stages.planning import Planning
from determined_master.domain.schedule.view import PoolView, RequestView, RunningView


def eligible(view: PoolView) -> tuple[Planning, Planning]:
    """The requests with slots and those without.

    A preempted task that will ask for slots again keeps its place in a queue of priorities.
    """
    slots, aux = _by_kind(view)
    plannings = Planning(view, "slots", slots), Planning(view, "aux", aux)
    for planning in plannings:
        if planning.preempts:
            planning.returning = _returning(view, planning.kind)
    return plannings


def _by_kind(view: PoolView) -> tuple[Sequence[RequestView], Sequence[RequestView]]:
    # Jobs list their requests for slots, which spares a look at each of a long queue.
    if view.jobs is not None and len(view.pending) == sum([len(job.ids) for job in view.jobs]):
        return view.pending, ()
    slots = [r for r in view.pending if r.slots > 0]
    has_aux = len(slots) < len(view.pending)
    return slots, [r for r in view.pending if r.slots < 1] if has_aux else ()


def _returning(view: PoolView, kind: SlotKind) -> dict[str, RunningView]:
    has_slots = kind == "slots"
    return {
        r.allocation_id: r for r in view.running if r.is_returning and (r.slots > 0) is has_slots
    }

"""The number of machines that waiting requests of a pool would fill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from determined_master.domain.schedule.view import RequestView, Size


def demand(waiting: Iterable[RequestView], held: Mapping[str, int], size: Size) -> int:
    """How many machines to have besides those in use.

    Free slots of these machines do not count, since the last plan has used them where it could. A
    request that the pool could never hold needs no machine, nor does a job beyond its max_slots.

    Args:
        waiting: requests without a place in the last plan.
        held: slots of each job.
        size: of machines.

    Cost: O(n) in requests.
    """
    zero_slot_tasks = 0
    slots: dict[str, int] = {}
    limits: dict[str, int] = {}
    for request in waiting:
        if not size.may_hold(request.slots, is_single_node=request.is_single_node):
            continue
        if request.slots == 0:
            zero_slot_tasks += 1
            continue
        slots[request.job_id] = slots.get(request.job_id, 0) + request.slots
        if request.max_slots is not None:
            left = max(0, request.max_slots - held.get(request.job_id, 0))
            limits[request.job_id] = min(left, limits.get(request.job_id, left))
    total = sum(min(count, limits.get(job, count)) for job, count in slots.items())
    return max(
        _machines_for(zero_slot_tasks, size.zero_slot_tasks), _machines_for(total, size.slots)
    )


def _machines_for(count: int, on_one: int) -> int:
    return -(-count // on_one) if on_one else 0

"""Admission to a Kubernetes cluster: its own scheduler decides what runs when, and where.

Every request is handed over at once, unless its job may not use more slots (`max_slots`) or its
pods could not be made. So nothing here is ever full, and nobody is asked to leave: a pod that
finds no node waits in the cluster.

Source: helm-and-kubernetes 6.
"""

from __future__ import annotations

from determined_master.domain.schedule.ordering import queue_key
from determined_master.domain.schedule.plan import Plan, Start, Wait
from determined_master.domain.schedule.view import PoolView, RequestView


def plan(view: PoolView) -> Plan:
    """Decide which requests are handed over now; the larger priority first.

    Cost: O(n log n) in requests.
    """
    active: dict[str, int] = {}
    for one in view.running:
        if not one.is_gone:
            active[one.job_id] = active.get(one.job_id, 0) + one.slots
    place = next((a.id for a in view.agents if a.is_accepting or a.is_resting), None)
    starts, waits = [], []
    for request in sorted(view.pending, key=lambda r: queue_key(r, view.rules)):
        id, used = request.allocation_id, active.get(request.job_id, 0)
        pods = split(request.slots, view.rules.max_slots_per_pod, request.is_single_node)
        if place is None or pods is None:
            waits.append(Wait(id, "impossible"))
        elif request.max_slots is not None and used + request.slots > request.max_slots:
            waits.append(Wait(id, "limit"))
        else:
            active[request.job_id] = used + request.slots
            starts.append(Start(id, tuple((place, tuple(range(n))) for n in pods)))
    return Plan(starts=tuple(starts), waits=tuple(waits))


def split(slots: int, most: int, is_single_node: bool = False) -> tuple[int, ...] | None:
    """Slots of each pod: one with all of them, or several with the most that one may have.

    Args:
        slots: that a task asks for, 0 or more.
        most: that one pod may have (`max_slots_per_pod`).
        is_single_node: whether the task must have all in one.

    Returns:
        None when that is not possible.
    """
    if slots <= most or slots == 0:
        return (slots,)
    if is_single_node or most < 1 or slots % most:
        return None
    return (most,) * (slots // most)


def impossible(request: RequestView, view: PoolView) -> str:
    """Why a request cannot be handed over, and what can be done."""
    if not any(a.is_accepting or a.is_resting for a in view.agents):
        return "the Kubernetes cluster does not answer: it is asked again all the time"
    return too_many(request.slots, view.rules.max_slots_per_pod, request.is_single_node)


def too_many(slots: int, most: int, is_single_node: bool) -> str:
    """Why a number of slots cannot be split into pods, and which could."""
    if most < 1:
        return (
            f"needs {slots} slots, and pods of this cluster get none (max_slots_per_pod is 0): "
            "ask for 0, or let an admin raise max_slots_per_pod"
        )
    if is_single_node:
        return (
            f"needs {slots} slots in one pod, and max_slots_per_pod is {most}: ask for at most "
            f"{most}, or turn resources.is_single_node off"
        )
    lower = slots // most * most
    return (
        f"{slots} slots cannot be split into pods of max_slots_per_pod {most}: ask for {lower} or "
        f"{lower + most}, or any other multiple of {most} or number up to it"
    )

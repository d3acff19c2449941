"""Building what the scheduler sees from live allocations and connected agents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from determined_master.domain.schedule.view import AgentView, PoolView, RequestView, RunningView

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation
    from determined_master.ports import AgentSnapshot


def build_view(
    pool: str,
    agents: Iterable[AgentSnapshot],
    allocations: Iterable[Allocation],
    max_zero_slot_tasks: int = 100,
) -> PoolView:
    """One pool at this instant.

    Args:
        pool: the pool's name.
        agents: all known agents; those of other pools are left out.
        allocations: all allocations that are not over; those of other pools only use slots.
        max_zero_slot_tasks: how many tasks without slots one agent takes.
    """
    used: dict[str, set[int]] = {}
    zero_slot: dict[str, int] = {}
    pending: list[RequestView] = []
    running: list[RunningView] = []
    for allocation in allocations:
        for container in allocation.containers:
            if container.state == "TERMINATED":
                continue
            used.setdefault(container.agent_id, set()).update(container.slot_ids)
            if not container.slot_ids:
                zero_slot[container.agent_id] = zero_slot.get(container.agent_id, 0) + 1
        if allocation.request.pool != pool or allocation.outcome is not None:
            continue
        if allocation.state == "PENDING":
            pending.append(_request(allocation))
        else:
            running.append(_running(allocation))
    views = []
    for agent in agents:
        if agent.pool != pool:
            continue
        slots = sorted(device.id for device in agent.devices)
        taken = used.get(agent.id, set())
        views.append(
            AgentView(
                id=agent.id,
                slots=len(slots),
                free_slots=tuple(s for s in slots if s not in taken),
                zero_slot_tasks=zero_slot.get(agent.id, 0),
                max_zero_slot_tasks=max_zero_slot_tasks,
                is_accepting=agent.is_connected,
            )
        )
    return PoolView(pool=pool, agents=tuple(views), pending=tuple(pending), running=tuple(running))


def _request(allocation: Allocation) -> RequestView:
    request = allocation.request
    return RequestView(
        allocation_id=allocation.id,
        job_id=request.job_id,
        slots=request.slots,
        submitted_at=request.submitted_at,
        is_single_node=request.is_single_node,
        priority=request.priority,
        weight=request.weight,
        excluded_agents=frozenset(request.excluded_agents),
    )


def _running(allocation: Allocation) -> RunningView:
    request = allocation.request
    return RunningView(
        allocation_id=allocation.id,
        job_id=request.job_id,
        slots=request.slots,
        submitted_at=request.submitted_at,
        is_preemptible=request.is_preemptible,
        is_leaving=allocation.preempt_reason is not None,
        priority=request.priority,
        weight=request.weight,
        slots_by_agent=tuple((c.agent_id, len(c.slot_ids)) for c in allocation.containers),
    )

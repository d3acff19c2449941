"""The life of an allocation: requested, assigned, running, preempted or killed, ended.

Its state only moves forward. A report that is repeated, late or about a container of another
allocation changes nothing. The end of a container is acknowledged each time it is reported,
because an agent keeps the container's files until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec.structs import replace

from determined_master.domain.allocation import ending, texts
from determined_master.domain.allocation.ending import Step, live
from determined_master.domain.allocation.leaving import LeavingEvent, leave
from determined_master.domain.allocation.messages import (
    AgentLost,
    Allocation,
    AllocationEffect,
    AllocationEffectFailed,
    AllocationEvent,
    AllocationOrder,
    AllocationRequested,
    Assigned,
    BecameReady,
    BeganWaiting,
    Container,
    ContainerChanged,
    ContainerFailure,
    DaemonMarked,
    ForgetContainer,
    MainThreadEnded,
    MasterReached,
    MasterUnreachable,
    Placed,
    ReportAllocationEnd,
    SignalContainer,
    StartContainer,
    TermsChanged,
)
from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.messages import CancelTimer, SetTimer, by_tag
from determined_master.domain.states import ALLOCATION_ORDER, AllocationState
from determined_master.domain.task.kinds import TASK_KINDS

_CONTAINER_ORDER = {"ASSIGNED": 0, "PULLING": 1, "STARTING": 2, "RUNNING": 3, "TERMINATED": 4}
_ORDERS: Mapping[str, type[AllocationOrder]] = by_tag(AllocationOrder)
_OpenEvent = (
    AgentLost
    | BecameReady
    | BeganWaiting
    | DaemonMarked
    | MasterUnreachable
    | MasterReached
    | MainThreadEnded
    | TermsChanged
    | AllocationEffectFailed
)
"""Events that concern an open allocation alone."""


def step(state: Allocation | None, event: AllocationEvent, context: None = None) -> Step:
    """Advance one allocation by one event.

    Raises:
        NotFound: there is no such allocation, and the event does not make it.
        FailedPrecondition: slots for an allocation that does not wait for any.
    """
    if isinstance(event, AllocationRequested):
        return _request(event) if state is None else (state, [])
    if state is None:
        raise NotFound("there is no such allocation: it was never requested")
    if isinstance(event, ContainerChanged):
        return _container_changed(state, event)
    if isinstance(event, Assigned):
        return _assign(state, event)
    if state.state == "TERMINATED":
        return state, _after_the_end(state, event)
    if isinstance(event, LeavingEvent):
        return leave(state, event)
    return _step_open(state, event)


def _step_open(state: Allocation, event: _OpenEvent) -> Step:
    match event:
        case AgentLost():
            return _lose(state, event)
        case BecameReady():
            return _become_ready(state)
        case BeganWaiting():
            return (_forward(state, "WAITING") if state.containers else state), []
        case DaemonMarked():
            return _mark_daemon(state, event)
        case MasterUnreachable() | MasterReached() | MainThreadEnded():
            return _note(state, event), []
        case TermsChanged():
            return _change_terms(state, event), []
        case AllocationEffectFailed():
            return _effect_failed(state, event)
        case _:
            assert_never(event)


def _request(event: AllocationRequested) -> Step:
    state = Allocation(id=event.allocation_id, request=event.request)
    text = f"Scheduling {event.request.name} (id: {event.allocation_id})"
    return state, [texts.line(state, text)]


def _assign(state: Allocation, event: Assigned) -> Step:
    if state.state != "PENDING":
        raise FailedPrecondition(
            f"allocation {state.id} is {state.state}, only a PENDING one can be given slots: the "
            "plan is stale, plan again"
        )
    if not event.containers:
        raise ValueError(f"an assignment of allocation {state.id} names no container")
    ordered: list[Placed] = sorted(event.containers, key=lambda p: (p.agent_id, p.container_id))
    containers = tuple(
        Container(id=p.container_id, agent_id=p.agent_id, slot_ids=p.slot_ids, rank=rank)
        for rank, p in enumerate(ordered)
    )
    starts = [
        StartContainer(
            container_id=c.id,
            agent_id=c.agent_id,
            slot_ids=c.slot_ids,
            rank=c.rank,
            count=len(containers),
        )
        for c in containers
    ]
    after = replace(
        state,
        state="ASSIGNED",
        containers=containers,
        assigned_at=event.at,
        is_long_awaited=event.is_long_awaited,
    )
    return after, [
        texts.line(state, f"{state.request.name} was assigned to an agent"),
        *starts,
    ]


def _container_changed(state: Allocation, event: ContainerChanged) -> Step:
    container = next((c for c in state.containers if c.id == event.container_id), None)
    if container is not None and event.agent_id not in ("", container.agent_id):
        return state, []  # another agent reports it: each agent reports its own containers
    acknowledgement = _acknowledge(event, container)
    if container is None:
        return state, acknowledgement
    if container.state == "TERMINATED" and event.state != "TERMINATED":
        # Given up with its agent, or started after its end: nothing else will end it.
        return state, [SignalContainer(container_id=container.id, agent_id=container.agent_id)]
    if _CONTAINER_ORDER[event.state] <= _CONTAINER_ORDER[container.state]:
        return state, acknowledgement
    if event.state != "TERMINATED":
        return _advance_container(state, container, event)
    after, effects = _end_container(state, container, event)
    return after, [*acknowledgement, *effects]


def _acknowledge(event: ContainerChanged, container: Container | None) -> list[AllocationEffect]:
    """The answer to the report of an end, also of a container of another allocation."""
    agent_id = container.agent_id if container else event.agent_id
    if event.state != "TERMINATED" or not agent_id:
        return []
    return [ForgetContainer(container_id=event.container_id, agent_id=agent_id)]


def _end_container(state: Allocation, container: Container, event: ContainerChanged) -> Step:
    failure = ending.failure_of(event.failure, event.exit_code)
    code = failure.exit_code if failure and event.exit_code is None else event.exit_code
    return ending.end_containers(state, [replace(container, failure=failure, exit_code=code)])


def _advance_container(state: Allocation, container: Container, event: ContainerChanged) -> Step:
    changed = replace(
        container,
        state=event.state,
        host_ip=event.host_ip or container.host_ip,
        ports=event.ports or container.ports,
    )
    after = _forward(ending.with_container(state, changed), event.state)
    effects: list[AllocationEffect] = []
    if event.state == "RUNNING" and changed.rank == 0:
        effects += texts.unreached_lines(state, changed)
    if event.state == "RUNNING" and all(c.state == "RUNNING" for c in after.containers):
        effects.append(texts.line(state, f"Resources for {state.request.name} have started"))
    if after.is_ready_untold:
        after, more = _become_ready(after)
        effects += more
    return after, effects


def _lose(state: Allocation, event: AgentLost) -> Step:
    lost = [
        replace(c, failure=event.failure, exit_code=event.failure.exit_code)
        for c in live(state)
        if c.id in event.container_ids and c.agent_id == event.agent_id
    ]
    return ending.end_containers(state, lost) if lost else (state, [])


def _change_terms(state: Allocation, event: TermsChanged) -> Allocation:
    terms = event.terms
    request = replace(
        state.request,
        priority=terms.priority,
        weight=terms.weight,
        max_slots=terms.max_slots,
        position=terms.position,
    )
    return replace(state, request=request)


def _become_ready(state: Allocation) -> Step:
    if not state.containers or state.is_ready:
        return state, []
    is_service = TASK_KINDS[state.request.task_type].is_service
    if is_service and _CONTAINER_ORDER[state.containers[0].state] < _CONTAINER_ORDER["RUNNING"]:
        # a cluster may report a pod's start after its service answers: it is not reachable yet
        return replace(state, is_ready_untold=True), []
    effects: list[AllocationEffect] = []
    if is_service:
        effects.append(texts.line(state, f"Service of {state.request.name} is available"))
    return replace(_forward(state, "RUNNING"), is_ready=True, is_ready_untold=False), effects


def _mark_daemon(state: Allocation, event: DaemonMarked) -> Step:
    marked = next((c for c in live(state) if c.id == event.container_id), None)
    if marked is None or len(state.containers) == 1:
        return state, []
    return ending.settle(ending.with_container(state, replace(marked, is_daemon=True)))


def _note(
    state: Allocation, event: MasterUnreachable | MasterReached | MainThreadEnded
) -> Allocation:
    container = next((c for c in live(state) if c.id == event.container_id), None)
    if container is None:
        return state
    match event:
        case MasterUnreachable():
            container = replace(container, master_away=event.reason)
        case MasterReached():
            container = replace(container, master_away="")
        case MainThreadEnded():
            container = replace(container, main_thread=event.reason)
    return ending.with_container(state, container)


def _effect_failed(state: Allocation, event: AllocationEffectFailed) -> Step:
    order = _ORDERS.get(event.effect)
    if order is None or issubclass(order, (ReportAllocationEnd, SetTimer, CancelTimer)):
        return state, []
    if issubclass(order, (SignalContainer, ForgetContainer)):
        return state, []  # a kill is repeated by its timer, a forgotten container by the welcome
    if issubclass(order, StartContainer):
        return _start_failed(state, event)
    assert_never(order)


def _start_failed(state: Allocation, event: AllocationEffectFailed) -> Step:
    """A container that cannot be started is the task's failure: a bound to the attempts."""
    failed = next((c for c in live(state) if c.id == event.container_id), None)
    if failed is None:
        return state, []
    failure = ContainerFailure(type="task_error", message=f"starting it failed: {event.error}")
    after, effects = ending.end_containers(state, [replace(failed, failure=failure)])
    # Its agent may have got the order all the same.
    signal = SignalContainer(container_id=failed.id, agent_id=failed.agent_id)
    return after, [signal, ending.forget(failed), *effects]


def _after_the_end(state: Allocation, event: AllocationEvent) -> list[AllocationEffect]:
    if (
        isinstance(event, AllocationEffectFailed)
        and _ORDERS.get(event.effect) is ReportAllocationEnd
    ):
        text = f"failed to report the end of {state.request.name} to its owner: {event.error}"
        return [texts.line(state, text, "ERROR")]
    return []


def _forward(state: Allocation, to: AllocationState) -> Allocation:
    """The more progressed of the two states."""
    if ALLOCATION_ORDER[to] <= ALLOCATION_ORDER[state.state]:
        return state
    return replace(state, state=to)

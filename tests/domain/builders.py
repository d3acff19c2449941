"""Builders of domain values: a test overrides only what matters to it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from determined_master.domain.allocation import machine as allocation_machine
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.messages import WriteTaskLog
from determined_master.domain.schedule.view import AgentView, RequestView, RunningView

T0 = datetime(2026, 1, 1, tzinfo=UTC)
TASK = "7.aaaaaaaa-0000-0000-0000-000000000001"


def alloc_request(**overrides: Any) -> alloc.AllocationRequest:
    fields: dict[str, Any] = {
        "task_id": TASK,
        "task_type": "TRIAL",
        "name": "Trial 3 (Experiment 7)",
        "job_id": "job",
        "pool": "default",
        "slots": 1,
        "submitted_at": T0,
        "is_preemptible": True,
        "preemption_timeout_s": 60.0,
        "trial_id": 3,
        "experiment_id": 7,
    }
    return alloc.AllocationRequest(**{**fields, **overrides})


def requested(**overrides: Any) -> alloc.AllocationRequested:
    return alloc.AllocationRequested(allocation_id=f"{TASK}.1", request=alloc_request(**overrides))


def assigned(*agents: str) -> alloc.Assigned:
    """One container on each agent: `c-a` on agent `a`."""
    return alloc.Assigned(
        containers=tuple(
            alloc.Placed(container_id=f"c-{a}", agent_id=a, slot_ids=(0,)) for a in agents
        )
    )


def changed(agent: str, state: Any, **fields: Any) -> alloc.ContainerChanged:
    return alloc.ContainerChanged(container_id=f"c-{agent}", state=state, **fields)


def exited(agent: str, code: int) -> alloc.ContainerChanged:
    failure = None
    if code:
        failure = alloc.ContainerFailure(type="container_failed", message="", exit_code=code)
    return changed(agent, "TERMINATED", failure=failure, exit_code=code)


def run(
    *events: alloc.AllocationEvent, state: alloc.Allocation | None = None
) -> tuple[alloc.Allocation, list[alloc.AllocationEffect]]:
    """The state after all events, and the effects of the last one."""
    effects: list[alloc.AllocationEffect] = []
    for event in events:
        state, effects = allocation_machine.step(state, event)
    assert state is not None
    return state, effects


def waiting(**overrides: Any) -> alloc.Allocation:
    return run(requested(**overrides))[0]


def running(*agents: str, ready: bool = True, **overrides: Any) -> alloc.Allocation:
    """An allocation with one container running on each agent."""
    agents = agents or ("a",)
    events: list[alloc.AllocationEvent] = [assigned(*agents)]
    events += [changed(a, "RUNNING", host_ip=f"10.0.0.{i}") for i, a in enumerate(agents)]
    if ready:
        events.append(alloc.BecameReady())
    return run(*events, state=waiting(slots=len(agents), **overrides))[0]


def of_type(effects: Iterable[Any], kind: type[Any]) -> list[Any]:
    return [e for e in effects if isinstance(e, kind)]


def log_of(effects: Iterable[Any]) -> list[tuple[str, str]]:
    return [(e.level, e.text) for e in effects if isinstance(e, WriteTaskLog)]


def agent(id: str, slots: int = 4, free: int | None = None, **fields: Any) -> AgentView:
    """An agent whose highest numbered slots are free."""
    count = slots if free is None else free
    return AgentView(id=id, slots=slots, free_slots=tuple(range(slots - count, slots)), **fields)


def pending(id: str, slots: int = 1, after_s: float = 0, **fields: Any) -> RequestView:
    """A request submitted that many seconds after the first."""
    known: dict[str, Any] = {
        "job_id": f"job of {id}",
        "submitted_at": T0 + timedelta(seconds=after_s),
        "requested_at": T0 + timedelta(seconds=after_s),
        "is_preemptible": True,
    }
    return RequestView(allocation_id=id, slots=slots, **{**known, **fields})


def holding(id: str, *held: tuple[str, int], after_s: float = 0, **fields: Any) -> RunningView:
    """A running allocation with so many slots on each of those agents."""
    known: dict[str, Any] = {"job_id": f"job of {id}", "is_preemptible": True}
    return RunningView(
        allocation_id=id,
        slots=sum(slots for _, slots in held),
        submitted_at=T0 + timedelta(seconds=after_s),
        slots_by_agent=held,
        **{**known, **fields},
    )

"""The aggregate of an allocation: its kind and its projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from determined_master.aggregates.rows import write_log_lines
from determined_master.domain.allocation import container_rows
from determined_master.domain.allocation import machine as allocation_machine
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.ids import AllocationId
from determined_master.domain.messages import CancelTimer, SetTimer
from determined_master.domain.task.cause import FailureCause, sentence
from determined_master.engine.kind import Change, Kind, Parts, tag_of
from determined_master.engine.turns import Owner
from determined_master.store.db import Conn
from determined_master.store.tasks import allocations


async def project_allocations(
    conn: Conn, changes: Sequence[Change[alloc.Allocation, alloc.AllocationEvent]]
) -> None:
    await allocations.update_allocations(conn, [_allocation_change(c) for c in changes])
    await write_log_lines(conn, changes)


def _allocation_change(
    change: Change[alloc.Allocation, alloc.AllocationEvent],
) -> allocations.AllocationChange:
    state = change.after
    outcome = state.outcome
    is_failed = outcome is not None and outcome.kind in ("failed", "lost", "refused")
    has_started = any(c.state in ("PULLING", "STARTING", "RUNNING") for c in state.containers)
    is_pulling = any(c.state == "PULLING" for c in state.containers)
    waits_for_images = any(c.state in ("ASSIGNED", "PULLING") for c in state.containers)
    return allocations.AllocationChange(
        id=state.id,
        state=state.state,
        is_ready=state.is_ready,
        started_at=change.at if has_started else None,
        ended_at=change.at if state.state == "TERMINATED" else None,
        exit_reason=outcome.message if outcome is not None else None,
        exit_error=outcome.message if outcome is not None and is_failed else None,
        status_code=outcome.exit_code if outcome is not None else None,
        pulling_at=change.at if is_pulling else None,
        pulled_at=change.at if has_started and not waits_for_images else None,
        cause=_stored(outcome.cause) if outcome is not None and outcome.cause else None,
    )


def _stored(cause: FailureCause) -> str:
    """The cause as JSON with its sentence, which queries read."""
    values = msgspec.to_builtins(cause)
    return msgspec.json.encode({**values, "text": sentence(cause)}).decode()


def _owner(state: alloc.Allocation) -> Owner:
    """A trial's allocation is work of its experiment, others of their jobs."""
    request = state.request
    experiment_id = request.experiment_id
    work = f"job {request.job_id}" if experiment_id is None else f"experiment {experiment_id}"
    return Owner.of(request.user_id, work)


def _given_up(effect: alloc.AllocationOrder, error: str) -> alloc.AllocationEvent:
    """Reports the container that the effect was about."""
    container_id = ""
    match effect:
        case alloc.StartContainer() | alloc.SignalContainer() | alloc.ForgetContainer():
            container_id = effect.container_id
        case alloc.ReportAllocationEnd() | SetTimer() | CancelTimer():
            pass
        case _:
            assert_never(effect)
    return alloc.AllocationEffectFailed(
        effect=tag_of(effect), error=error, container_id=container_id
    )


ALLOCATION: Kind[AllocationId, alloc.Allocation, alloc.AllocationEvent, alloc.AllocationOrder] = (
    Kind(
        name="allocation",
        state=alloc.Allocation,
        event=alloc.AllocationEvent,
        effect=alloc.AllocationOrder,
        step=allocation_machine.step,
        given_up=_given_up,
        project=project_allocations,
        owner=_owner,
        parts=Parts(
            alloc.Container, container_rows.split, container_rows.count, container_rows.join
        ),
    )
)

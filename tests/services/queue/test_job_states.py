"""Whether a job is queued or scheduled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from tests.covers import covers
from tests.domain.builders import T0, running

from determined_master.pools.live import LiveAllocations
from determined_master.services.queue.job_queue import JobQueue
from determined_master.store.queue.job_queue import JobRow

PLACED = pytest.mark.parametrize(
    ("is_kubernetes", "state", "shown"),
    [
        (False, "PENDING", "QUEUED"),
        (False, "ASSIGNED", "SCHEDULED"),
        (True, "PENDING", "QUEUED"),
        (True, "ASSIGNED", "QUEUED"),  # Kubernetes has not placed the pod
        (True, "PULLING", "SCHEDULED"),
        (True, "RUNNING", "SCHEDULED"),
    ],
)


@PLACED
def test_the_slots_of_a_pod_are_allocated_once_kubernetes_has_placed_it(
    is_kubernetes: bool, state: Any, shown: str
) -> None:
    live = LiveAllocations(lambda pool: None)
    allocation = replace(running("a"), state=state)
    pools: Any = SimpleNamespace(is_kubernetes=lambda name: is_kubernetes)
    no_db: Any = None
    facts = JobQueue(no_db, live, pools)._facts(job_row(), "default", [allocation])
    assert facts.requested_slots == allocation.request.slots > 0
    assert facts.allocated_slots == (facts.requested_slots if shown == "SCHEDULED" else 0)
    assert facts.state == shown


@covers("helm-and-kubernetes 6.state")
@PLACED
def test_a_job_is_scheduled_once_something_of_it_is_placed(
    is_kubernetes: bool, state: Any, shown: str
) -> None:
    live = LiveAllocations(lambda pool: None)
    allocation = replace(running("a"), state=state)
    live.changed(allocation, 1)
    pools: Any = SimpleNamespace(
        is_kubernetes=lambda name: is_kubernetes, priorities=lambda name: "none"
    )
    no_db: Any = None
    summary = JobQueue(no_db, live, pools).summary(allocation.request.job_id)
    assert summary is not None
    assert summary.state == shown


def job_row() -> JobRow:
    return JobRow(
        job_id="j",
        experiment_id=None,
        task_id="t",
        type="COMMAND",
        state="",
        name="",
        user_id=1,
        username="user",
        workspace_id=1,
        progress=0.0,
        submitted_at=T0,
        resource_pool="default",
        resources=None,
        queue_position=None,
    )

"""Whether a job is queued or scheduled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from tests.covers import covers
from tests.domain.builders import running

from determined_master.pools.live import LiveAllocations
from determined_master.services.queue.job_queue import JobQueue


@covers("helm-and-kubernetes 6.state")
@pytest.mark.parametrize(
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

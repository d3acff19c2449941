"""A request larger than the cluster where `launch_error` is off: it waits, and says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import Cluster, until
from tests.e2e.command_line import det
from tests.e2e.conftest import running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CONFIG = {
    "name": "larger",
    "entrypoint": "python3 -m determined.launch.simple python3 t.py",
    "searcher": {"name": "single", "metric": "loss"},
    "max_restarts": 0,
    "resources": {"slots_per_trial": 2},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One agent of one slot; the second comes later."""
    with running(slots=1, settings="launch_error: false") as made:
        yield made


@covers("scheduling-and-provisioning e.4.warned")
def test_a_gang_larger_than_the_pool_waits_with_a_warning_and_starts_when_there_is_room(
    cluster: Cluster,
) -> None:
    answer = cluster.create(CONFIG, {"t.py": scripts.RANKS})
    assert answer["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]
    experiment, job = answer["experiment"]["id"], answer["experiment"]["jobId"]
    path = f"/api/v1/job-queues/{job}/why"
    found = until(lambda: cluster.get(path)["waits"], what="a decision about it")
    assert (found["needsSlots"], found["freeSlots"]) == (2, 1)
    assert "add agents" in found["reason"], found
    assert cluster.state(experiment) == "QUEUED"
    assert "needs 2 slots, and pool 'default' has 1" in det(cluster, "job", "why", str(experiment))
    cluster.start_agent("agent-1")
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    ranks = [line for line in cluster.lines(trial["id"]) if "gathered" in line["log"]]
    assert {line["agentId"] for line in ranks} == {"agent-0", "agent-1"}

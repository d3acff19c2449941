"""A cloud takes a machine back in the middle of the work: nothing is lost, nothing is counted."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.busy_agents import running_on
from tests.e2e.cluster import Cluster, Way, until
from tests.e2e.conftest import running
from tests.e2e.test_life import config
from tests.metadata_service import MetadataService, metadata_service

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LIMIT_S = 10
"""From the notice to the saved work: the target of figure `cloud_takeback`."""


@pytest.fixture(scope="module")
def service() -> Iterator[MetadataService]:
    with metadata_service() as made:
        yield made


@pytest.fixture(scope="module")
def cluster(service: MetadataService) -> Iterator[Cluster]:
    """One agent on a spot machine of one slot."""
    endpoint = f"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://{service.address}"

    def prepare(made: Cluster) -> None:
        made.ways["agent-0"] = Way(prefix=("env", endpoint), options=("--machine-cloud", "aws"))

    with running(slots=1, prepare=prepare) as made:
        yield made


@covers("scheduling-and-provisioning d.3.not_counted")
def test_work_on_a_machine_that_is_taken_back_is_saved_and_continues_elsewhere(
    cluster: Cluster, service: MetadataService
) -> None:
    experiment = cluster.submit(config(), {"t.py": scripts.WAITS})
    assert until(lambda: running_on(cluster), what="a running task") == ["agent-0"]
    [trial] = cluster.trials(experiment)
    until(lambda: cluster.trials(experiment)[0]["totalBatchesProcessed"], what="its first step")
    service.is_taken_back = True
    noticed = time.monotonic()
    path = f"/api/v1/experiments/{experiment}/checkpoints"
    until(lambda: cluster.get(path)["checkpoints"], what="saved work")
    assert time.monotonic() - noticed < LIMIT_S
    until(lambda: not running_on(cluster), what="an empty machine")
    [shown] = cluster.get("/api/v1/agents")["agents"]
    assert (shown["id"], shown["draining"]) == ("agent-0", True)
    assert cluster.state(experiment) == "QUEUED"
    cluster.kill("agent-0")  # as the cloud does
    cluster.start_agent("agent-1")
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert trial["restarts"] == 0
    text = cluster.text(trial["id"])
    assert "its machine is taken back: AWS will terminate this spot machine at" in text
    assert "resumed from None" in text
    assert text.count("resumed from") == 2

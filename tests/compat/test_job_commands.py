"""`det` 0.38.1 against our master: the job queue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import MODEL, Client
from tests.compat.conftest import created
from tests.e2e.cluster import Cluster, until

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


@pytest.fixture(scope="module")
def queued(client: Client, cluster: Cluster, tmp_path_factory: Any) -> Iterator[list[int]]:
    """Three endless experiments on two slots: the last one waits."""
    text = (MODEL / "const.yaml").read_text().replace("steps: 3", "steps: 100000, nap: 0.05")
    path: Path = tmp_path_factory.mktemp("jobs") / "endless.yaml"
    path.write_text(text)
    made = [created(client.det("experiment", "create", path, MODEL)) for _ in range(3)]
    until(lambda: len(jobs(cluster)) == 3, what="three jobs")
    yield made
    for experiment in made:
        client.det("experiment", "kill", experiment)
        cluster.wait(experiment)


def jobs(cluster: Cluster) -> list[dict[str, Any]]:
    return [j["full"] for j in cluster.get("/api/v1/job-queues-v2")["jobs"]]


def job_of(cluster: Cluster, experiment: int) -> str:
    return next(j["jobId"] for j in jobs(cluster) if j["entityId"] == str(experiment))


def test_jobs_are_listed_in_the_order_of_the_queue(
    client: Client, cluster: Cluster, queued: list[int]
) -> None:
    rows = client.det("job", "list", "-p", "default", "--csv").rows()
    assert [row["ID"] for row in rows] == [j["jobId"] for j in jobs(cluster)]
    assert [row["#"] for row in rows] == ["0", "1", "2"]
    assert [row["Priority"] for row in rows] == ["42", "42", "42"]
    until(
        lambda: sorted(j["allocatedSlots"] for j in jobs(cluster)) == [0, 1, 1],
        what="two jobs with slots",
    )
    shown = client.det("job", "list", "-p", "default", "--csv").rows()
    assert [row["State"].upper().rsplit("STATE_")[-1] for row in shown].count("QUEUED") == 1


def test_a_jobs_priority_and_weight_are_changed(
    client: Client, cluster: Cluster, queued: list[int]
) -> None:
    last, other = job_of(cluster, queued[2]), job_of(cluster, queued[1])
    client.det("job", "update", last, "--priority", 7)
    assert jobs(cluster)[0]["jobId"] == last
    client.det("job", "update-batch", f"{last}.priority=50", f"{other}.weight=3")
    found = {j["jobId"]: j for j in jobs(cluster)}
    assert found[last]["priority"] == 50
    assert found[other]["weight"] == 3
    client.det("experiment", "set", "priority", queued[2], 9)
    assert jobs(cluster)[0]["jobId"] == last


def test_an_impossible_change_is_reported(
    client: Client, cluster: Cluster, queued: list[int]
) -> None:
    job = job_of(cluster, queued[0])
    assert "between 1 and 99" in client.det("job", "update", job, "--priority", 100, code=1).err
    said = client.det("job", "update", job, "--resource-pool", "gone", code=1).err
    assert "invalid resource pool name gone" in said
    assert "not found" in client.det("job", "update", "nobody", "--weight", 2, code=1).err


def test_a_batch_is_sent_one_by_one_up_to_its_first_mistake(
    client: Client, cluster: Cluster, queued: list[int]
) -> None:
    first, second, third = (job_of(cluster, number) for number in queued)
    operations = (f"{first}.priority=30", f"{second}.resource-pool=gone", f"{third}.priority=31")
    said = client.det("job", "update-batch", *operations, code=1).err
    assert "invalid resource pool name gone" in said
    now = {j["jobId"]: j["priority"] for j in jobs(cluster)}
    assert now[first] == 30
    assert now[third] != 31
    client.det("job", "update-batch", f"{first}.colour=1", code=1)


def test_the_queue_is_shown_in_pages_and_as_json(
    client: Client, cluster: Cluster, queued: list[int]
) -> None:
    listed = [job["jobId"] for job in jobs(cluster)]
    told = client.det("job", "list", "--resource-pool", "default", "--json").out
    assert all(job_id in told for job_id in listed)
    first = client.det("job", "list", "-p", "default", "--csv", "--limit", 1, "--pages", 1).rows()
    assert [row["ID"] for row in first] == listed[:1]
    last = client.det("job", "list", "-p", "default", "--csv", "--reverse").rows()
    assert [row["ID"] for row in last] == listed[::-1]


def test_a_paused_experiment_is_still_a_job_that_can_be_changed(
    client: Client, cluster: Cluster, queued: list[int]
) -> None:
    paused = queued[0]
    job = job_of(cluster, paused)
    client.det("experiment", "pause", paused)
    until(lambda: job not in {j["jobId"] for j in jobs(cluster)}, what="one job less")
    client.det("job", "update", job, "--priority", 5)
    client.det("experiment", "activate", paused)
    until(lambda: job in {j["jobId"] for j in jobs(cluster)}, what="the job again")
    [found] = [j for j in jobs(cluster) if j["jobId"] == job]
    assert found["priority"] == 5

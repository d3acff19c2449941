"""Priorities, preemption, pools and the job queue on a real cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import APIException, Cluster, until
from tests.e2e.command_line import det
from tests.e2e.conftest import running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SETTINGS = """
resource_manager:
  type: agent
  default_compute_resource_pool: main
  default_aux_resource_pool: side
  scheduler: {type: priority, preemption: true, fitting_policy: best, default_priority: 42}
resource_pools:
  - {pool_name: main}
  - {pool_name: side, scheduler: {type: fair_share}}
"""
NAP = "import time\nwhile True: time.sleep(0.1)\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two agents of two slots; the first is of pool main, the second of pool side."""
    with running(agents=2, settings=SETTINGS, pools=["main", "side"]) as made:
        yield made


@pytest.fixture(autouse=True)
def quiet(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.settle()


def submit(
    cluster: Cluster, script: str = NAP, *, leaves_within_s: int = 1, **resources: Any
) -> int:
    config = {
        "name": "queued",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {"quality": 0.5},
        "max_restarts": 0,
        "preemption_timeout": leaves_within_s,
        "resources": {"slots_per_trial": 2, **resources},
    }
    return cluster.submit(config, {"t.py": script})


def jobs(cluster: Cluster, pool: str = "main") -> list[dict[str, Any]]:
    listed = cluster.get("/api/v1/job-queues-v2", resourcePool=pool)["jobs"]
    return [job["full"] for job in listed]


def job_of(cluster: Cluster, experiment: int) -> str:
    return str(cluster.get(f"/api/v1/experiments/{experiment}")["experiment"]["jobId"])


def update(cluster: Cluster, **change: Any) -> None:
    cluster.post("/api/v1/job-queues", {"updates": [change]})


def has_slots(cluster: Cluster, experiment: int) -> bool:
    return cluster.state(experiment) == "RUNNING"


def await_running(cluster: Cluster, experiment: int) -> None:
    until(lambda: has_slots(cluster, experiment), what=f"experiment {experiment} running")


@covers("scheduling-and-provisioning b.1.reason b.1.graceful")
def test_a_more_urgent_job_preempts_and_the_other_saves_and_resumes(cluster: Cluster) -> None:
    lower = submit(cluster, scripts.WAITS, leaves_within_s=60, slots_per_trial=1)
    await_running(cluster, lower)
    [trial] = cluster.trials(lower)
    until(
        lambda: cluster.trials(lower)[0]["latestValidation"],
        what="a trial that can be asked to leave",
    )
    urgent = submit(cluster, priority=1)
    await_running(cluster, urgent)
    assert cluster.trials(lower)[0]["checkpointCount"] == 1
    assert cluster.state(lower) == "QUEUED"
    assert [(j["entityId"], j["summary"]) for j in jobs(cluster)] == [
        (str(urgent), {"state": "STATE_SCHEDULED", "jobsAhead": 0}),
        (str(lower), {"state": "STATE_QUEUED", "jobsAhead": 1}),
    ]
    cluster.post(f"/api/v1/experiments/{urgent}/kill")
    assert cluster.wait(lower) == "COMPLETED"
    text = cluster.text(trial["id"])
    assert "preempted by the scheduler" in text
    assert "resumed from None" in text
    assert text.count("resumed from") == 2
    assert cluster.trials(lower)[0]["restarts"] == 0


@covers("experiment-config 21.live 11.priority")
def test_a_change_of_priority_acts_on_what_waits_and_runs(cluster: Cluster) -> None:
    first = submit(cluster, is_single_node=True)
    await_running(cluster, first)
    second = submit(cluster)
    until(lambda: len(jobs(cluster)) == 2, what="two jobs")
    assert [j["entityId"] for j in jobs(cluster)] == [str(first), str(second)]
    update(cluster, jobId=job_of(cluster, second), priority=10)
    await_running(cluster, second)
    assert cluster.state(first) == "QUEUED"
    [found] = [j for j in jobs(cluster) if j["entityId"] == str(second)]
    assert found["priority"] == 10
    cluster.session().patch(
        f"/api/v1/experiments/{second}", json={"id": second, "resources": {"priority": 60}}
    )
    await_running(cluster, first)


@covers("scheduling-and-provisioning a.3.ahead_behind a.3.restart a.5.pool_change")
def test_a_job_is_moved_ahead_of_another_and_to_another_pool(cluster: Cluster) -> None:
    first, second, third = submit(cluster), submit(cluster), submit(cluster)
    until(lambda: len(jobs(cluster)) == 3, what="three jobs")
    await_running(cluster, first)
    update(cluster, jobId=job_of(cluster, third), aheadOf=job_of(cluster, second))
    until(
        lambda: [j["entityId"] for j in jobs(cluster)] == [str(first), str(third), str(second)],
        what="the third before the second",
    )
    cluster.kill("master")
    cluster.start_master()
    until(
        lambda: [j["entityId"] for j in jobs(cluster)] == [str(first), str(third), str(second)],
        what="the same order of a new master",
    )
    update(cluster, jobId=job_of(cluster, first), behindOf=job_of(cluster, second))
    await_running(cluster, third)
    update(cluster, jobId=job_of(cluster, second), resourcePool="side")
    await_running(cluster, second)
    assert [j["entityId"] for j in jobs(cluster, "side")] == [str(second)]
    found = cluster.get(f"/api/v1/experiments/{second}")["experiment"]
    assert found["resourcePool"] == "side"


@covers(
    "scheduling-and-provisioning a.5.unknown_job a.5.priority_range a.5.weight_range "
    "a.5.pool_same a.5.no_action"
)
def test_updates_that_cannot_be_made_are_refused_with_the_reason(cluster: Cluster) -> None:
    experiment = submit(cluster)
    await_running(cluster, experiment)
    job = job_of(cluster, experiment)
    for change, said in [
        ({"jobId": "nobody", "priority": 3}, "job nobody not found"),
        ({"jobId": job, "priority": 100}, "priority must be between 1 and 99"),
        ({"jobId": job, "weight": 0}, "weight must be greater than 0"),
        ({"jobId": job, "resourcePool": "gone"}, "invalid resource pool name gone"),
        ({"jobId": job, "resourcePool": "main"}, "resource pool is unchanged (main == main)"),
        ({"jobId": job}, "unexpected action"),
        ({"jobId": job, "aheadOf": job}, "itself"),
    ]:
        with pytest.raises(APIException, match=said.replace("(", r"\(").replace(")", r"\)")):
            update(cluster, **change)


def test_a_request_too_large_for_any_agent_is_refused_with_possible_sizes(
    cluster: Cluster,
) -> None:
    with pytest.raises(APIException, match="exceeds cluster capacity"):
        submit(cluster, slots_per_trial=3)
    with pytest.raises(APIException, match="resource pool nowhere does not exist"):
        submit(cluster, resource_pool="nowhere")


def test_why_shows_the_jobs_that_block_a_job(cluster: Cluster) -> None:
    first = submit(cluster, slots_per_trial=1)
    await_running(cluster, first)
    second = submit(cluster, priority=50)
    job = job_of(cluster, second)

    def waits() -> Any:
        return cluster.get(f"/api/v1/job-queues/{job}/why")["waits"]

    found = until(waits, what="a decision on the second job")
    assert found["needsSlots"] == 2
    assert found["freeSlots"] == 1
    assert found["free"] == [{"agentId": "agent-0", "free": 1, "slots": 2}]
    assert found["smaller"] == 1
    [running_now] = found["next"]
    assert running_now["jobId"] == job_of(cluster, first)
    said = det(cluster, "job", "why", str(second))
    assert "waits for 2 slots, of which 1 is free now" in said
    assert "1 slot would start now" in said
    assert json.loads(det(cluster, "job", "why", job, "--json"))["jobId"] == job
    cluster.post(f"/api/v1/experiments/{first}/kill")
    await_running(cluster, second)
    assert "nothing of it waits for slots" in det(cluster, "job", "why", str(second))


@covers("scheduling-and-provisioning a.5.cli a.6.columns")
def test_the_command_line_lists_and_updates_jobs(cluster: Cluster) -> None:
    first, second = submit(cluster), submit(cluster)
    until(lambda: len(jobs(cluster)) == 2, what="two jobs")
    listed = det(cluster, "job", "list", "--resource-pool", "main", "--csv").splitlines()
    columns = "#,ID,Type,Job Name,{},Submitted,Slots (acquired/needed),State,User"
    assert listed[0] == columns.format("Priority")
    side = det(cluster, "job", "list", "--resource-pool", "side", "--csv").splitlines()
    assert side == [columns.format("Weight")]
    assert [line.split(",")[3] for line in listed[1:]] == [
        f"queued ({first})",
        f"queued ({second})",
    ]
    one, other = job_of(cluster, first), job_of(cluster, second)
    det(cluster, "job", "update", other, "--priority", "7")
    det(cluster, "job", "update-batch", f"{one}.priority=8", f"{other}.weight=2.5")
    for batch in (f"{one}.colour=1", f"{one}.priority", "priority=1", f"{one}.priority=high"):
        assert batch in det(cluster, "job", "update-batch", batch, code=1)
    det(cluster, "job", "update", one, code=1)
    det(cluster, "job", "update", one, "--priority", "1", "--weight", "2", code=2)
    shown = {j["jobId"]: (j["priority"], j["weight"]) for j in jobs(cluster)}
    assert shown == {one: (8, 1), other: (7, 2.5)}
    stats = cluster.get("/api/v1/job-queues/stats", resourcePools=["main", "nowhere"])["results"]
    assert [s["resourcePool"] for s in stats] == ["main"]
    assert sum(stats[0]["stats"].values()) == 2
    assert stats[0]["aggregates"]


def test_the_log_of_a_long_waiting_trial_shows_the_reason(cluster: Cluster) -> None:
    first = submit(cluster, slots_per_trial=1)
    await_running(cluster, first)
    second = submit(cluster)
    [trial] = until(lambda: cluster.trials(second), what="a trial")
    said = "waits for 2 slots, of which 1 is free now"
    logs = f"/api/v1/trials/{trial['id']}/logs"  # without following: the trial does not end
    until(lambda: said in cluster.session().get(logs).text, what="a line that says why")
    [line] = [t for t in cluster.session().get(logs).text.splitlines() if said in t]
    assert "1 slot would start now" in line


def test_recorded_decisions_are_replayed_by_other_rules(cluster: Cluster) -> None:
    experiment = submit(cluster)
    await_running(cluster, experiment)
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    cluster.wait(experiment)

    def replayed() -> str:
        done = cluster.run_master(
            "simulate",
            *("--db-data-dir", str(cluster.root / "db" / "pg")),
            *("--pool", "main", "--policy", "fair_share", "--agents", "4x8", "--json"),
        )
        return done.stdout if done.returncode == 0 else ""

    told = json.loads(until(replayed, what="a record"))
    assert [line["policy"] for line in told["policies"]] == ["(as it was)", "fair_share"]
    assert told["policies"][1]["ended"] >= 1

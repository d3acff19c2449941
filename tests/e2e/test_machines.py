"""Machines on demand on a real cluster; the machines are agents that the master has started."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e.cluster import Cluster, Way, until
from tests.e2e.conftest import running
from tests.e2e.local_machines import Cloud

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SETTINGS = """
resource_pools:
  - pool_name: default
    provider: {type: local, max_instances: 3, max_idle_agent_period: 8s, price_per_hour: 1}
"""
EVERYWHERE = {"create": True, "shared": True}
NAP = "import time\ntime.sleep(1)\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A master without agents, which may start three of one slot."""

    def prepare(made: Cluster) -> None:
        storage = {"type": "shared_fs", "host_path": f"{made.root}/checkpoints"}
        made.settings += f"checkpoint_storage: {json.dumps({**storage, **EVERYWHERE})}\n"
        made.ways["master"] = Way(tuning={"machines": str(made.root)})

    with running(agents=0, settings=SETTINGS, prepare=prepare) as made:
        try:
            yield made
        finally:
            cloud = Cloud(made.root)
            cloud.end([m["id"] for m in cloud.machines()])


def submit(cluster: Cluster, slots: int = 1) -> dict[str, Any]:
    config = {
        "name": "on demand",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "max_restarts": 0,
        "resources": {"slots_per_trial": slots},
    }
    found: dict[str, Any] = cluster.create(config, {"t.py": NAP})["experiment"]
    return found


def agents_of(cluster: Cluster) -> int:
    [pool] = cluster.get("/api/v1/resource-pools")["resourcePools"]
    return int(pool["numAgents"])


def restart_master(cluster: Cluster) -> None:
    cluster.kill("master")
    cluster.start_master()


@covers("scheduling-and-provisioning c.2.launch c.2.long_idle c.2.starting")
def test_work_gets_machines_over_a_death_of_the_master_and_they_leave_again(
    cluster: Cluster,
) -> None:
    cloud = Cloud(cluster.root)
    assert cluster.connected() == []
    experiments = [submit(cluster), submit(cluster, slots=2)]
    until(lambda: len(cloud.machines()) == 3, what="three machines")

    def told() -> str:
        text = str(cluster.get(f"/api/v1/job-queues/{experiments[1]['jobId']}/why")["text"])
        return text if "machines are starting" in text else ""

    said = until(told, what="the reason of the wait")
    assert said.startswith("waits for 2 slots on machines that pool 'default' starts on demand")
    assert "3 machines are starting, the first since" in said

    restart_master(cluster)
    until(told, what="the reason of the wait, by a new master")
    assert cloud.launched == 3, "what was asked for before is found again"
    cloud.open_gate()
    until(lambda: len(cluster.connected()) == 3, what="the agents of all machines")
    for experiment in experiments:
        assert cluster.wait(experiment["id"]) == "COMPLETED"

    until(lambda: not cloud.machines(), what="an empty pool")
    until(lambda: agents_of(cluster) == 0, what="the end of all agents")
    assert cloud.launched == 3


def test_a_machine_whose_agent_works_outlives_the_death_of_the_master(cluster: Cluster) -> None:
    cloud = Cloud(cluster.root)
    cloud.open_gate()
    before = cloud.launched
    experiment = submit(cluster)["id"]
    until(lambda: cluster.connected(), what="an agent")
    restart_master(cluster)
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert trial["restarts"] == 0
    assert cloud.launched == before + 1
    until(lambda: not cloud.machines(), what="an empty pool")


def test_a_workspace_gets_no_machine_above_its_budget_and_its_users_see_why(
    cluster: Cluster,
) -> None:
    cloud = Cloud(cluster.root)
    cloud.open_gate()
    before = cloud.launched
    path = "/api/v1/config-policies/workspaces/1/EXPERIMENT"
    budget = {"constraints": {"resources": {"max_cost_per_hour": 0.5}}}
    cluster.session().put(path, json={"configPolicies": json.dumps(budget)})
    experiment = submit(cluster)

    def why() -> str:
        text = str(cluster.get(f"/api/v1/job-queues/{experiment['jobId']}/why")["text"])
        return text if "no machine is started for it" in text else ""

    said = until(why, what="the reason of the wait")
    assert "max_cost_per_hour of workspace 'Uncategorized' allows 0.5 USD for experiments" in said
    assert "cost 0 USD, and it needs 1 USD" in said
    assert cloud.launched == before
    cluster.session().delete(path)
    assert cluster.wait(experiment["id"]) == "COMPLETED"
    assert cloud.launched == before + 1
    until(lambda: not cloud.machines(), what="an empty pool")

"""What an agent is told to start, from the settings of the master to the order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import PASSWORD, running_services, snapshot
from tests.api.samples import World
from tests.api.scenes import trials_of

from determined_master import entropy
from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.allocation import messages as alloc
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.cluster.agents import Agents
from determined_master.settings.pools import ResourcePool
from determined_master.store.db import Address, Database
from determined_wire.agent_link import ContainerSpec

CLUSTER = {"shm_size_bytes": "64m", "network_mode": "host", "startup_hook": "true"}
SMALL = {"shm_size_bytes": 5, "network_mode": "bridge", "gloo_port_range": "1:2"}
CONFIG = """
name: c
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
"""


@pytest.fixture
async def world(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    """A master with a pool that says more than the cluster, and agents on two machines."""
    pools = (
        ResourcePool(),
        ResourcePool(pool_name="small", task_container_defaults=SMALL),
    )
    running = running_services(
        database, pool, passwords, task_container_defaults=CLUSTER, resource_pools=pools
    )
    async with running as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("admin", PASSWORD, is_hashed=False)
        made = World(services, engine, {}, {"admin": Client(api, opened.token)})
        backend: Any = services[Agents]._backend
        backend.others = [
            snapshot("a2", hostname="other", address="10.0.0.2"),
            snapshot("a3", hostname="third", address="10.0.0.2"),
        ]
        yield made
        api.close()


async def started(world: World, config: str, *agents: str) -> list[ContainerSpec]:
    """What the agents are told of a new trial's containers, by rank."""
    made = await world.clients["admin"](
        "POST", "/api/v1/experiments", {"config": config, "activate": True}
    )
    assert made.status == 200, made.body
    [trial] = await trials_of(world, made.json()["experiment"]["id"])
    return await placed_on(world, trial["taskId"], *agents)


async def placed_on(world: World, task_id: str, *agents: str) -> list[ContainerSpec]:
    """What the agents are told of the containers of a task's first run, by rank."""
    names = {"allocation_id": f"{task_id}.1"}
    path = f"/api/v1/tasks/{task_id}"
    await scene.until(world.clients["admin"], path, lambda got: got["task"]["allocations"])
    placed = tuple(alloc.Placed(str(entropy.new_uuid()), agent, (0,)) for agent in agents)
    await scene.post(world, names, alloc.Assigned(placed))
    found: dict[str, ContainerSpec] = {}

    async def look() -> bool:
        found.update({order.container_id: order.spec for order in world.orders()})
        return all(p.container_id in found for p in placed)

    await scene.until_true(look, bool, [])
    return [found[p.container_id] for p in placed]


async def test_a_pools_defaults_go_before_the_clusters(world: World) -> None:
    [spec] = await started(world, CONFIG, "a1")
    assert (spec.shm_size_bytes, spec.network_mode) == (64 * 1024**2, "host")
    assert "GLOO_PORT_RANGE" not in spec.environment

    [spec] = await started(world, f"{CONFIG}resources: {{resource_pool: small}}\n", "a1")
    assert (spec.shm_size_bytes, spec.network_mode) == (5, "bridge")
    assert spec.environment["GLOO_PORT_RANGE"] == "1:2"
    assert [f.path for f in spec.files] == ["/run/determined/dynamic-tcd-startup-hook.sh"]

    own = f"{CONFIG}resources: {{resource_pool: small, shm_size: 4g}}\n"
    [spec] = await started(world, own, "a1")
    assert spec.shm_size_bytes == 4 * 1024**3


async def test_ports_of_the_configuration_are_exposed_with_the_trials_own(world: World) -> None:
    more = "environment: {ports: {mine: 7001}, proxy_ports: [{proxy_port: 7002}]}\n"
    [spec] = await started(world, CONFIG + more, "a1")
    assert spec.ports == (1734, 7001, 7002, 12350, 12360, 12365, 29400)


async def test_a_number_is_given_once_a_machine(world: World) -> None:
    numbers = [
        (await started(world, CONFIG, agent))[0].environment["DTRAIN_SSH_PORT"]
        for agent in ("a1", "a1", "a2", "a3")
    ]
    assert numbers == ["12350", "12351", "12350", "12351"]
    both = await started(world, f"{CONFIG}resources: {{slots_per_trial: 2}}\n", "a1", "a2")
    assert {spec.environment["DTRAIN_SSH_PORT"] for spec in both} == {"12352"}
    assert {spec.network_mode for spec in both} == {"host"}
    assert "DET_PORTS_BY_RANK" not in both[0].environment


async def test_containers_of_one_trial_on_one_machine_listen_apart(world: World) -> None:
    gang = await started(world, f"{CONFIG}resources: {{slots_per_trial: 3}}\n", "a1", "a2", "a3")
    assert [s.environment["DTRAIN_SSH_PORT"] for s in gang] == ["12350", "12350", "12351"]
    assert {s.environment["C10D_PORT"] for s in gang} == {"29400"}
    told = '{"DTRAIN_SSH_PORT": [12350, 12350, 12351], "C10D_PORT": [29400, 29400, 29401]}'
    assert {s.environment["DET_PORTS_BY_RANK"] for s in gang} == {told}
    assert [12351 in s.ports for s in gang] == [False, False, True]


async def test_containers_of_a_generic_task_are_a_gang_when_there_are_several(
    world: World,
) -> None:
    config = "entrypoint: [go, x]\nresources: {slots: 0, resource_pool: small}\n"
    specs = []
    for agents in (["a1"], ["a1", "a2", "a3"]):
        admin = world.clients["admin"]
        made = await admin("POST", "/api/v1/generic-tasks", {"config": config})
        specs.append(await placed_on(world, made.json()["taskId"], *agents))
    [alone], gang = specs
    assert alone.entrypoint[-3:] == ("command", "go", "x")
    assert (alone.ports, alone.network_mode) == ((), "bridge")
    assert not {"C10D_PORT", "DET_PORTS_BY_RANK"} & alone.environment.keys()
    assert {s.entrypoint[-3:] for s in gang} == {("gang", "go", "x")}
    assert {s.network_mode for s in gang} == {"host"}
    assert [s.environment["DTRAIN_SSH_PORT"] for s in gang] == ["12350", "12350", "12351"]
    assert {s.environment["C10D_PORT"] for s in gang} == {"29400"}
    assert {s.environment["GLOO_PORT_RANGE"] for s in gang} == {"1:2"}
    told = '{"DTRAIN_SSH_PORT": [12350, 12350, 12351], "C10D_PORT": [29400, 29400, 29401]}'
    assert {s.environment["DET_PORTS_BY_RANK"] for s in gang} == {told}
    assert [s.ports for s in gang[:2]] == [(1734, 12350, 12360, 12365, 29400)] * 2

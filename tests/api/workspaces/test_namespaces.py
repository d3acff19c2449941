"""Kubernetes namespaces of workspaces over the API, and pools of several managers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import PASSWORD, SETTINGS, OneAgent, running_services, snapshot
from tests.api.queues import QUEUES, order, submit, update
from tests.api.samples import World
from tests.api.workspaces.test_projects import workspace
from tests.covers import covers
from tests.namespaces_in_memory import ClusterInMemory

from determined_master import clock
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.allocation import messages as alloc
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.queue.job_queue import JobQueue
from determined_master.services.workspaces.namespaces import WorkspaceNamespaces
from determined_master.settings.kubernetes.resource_manager import KubernetesManager
from determined_master.settings.managers import AdditionalManager
from determined_master.settings.master import Settings
from determined_master.settings.pools import ResourcePool
from determined_master.store.db import Address, Database
from determined_wire.agent_link import Device

EAST = KubernetesManager(cluster_name="east", max_slots_per_pod=2, default_namespace="det")
TWO: Settings = msgspec.structs.replace(
    SETTINGS,
    additional_resource_managers=(
        AdditionalManager(
            resource_manager=msgspec.structs.replace(EAST, metadata={"zone": "b"}),
            resource_pools=(ResourcePool(pool_name="gpus"),),
        ),
        AdditionalManager(
            resource_manager=KubernetesManager(cluster_name="west", max_slots_per_pod=1),
            resource_pools=(ResourcePool(pool_name="cpus"),),
        ),
    ),
)
ONE: Settings = msgspec.structs.replace(
    SETTINGS, additional_resource_managers=TWO.additional_resource_managers[:1]
)


GPUS = "resourcePool=gpus"


class Clusters:
    """A world with clusters in memory, beside agents."""

    def __init__(
        self, world: World, agents: OneAgent, east: ClusterInMemory, west: ClusterInMemory
    ) -> None:
        self.world, self.agents, self.east, self.west = world, agents, east, west
        self.admin, self.user = world.clients["admin"], world.clients["user"]

    async def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = await self.admin(method, path, body)
        assert answer.status == status, answer.body
        return answer.json()


@contextlib.asynccontextmanager
async def clusters_of(
    settings: Settings, database: Address, pool: Database, passwords: Passwords
) -> AsyncIterator[Clusters]:
    devices = tuple(Device(id=i, brand="H200", uuid=f"n{i}", type="cuda") for i in range(4))
    node = snapshot("node", pool="gpus", devices=devices)
    agents, east, west = OneAgent(), ClusterInMemory(node), ClusterInMemory()
    running = running_services(
        database, pool, passwords, settings, agents, clusters={"east": east, "west": west}
    )
    async with running as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        clients = {}
        for name, username in (("admin", "admin"), ("user", "determined")):
            opened = await services[Auth].login(username, PASSWORD, is_hashed=False)
            clients[name] = Client(api, opened.token)
        yield Clusters(World(services, engine, {}, clients), agents, east, west)
        api.close()


@pytest.fixture
async def both(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[Clusters]:
    async with clusters_of(TWO, database, pool, passwords) as made:
        yield made


@pytest.fixture
async def one(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[Clusters]:
    async with clusters_of(ONE, database, pool, passwords) as made:
        yield made


def meta(cluster: str = "", **more: Any) -> dict[str, Any]:
    return {"clusterNamespaceMeta": {cluster: {"clusterName": cluster, **more}}}


def path(workspace_id: int) -> str:
    return f"/api/v1/workspaces/{workspace_id}/namespace-bindings"


async def bindings(clusters: Clusters, number: int) -> dict[str, tuple[str, bool]]:
    route = f"/api/v1/workspaces/{number}/list-namespace-bindings"
    found = (await clusters.ask("GET", route))["namespaceBindings"]
    assert all(b["workspaceId"] == number and b["clusterName"] == n for n, b in found.items())
    return {n: (b["namespace"], b.get("autoCreateNamespace", False)) for n, b in found.items()}


@covers("helm-and-kubernetes 16.existing 16.unbind")
async def test_a_workspace_is_bound_to_a_namespace_and_unbound(both: Clusters) -> None:
    number = await workspace(both.admin, "Vision")
    assert await bindings(both, number) == {"east": ("det", False), "west": ("default", False)}
    both.west.namespaces["team"] = {}
    made = await both.ask("POST", path(number), meta("west", namespace="team"))
    assert made["namespaceBindings"]["west"]["namespace"] == "team"
    assert (await bindings(both, number))["west"] == ("team", False)
    await both.ask("DELETE", f"{path(number)}?clusterNames=west")
    assert (await bindings(both, number))["west"] == ("default", False)
    twice = await both.ask("DELETE", f"{path(number)}?clusterNames=west", status=400)
    assert "uses the default namespace of west" in twice["error"]["error"]


@covers("helm-and-kubernetes 16.unbind")
async def test_namespaces_are_made_and_go_with_their_workspaces(both: Clusters) -> None:
    number = await workspace(both.admin, "Vision")
    body = meta(autoCreateNamespace=True, autoCreateNamespaceAllClusters=True)
    made = (await both.ask("POST", path(number), body))["namespaceBindings"]
    names = {cluster: binding["namespace"] for cluster, binding in made.items()}
    assert names["east"].startswith("vision-det-")
    assert names["west"].startswith("vision-default-")
    assert all(binding["autoCreateNamespace"] for binding in made.values())
    assert names["east"] in both.east.namespaces
    await both.ask("PATCH", f"/api/v1/workspaces/{number}", {"name": "Sight"})
    await both.ask("POST", path(number), meta("east", autoCreateNamespace=True))
    assert await bindings(both, number) == {n: (name, True) for n, name in names.items()}
    sweep = both.world.services[WorkspaceNamespaces].sweep
    assert await sweep() == 0
    await both.ask("DELETE", f"/api/v1/workspaces/{number}")
    both.west.is_broken = True
    assert await sweep() == 1
    assert list(both.east.namespaces) == ["default"]
    both.west.is_broken = False
    assert await sweep() == 1
    assert list(both.west.namespaces) == ["default"]
    assert await sweep() == 0


async def test_a_namespace_that_was_there_before_is_used_and_never_deleted(
    one: Clusters,
) -> None:
    number = await workspace(one.admin, "Vision")
    body = meta(autoCreateNamespace=True)
    name = (await one.ask("POST", path(number), body))["namespaceBindings"]["east"]["namespace"]
    assert (await shown(one, number))["autoCreatedNamespace"] == name
    await one.ask("DELETE", f"{path(number)}?clusterNames=east")
    one.east.own.clear()  # somebody has deleted it, and made one of that name
    made = await one.ask("POST", path(number), body)
    assert made["namespaceBindings"]["east"]["namespace"] == name
    assert await bindings(one, number) == {"east": (name, False)}
    assert "autoCreatedNamespace" not in await shown(one, number)
    route = f"/api/v1/workspaces/{number}/set-resource-quota"
    refused = await one.ask("POST", route, {"clusterQuotaPairs": {"east": 3}}, status=400)
    assert "was not made by this master" in refused["error"]["error"]
    await one.ask("DELETE", f"/api/v1/workspaces/{number}")
    assert await one.world.services[WorkspaceNamespaces].sweep() == 0
    assert name in one.east.namespaces


async def test_a_namespace_that_others_use_outlives_the_workspace_it_was_made_for(
    both: Clusters,
) -> None:
    sweep = both.world.services[WorkspaceNamespaces].sweep
    first, second = [await workspace(both.admin, name) for name in ("Vision", "Speech")]
    made = await both.ask("POST", path(first), meta("east", autoCreateNamespace=True))
    name = made["namespaceBindings"]["east"]["namespace"]
    await both.ask("POST", path(second), meta("east", namespace=name))
    await both.ask("DELETE", f"/api/v1/workspaces/{first}")
    assert await sweep() == 0
    assert name in both.east.namespaces
    await both.ask("DELETE", f"{path(second)}?clusterNames=east")
    assert await sweep() == 1
    assert name not in both.east.namespaces


async def test_a_new_workspace_shows_the_namespace_made_with_it(both: Clusters) -> None:
    body = {"name": "Vision", **meta("west", autoCreateNamespace=True)}
    made = await both.ask("POST", "/api/v1/workspaces", body)
    name = made["namespaceBindings"]["west"]["namespace"]
    assert made["workspace"]["autoCreatedNamespace"] == name
    number = made["workspace"]["id"]
    listed = (await both.ask("GET", "/api/v1/workspaces"))["workspaces"]
    assert {w["id"]: w.get("autoCreatedNamespace") for w in listed} == {1: None, number: name}
    patched = await both.ask(
        "PATCH", f"/api/v1/workspaces/{number}", meta("east", autoCreateNamespace=True)
    )
    east = patched["namespaceBindings"]["east"]["namespace"]
    assert patched["workspace"]["autoCreatedNamespace"] == east != name


async def shown(clusters: Clusters, number: int) -> dict[str, Any]:
    found: dict[str, Any] = (await clusters.ask("GET", f"/api/v1/workspaces/{number}"))[
        "workspace"
    ]
    return found


async def test_the_only_cluster_needs_no_name(one: Clusters) -> None:
    number = await workspace(one.admin, "Vision")
    made = await one.ask("POST", path(number), meta(autoCreateNamespace=True))
    assert list(made["namespaceBindings"]) == ["east"]
    await one.ask("DELETE", f"{path(number)}?clusterNames=")
    assert await bindings(one, number) == {"east": ("det", False)}


REFUSED = {
    "no cluster of several": (meta(namespace="default"), 400, "name a cluster (clusterName)"),
    "an unknown cluster": (meta("north", namespace="x"), 404, "cluster name 'north': there are"),
    "agents": (meta("default", namespace="x"), 404, "cluster name 'default'"),
    "both": (meta("east", namespace="a", autoCreateNamespace=True), 400, "give either namespace"),
    "nothing": (meta("east"), 400, "names no namespace"),
    "one and all": (
        meta("east", autoCreateNamespaceAllClusters=True),
        400,
        "autoCreateNamespaceAllClusters is for all clusters, and 'east' is named",
    ),
    "not there": (meta("east", namespace="nope"), 404, "namespace 'nope' does not exist in clust"),
    "a bad quota": (
        meta("east", autoCreateNamespace=True, resourceQuota=-1),
        400,
        "must be at least 0 GPUs, but found -1",
    ),
}


@covers("helm-and-kubernetes 16.errors 16.existing")
@pytest.mark.slow
async def test_an_impossible_binding_is_reported_and_changes_nothing(both: Clusters) -> None:
    number = await workspace(both.admin, "Vision")
    for name, (body, status, text) in REFUSED.items():
        answer = await both.ask("POST", path(number), body, status=status)
        assert text in answer["error"]["error"], name
        new = {"name": f"new {name}", **body}
        answer = await both.ask("POST", "/api/v1/workspaces", new, status=status)
        assert text in answer["error"]["error"], name
    found = (await both.ask("GET", "/api/v1/workspaces"))["workspaces"]
    assert [w["name"] for w in found] == ["Uncategorized", "Vision"]
    assert await bindings(both, number) == {"east": ("det", False), "west": ("default", False)}
    both.east.is_broken = True
    body = {"name": "broken", **meta("east", autoCreateNamespace=True)}
    await both.ask("POST", "/api/v1/workspaces", body, status=503)
    found = (await both.ask("GET", "/api/v1/workspaces"))["workspaces"]
    assert [w["name"] for w in found] == ["Uncategorized", "Vision"]
    for method, route in (("POST", path(number)), ("DELETE", path(number))):
        answer = await both.user(method, route, meta("west", autoCreateNamespace=True))
        assert answer.status == 403, answer.body


@covers("helm-and-kubernetes 16.quota")
async def test_a_quota_bounds_a_namespace_that_was_made(one: Clusters) -> None:
    body = {
        "name": "Vision",
        **meta(autoCreateNamespace=True),
        "clusterQuotaPairs": {"": 8},
    }
    made = await one.ask("POST", "/api/v1/workspaces", body)
    number, name = made["workspace"]["id"], made["namespaceBindings"]["east"]["namespace"]
    quotas = f"/api/v1/workspaces/{number}/get-k8s-resource-quotas"
    assert await one.ask("GET", quotas) == {"resourceQuotas": {"east": 8.0}}
    one.east.namespaces[name]["lower"] = 4
    assert await one.ask("GET", quotas) == {"resourceQuotas": {"east": 4.0}}
    route = f"/api/v1/workspaces/{number}/set-resource-quota"
    refused = await one.ask("POST", route, {"clusterQuotaPairs": {"east": 6}}, status=400)
    assert "quota 'lower'" in refused["error"]["error"]
    await one.ask("POST", route, {"clusterQuotaPairs": {"east": 3}})
    assert await one.ask("GET", quotas) == {"resourceQuotas": {"east": 3.0}}
    refused = await one.ask(
        "POST", "/api/v1/workspaces/1/set-resource-quota", {"clusterQuotaPairs": {"": 1}}, 400
    )
    assert "was not made by this master" in refused["error"]["error"]


@covers("helm-and-kubernetes 16.defaults")
async def test_workspaces_in_default_namespaces_are_listed_and_get_their_own(
    both: Clusters,
) -> None:
    number = await workspace(both.admin, "Vision")
    await both.ask("POST", path(1), meta("east", autoCreateNamespace=True))
    route = "/api/v1/namespace-bindings/workspace-ids-with-default-bindings"
    assert (await both.ask("GET", route))["workspaceIds"] == [1, number]
    body = {"workspaceIds": [1]}
    await both.ask("POST", "/api/v1/namespace-bindings/bulk-auto-create", body)
    assert (await both.ask("GET", route))["workspaceIds"] == [number]
    managers = await both.ask("GET", "/api/v1/k8s-resource-managers")
    assert managers == {"resourceManagers": ["east", "west"]}


async def test_without_kubernetes_there_are_no_namespaces(admin: Client) -> None:
    for method, route, body in (
        ("GET", "/api/v1/workspaces/1/list-namespace-bindings", None),
        ("POST", path(1), meta(namespace="x")),
        ("DELETE", path(1), None),
        ("POST", "/api/v1/workspaces", {"name": "x", **meta(namespace="x")}),
    ):
        answer = await admin(method, route, body)
        assert answer.status == 501, answer.body
        assert "this master has no Kubernetes resource manager" in answer.json()["error"]["error"]
    managers = await admin("GET", "/api/v1/k8s-resource-managers")
    assert managers.json() == {"resourceManagers": []}
    route = "/api/v1/namespace-bindings/workspace-ids-with-default-bindings"
    assert (await admin("GET", route)).json() == {"workspaceIds": [1]}


@covers("helm-and-kubernetes 5.pool_type 18.merged")
async def test_pools_are_listed_over_all_managers(both: Clusters) -> None:
    found = (await both.ask("GET", "/api/v1/resource-pools"))["resourcePools"]
    pools = {pool["name"]: pool for pool in found}
    assert list(pools) == ["default", "gpus", "cpus"]
    assert {name: pool["clusterName"] for name, pool in pools.items()} == {
        "default": "default",
        "gpus": "east",
        "cpus": "west",
    }
    gpus = pools["gpus"]
    assert gpus["type"] == "RESOURCE_POOL_TYPE_K8S"
    assert gpus["schedulerType"] == "SCHEDULER_TYPE_KUBERNETES"
    assert gpus["resourceManagerMetadata"] == {"zone": "b"}
    assert (gpus["numAgents"], gpus["slotsAvailable"]) == (1, 4)
    assert gpus["details"]["priorityScheduler"]["defaultPriority"] == 50
    assert pools["default"]["defaultComputePool"]
    shown = (await both.ask("GET", "/api/v1/master/config"))["config"]
    more = shown["additional_resource_managers"]
    assert [m["resource_manager"]["cluster_name"] for m in more] == ["east", "west"]
    assert more[0]["resource_manager"]["type"] == "kubernetes"


@covers("scheduling-and-provisioning a.2.kubernetes")
async def test_in_the_queue_of_a_kubernetes_pool_the_larger_priority_is_ahead(
    one: Clusters,
) -> None:
    world = one.world
    usual = await submit(world, resource_pool="gpus")
    small = await submit(world, resource_pool="gpus", priority=10)
    large = await submit(world, resource_pool="gpus", priority=90)
    assert await order(world, GPUS) == [large.id, usual.id, small.id]
    jobs = (await one.ask("GET", f"{QUEUES}?{GPUS}"))["jobs"]
    assert [(j["priority"], j["summary"]["jobsAhead"]) for j in jobs] == [
        (90, 0),
        (50, 1),
        (10, 2),
    ]
    shown = [world.services[JobQueue].summary(job.id) for job in (small, large)]
    assert [s.jobs_ahead for s in shown if s is not None] == [2, 0]
    moved = await update(world, {"jobId": small.id, "aheadOf": usual.id})
    assert moved.status == 200, moved.body
    assert await order(world, GPUS) == [large.id, small.id, usual.id]
    config = {"constraints": {"priority_limit": 60}}
    await one.ask(
        "PUT",
        "/api/v1/config-policies/global/EXPERIMENT",
        {"configPolicies": json.dumps(config)},
    )
    refused = await update(world, {"jobId": usual.id, "priority": 61})
    assert refused.status == 400, refused.body
    assert "the higher the number, the more urgent" in refused.json()["error"]["error"]
    assert (await update(world, {"jobId": usual.id, "priority": 59})).status == 200


@covers("helm-and-kubernetes 16.resolution 7.namespace 7.description")
async def test_pods_go_to_the_namespace_of_their_workspace(one: Clusters) -> None:
    world = one.world
    one.east.namespaces["team"] = {}
    job = await submit(world, resource_pool="gpus")
    await one.ask("POST", path(1), meta(namespace="team"))
    placed = alloc.Placed(container_id="c", agent_id="node", slot_ids=(0,))
    await world.engine.post(
        ALLOCATION,
        job.allocation_id,
        alloc.Assigned(containers=(placed,), at=clock.now()),
        cause="test:assigned",
    )

    async def is_ordered() -> bool:
        return bool(one.east.orders)

    await scene.until_true(is_ordered, bool, [])
    [start] = one.east.orders
    assert start.pod is not None
    assert (start.pod.namespace, start.pod.pool) == ("team", "gpus")
    trial = start.pod.trial_id
    assert start.spec.description == f"exp-{job.entity_id}-trial-{trial}-attempt-1"
    assert one.agents.orders == []

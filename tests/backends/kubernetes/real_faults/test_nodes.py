"""Nodes of a real cluster that die or are drained. They are hollow: their pods run nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.real_faults.conftest import world_at
from tests.contracts.kubernetes_contract import World
from tests.e2e.hollow_node import hollow_node
from tests.e2e.pods import HOLLOW
from tests.real_kubernetes.control_plane import ControlPlane

from determined_master.backends.kubernetes.client import Json, KubernetesRefused
from determined_master.ports.orders import StartOrder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("nodes of a real cluster")]
AT_ONCE = {"gracePeriodSeconds": "0"}


@pytest.fixture
def cluster(plane: ControlPlane) -> ControlPlane:
    plane.run_scheduler()
    return plane


@pytest.fixture
async def world(cluster: ControlPlane, master: int) -> AsyncIterator[World]:
    async with world_at(str(cluster.server.kubeconfig), master) as made:
        made.backend = made.new_backend(node_wait_s=1.0)
        yield made
        # Hollow kubelets keep deleted pods for a minute, and dead ones for ever.
        for pod in await made.list("pods"):
            with contextlib.suppress(KubernetesRefused):
                await made.api.call("DELETE", path_of(pod), query=AT_ONCE)


def path_of(pod: Json) -> str:
    meta = pod["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"


@pytest.fixture
def hollow(cluster: ControlPlane, tmp_path: Path) -> Iterator[contextlib.ExitStack]:
    """Ends the node `first` when it is closed; `second` lives longer."""
    with contextlib.ExitStack() as second, contextlib.ExitStack() as first:
        for stack, name in ((second, "second"), (first, "first")):
            kubeconfig = str(cluster.server.kubeconfig)
            stack.enter_context(hollow_node(HOLLOW, name, kubeconfig, tmp_path))
        yield first


async def running_on(world: World, *nodes: str) -> list[StartOrder]:
    """A container on each node, as far as the cluster says that it runs."""
    await world.open()

    def are_ready() -> bool:
        return {a.id for a in world.backend.agents() if a.is_connected} >= set(nodes)

    await world.until(are_ready, "the nodes")
    made = [order_on(world, node) for node in nodes]
    for one in made:
        await world.backend.start_container(one)
    for one in made:
        await world.state(one.container_id, "RUNNING")
    return made


def order_on(world: World, node: str) -> StartOrder:
    return replace(world.order("true"), agent_id=node)


async def test_a_real_node_that_dies_is_lost_and_its_pods_keep_their_slots(
    world: World, hollow: contextlib.ExitStack
) -> None:
    first, second = await running_on(world, "first", "second")
    hollow.close()
    await world.until(lambda: world.events.lost == ["first"], "a lost node")

    async def is_asked_to_end() -> bool:
        return any(
            "deletionTimestamp" in pod["metadata"] and pod["spec"]["nodeName"] == "first"
            for pod in await world.list("pods")
        )

    async with asyncio.timeout(world.limit_s):
        while not await is_asked_to_end():  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    slots = {a.id: a.foreign_slots for a in world.backend.agents()}
    assert set(first.slot_ids) <= slots["first"]
    assert world.events.state(second.container_id) == "RUNNING"
    await world.api.call("DELETE", "/api/v1/nodes/first")
    await world.until(lambda: [a.id for a in world.backend.agents()] == ["second"], "one node")


async def test_a_taint_for_new_pods_ends_nothing_and_is_no_lost_node(
    world: World, cluster: ControlPlane, hollow: contextlib.ExitStack
) -> None:
    first, second = await running_on(world, "first", "second")

    async def taint(mark: str) -> None:
        kubeconfig = f"--kubeconfig={cluster.server.kubeconfig}"
        program = await asyncio.create_subprocess_exec(
            "kubectl", kubeconfig, "taint", "node", "first", mark
        )
        assert await program.wait() == 0

    await taint("k=v:NoSchedule")
    await world.until(lambda: {a.id: a for a in world.backend.agents()}["first"].is_draining, "it")
    late = order_on(world, "first")
    await world.backend.start_container(late)
    failure = world.events.reports[late.container_id].failure
    assert failure is not None
    assert "got taints" in failure.message
    for _ in range(2):  # each takes longer than a node may be away here
        other = order_on(world, "second")
        await world.backend.start_container(other)
        await world.state(other.container_id, "RUNNING")
    assert (world.events.lost, dict(world.events.evicted)) == ([], {})
    states = [world.events.state(one.container_id) for one in (first, second)]
    assert states == ["RUNNING", "RUNNING"]
    await taint("k-")
    await world.until(
        lambda: not {a.id: a for a in world.backend.agents()}["first"].is_draining, "its return"
    )


async def test_a_drain_by_kubectl_ends_the_pods_of_that_node_alone(
    world: World, cluster: ControlPlane, hollow: contextlib.ExitStack
) -> None:
    first, second = await running_on(world, "first", "second")
    words = ("--force", "--ignore-daemonsets", "--delete-emptydir-data", "--grace-period=1")
    kubeconfig = f"--kubeconfig={cluster.server.kubeconfig}"
    drain = await asyncio.create_subprocess_exec(
        *("kubectl", kubeconfig, "drain", "first", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        await world.until(lambda: first.container_id in world.events.evicted, "an eviction")
        await world.state(first.container_id, "TERMINATED")
        said, _ = await drain.communicate()
    finally:
        if drain.returncode is None:
            drain.kill()
            await drain.wait()
    assert drain.returncode == 0, said
    assert b"node/first drained" in said
    assert "is evicted or deleted" in world.events.evicted[first.container_id]
    nodes = {a.id: a for a in world.backend.agents()}
    assert (nodes["first"].is_draining, nodes["second"].is_draining) == (True, False)
    assert world.events.state(second.container_id) == "RUNNING"
    assert (set(world.events.evicted), world.events.lost) == ({first.container_id}, [])

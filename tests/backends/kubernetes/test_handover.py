"""Pods that kueue, or a scheduler for gangs, places; in memory.

Kueue needs Kubernetes 1.27 for the gates of pods, so that the real cluster of the tests (1.20) has
neither.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import KUBECONFIG, built, cluster_options, options
from tests.backends.kubernetes.test_backend import ADDRESS, IMAGE
from tests.contracts.kubernetes_contract import World
from tests.fake_kubernetes.kubelet import IMAGES_THAT_ARE_NOT_THERE, FakeKubelet
from tests.fake_kubernetes.kueue import FakeKueue
from tests.fake_kubernetes.server import FakeServer

from determined_master.backends.kubernetes import cluster_watcher
from determined_master.backends.kubernetes.backend import KubernetesBackend
from determined_master.backends.kubernetes.manifest.handover import group_name
from determined_master.backends.kubernetes.options import Handover, PoolPods, Times
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import PodTerms, StartOrder
from determined_wire.backoff import Backoff

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]
QUEUE = "queue:default"
KUEUE = Handover(kind="kueue", queue_name="lab")
COSCHEDULER = Handover(kind="coscheduler")
Json = dict[str, Any]


@pytest.fixture
async def fake(tmp_path: Path) -> AsyncIterator[FakeKubelet]:
    server = FakeServer()
    await server.start()
    kubelet = FakeKubelet(server, tmp_path / "pods")
    await kubelet.add_node("node-a")
    await kubelet.add_node("node-b")
    server.kubeconfig(tmp_path / "kubeconfig")
    yield kubelet
    await kubelet.stop()
    await server.stop()


@pytest.fixture
async def kueue(fake: FakeKubelet) -> AsyncIterator[FakeKueue]:
    made = FakeKueue(fake.server, cpu=2)
    yield made
    await made.stop()


@pytest.fixture(params=[KUEUE])
async def world(
    request: pytest.FixtureRequest,
    fake: FakeKubelet,
    master: int,
    tmp_path: Path,
    monkeypatch: Any,
) -> AsyncIterator[World]:
    monkeypatch.setattr(cluster_watcher, "REFRESH_S", 0.2)
    given = cluster_options(str(tmp_path / "kubeconfig"), "127.0.0.1", master)
    pools = (PoolPods(name="default", handover=request.param), PoolPods(name="nodes"))
    scheduler = "coscheduler" if request.param == COSCHEDULER else ""
    given = replace(given, pools=pools, cpu_per_slot=1.0, default_scheduler=scheduler)
    made = World(given, "any", 60.0, IMAGES_THAT_ARE_NOT_THERE)
    await made.open()
    yield made
    await made.close()


def gang(world: World, script: str, pods: int = 1, allocation: str = "7.x.1") -> list[StartOrder]:
    """The orders of one allocation, each with a slot."""
    terms = PodTerms(pool="default", pods=pods, trial_id="3")
    return [
        replace(
            world.order(script, allocation_id=allocation, pod=replace(terms, rank=rank)),
            agent_id=QUEUE,
        )
        for rank in range(pods)
    ]


async def start(world: World, orders: list[StartOrder]) -> list[str]:
    """The containers that were ordered."""
    for one in orders:
        await world.backend.start_container(one)
    return [one.container_id for one in orders]


def with_bounds(world: World) -> KubernetesBackend:
    """A master that withdraws planned pods almost at once."""
    times = Times(backoff=Backoff(0.2, 1.0), flush_s=0.05, unplaced_s=0.1, unschedulable_s=0.1)
    return KubernetesBackend(world.options, world.events, times=times)


async def test_a_gang_waits_for_kueue_and_runs_on_nodes_that_the_cluster_chooses(
    world: World, fake: FakeKubelet, kueue: FakeKueue
) -> None:
    first, second = await start(world, gang(world, "echo $DET_AGENT_ID; exit 3", pods=2))
    for container in (first, second):
        await world.state(container, "TERMINATED")
        assert world.events.reports[container].exit_code == 3
    assert {*world.events.text(first), *world.events.text(second)} <= {"node-a", "node-b"}
    pods = fake.server.store.list("pods", None, {})
    assert len({p["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] for p in pods}) == 1
    for pod in pods:
        notes, labels = pod["metadata"]["annotations"], pod["metadata"]["labels"]
        assert labels["kueue.x-k8s.io/queue-name"] == "lab"
        assert notes["kueue.x-k8s.io/pod-group-total-count"] == "2"
        assert "affinity" not in pod["spec"]
    assert world.events.lost == []


def test_a_user_chooses_no_queue_and_no_priority_of_kueue() -> None:
    chosen = {
        f"kueue.x-k8s.io/{key}": "mine" for key in ("queue-name", "priority-class", "managed")
    }
    wanted = {"metadata": {"labels": {**chosen, "team": "a"}, "annotations": chosen}}
    pools = (PoolPods(name="default", handover=KUEUE),)
    made = built(1, replace(options(), pools=pools), agent_id=QUEUE, pod=PodTerms(pod_spec=wanted))
    labels, notes = made.pod["metadata"]["labels"], made.pod["metadata"]["annotations"]
    assert (labels["team"], labels["kueue.x-k8s.io/queue-name"]) == ("a", "lab")
    assert "mine" not in (*labels.values(), *notes.values())


async def test_a_gang_without_quota_waits_as_long_as_it_takes_and_the_reason_is_kueues(
    world: World, kueue: FakeKueue
) -> None:
    await world.backend.close()
    world.backend = with_bounds(world)
    await world.open()
    await kueue.set_quota(1)
    containers = await start(world, gang(world, "exit 3", pods=2))
    said = "insufficient unused quota for cpu: 2 of 1 are needed"
    await world.until(lambda: said in world.backend.waits_for("7.x.1"), "the reason")
    assert world.backend.waits_for("7.x.1").startswith("waits in kueue's LocalQueue 'lab': ")
    await world.restart()
    await world.until(lambda: said in world.backend.waits_for("7.x.1"), "the reason again")
    assert {world.events.state(c) for c in containers} <= {"", "ASSIGNED"}
    await kueue.set_quota(2)
    for container in containers:
        await world.state(container, "TERMINATED")
        assert world.events.reports[container].exit_code == 3
    assert world.backend.waits_for("7.x.1") == ""


async def test_an_evicted_gang_may_save_its_work_and_is_lost_without_a_fault_of_its_own(
    world: World, kueue: FakeKueue, fake: FakeKubelet
) -> None:
    containers = await start(world, gang(world, "echo up; exec sleep 600", pods=2))
    for container in containers:
        await world.until(lambda c=container: world.events.text(c), "its output")
    group = group_name(world.options.cluster_id, "7.x.1")
    await kueue.evict("default", group, "preempted to make room for another workload")
    for container in containers:
        await world.until(lambda c=container: c in world.events.evicted, "the eviction")
        await world.state(container, "TERMINATED")
        failure = world.events.reports[container].failure
        assert failure is not None
        assert failure.type == "agent_failed"
        await world.backend.forget_container(QUEUE, container)
    await world.is_clean()


async def test_a_gang_that_is_cancelled_while_it_waits_leaves_nothing(
    world: World, kueue: FakeKueue
) -> None:
    await kueue.set_quota(0)
    containers = await start(world, gang(world, "true", pods=2))
    await world.until(lambda: "insufficient" in world.backend.waits_for("7.x.1"), "the reason")
    for container in containers:
        await world.backend.signal_container(QUEUE, container, 9, "7.x.1")
        await world.state(container, "TERMINATED")
        await world.backend.forget_container(QUEUE, container)
    await world.is_clean()


async def test_a_pod_that_kueue_does_not_manage_is_refused(world: World) -> None:
    [container] = await start(world, gang(world, "true"))
    failure = world.events.reports[container].failure
    assert failure is not None
    assert "kueue does not manage pods of namespace default" in failure.message
    await world.is_clean()


async def test_other_pools_are_planned_around_pods_of_the_queue(
    world: World, kueue: FakeKueue
) -> None:
    [container] = await start(world, gang(world, "exec sleep 600"))
    await world.state(container, "RUNNING")

    def used() -> int:
        return sum(len(a.foreign_slots) for a in world.backend.agents())

    await world.until(lambda: used() == 1, "the slot in use")
    await world.restart()
    await world.until(lambda: used() == 1, "the slot in use")
    await world.backend.signal_container(QUEUE, container, 9, "7.x.1")
    await world.until(lambda: used() == 0, "the free slot")
    await world.backend.forget_container(QUEUE, container)
    await world.is_clean()


async def test_a_pod_of_the_queue_is_lost_with_its_node(
    world: World, kueue: FakeKueue, fake: FakeKubelet
) -> None:
    await world.backend.close()
    world.backend = world.new_backend(node_wait_s=1.0)
    await world.open()
    [container] = await start(world, gang(world, "echo $DET_AGENT_ID; exec sleep 600"))
    await world.until(lambda: world.events.text(container), "its output")
    [node] = world.events.text(container)
    await fake.partition(node)
    await world.state(container, "TERMINATED")
    failure = world.events.reports[container].failure
    assert failure is not None
    assert (failure.type, f"node {node} was lost" in failure.message) == ("agent_failed", True)
    await world.backend.forget_container(QUEUE, container)
    await fake.heal(node)
    await world.is_clean()


@pytest.mark.parametrize("world", [COSCHEDULER], indirect=True)
async def test_a_gang_of_the_coscheduler_has_a_group_and_its_reason_is_the_schedulers(
    world: World, fake: FakeKubelet
) -> None:
    await world.backend.close()
    world.backend = with_bounds(world)
    await world.open()
    for name in ("node-a", "node-b"):
        await fake.taint(name, {"key": "k", "effect": "NoSchedule"})
    containers = await start(world, gang(world, "exit 3", pods=2))
    said = "waits for Kubernetes' scheduler 'coscheduler': 0 nodes are available"
    await world.until(lambda: world.backend.waits_for("7.x.1").startswith(said), "the reason")
    [group] = fake.server.store.list("podgroups", None, {})
    assert group["spec"] == {"minMember": 2}
    for pod in fake.server.store.list("pods", None, {}):
        labels = pod["metadata"]["labels"]
        assert labels["scheduling.x-k8s.io/pod-group"] == group["metadata"]["name"]
        assert labels["pod-group.scheduling.sigs.k8s.io/min-available"] == "2"
        assert pod["spec"]["schedulerName"] == "coscheduler"
    for name in ("node-a", "node-b"):
        await fake.taint(name)
    for container in containers:
        await world.state(container, "TERMINATED")
        assert world.events.reports[container].exit_code == 3


@pytest.mark.parametrize("world", [COSCHEDULER], indirect=True)
async def test_a_group_that_could_not_be_made_is_made_with_the_next_order(
    world: World, fake: FakeKubelet
) -> None:
    [order] = gang(world, "exit 3")
    fake.server.refusals["POST", "podgroups"] = (503, "ServiceUnavailable", "not now")
    with pytest.raises(NotConnected):
        await world.backend.start_container(order)
    assert fake.server.store.list("podgroups", None, {}) == []
    fake.server.refusals.clear()
    await world.backend.start_container(order)
    [group] = fake.server.store.list("podgroups", None, {})
    [pod] = fake.server.store.list("pods", None, {})
    assert group["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    await world.state(order.container_id, "TERMINATED")


@pytest.mark.parametrize("world", [COSCHEDULER], indirect=True)
async def test_a_cluster_without_pod_groups_has_the_labels(
    world: World, fake: FakeKubelet, caplog: pytest.LogCaptureFixture
) -> None:
    fake.server.refusals["POST", "podgroups"] = (404, "NotFound", "404 page not found")
    for container in await start(world, gang(world, "exit 3", pods=2)):
        await world.state(container, "TERMINATED")
        assert world.events.reports[container].exit_code == 3
    assert caplog.text.count("PodGroups are not created, and labels stand for them") == 1


@pytest.fixture(
    params=[
        "in memory",
        pytest.param(
            "real",
            marks=pytest.mark.skipif(
                not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster"
            ),
        ),
    ]
)
async def without_scheduler(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[World]:
    """A cluster on which nothing places the pods of coscheduler."""
    async with contextlib.AsyncExitStack() as stack:
        config, address, limit_s = KUBECONFIG, ADDRESS, 240.0
        if request.param == "in memory":
            kubelet = await stack.enter_async_context(tainted(tmp_path))
            config = str(kubelet.server.kubeconfig(tmp_path / "kubeconfig"))
            address, limit_s = "127.0.0.1", 60.0
        given = cluster_options(config, address, 1)
        pools = (PoolPods(name="default", handover=COSCHEDULER),)
        given = replace(given, pools=pools, default_scheduler="coscheduler")
        made = World(given, IMAGE, limit_s, IMAGES_THAT_ARE_NOT_THERE)
        await made.open()
        yield made
        await made.close()


@contextlib.asynccontextmanager
async def tainted(root: Path) -> AsyncIterator[FakeKubelet]:
    """A node on which no pod fits."""
    server = FakeServer()
    await server.start()
    kubelet = FakeKubelet(server, root / "pods")
    await kubelet.add_node("node-a", cpu=0)
    yield kubelet
    await kubelet.stop()
    await server.stop()


async def test_a_gang_that_no_scheduler_takes_waits_for_it_until_it_is_cancelled(
    without_scheduler: World,
) -> None:
    world = without_scheduler
    await world.backend.close()
    world.backend = with_bounds(world)
    await world.open()
    containers = await start(world, gang(world, "true", pods=2))
    said = "waits for Kubernetes' scheduler 'coscheduler'"
    await world.until(lambda: world.backend.waits_for("7.x.1").startswith(said), "the reason")
    await world.restart()
    await world.until(lambda: world.backend.waits_for("7.x.1").startswith(said), "the reason")
    assert {world.events.state(container) for container in containers} <= {"", "ASSIGNED"}
    for pod in await world.list("pods"):
        assert pod["spec"]["schedulerName"] == "coscheduler"
        assert "nodeName" not in pod["spec"]
    for container in containers:
        await world.backend.signal_container(QUEUE, container, 9, "7.x.1")
        await world.state(container, "TERMINATED")
        await world.backend.forget_container(QUEUE, container)
    await world.is_clean()

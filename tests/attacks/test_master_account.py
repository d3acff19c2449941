"""Finding 8a: the master's account on Kubernetes reads and deletes the Secrets of others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.backends.kubernetes.conftest import master as master
from tests.backends.kubernetes.objects import cluster_options
from tests.contracts.kubernetes_contract import World
from tests.covers import covers
from tests.fake_kubernetes.kubelet import IMAGES_THAT_ARE_NOT_THERE, FakeKubelet
from tests.fake_kubernetes.server import FakeServer
from tests.fake_kubernetes.store import Json

from determined_master.backends.kubernetes import names
from determined_master.ports.agents import NotConnected

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]
FORBIDDEN = (
    403,
    "Forbidden",
    'secrets is forbidden: User "det" cannot create resource "secrets" in API group ""',
)


@pytest.fixture
async def fake(tmp_path: Path) -> AsyncIterator[FakeKubelet]:
    """A cluster whose account for the master has no right to Secrets but to create them."""
    server = FakeServer()
    await server.start()
    kubelet = FakeKubelet(server, tmp_path / "pods")
    await kubelet.add_node("node-a")
    server.kubeconfig(tmp_path / "kubeconfig")
    for method in ("GET", "PATCH", "DELETE"):
        server.refusals[method, "secrets"] = FORBIDDEN
    yield kubelet
    await kubelet.stop()
    await server.stop()


@pytest.fixture
async def world(fake: FakeKubelet, master: int, tmp_path: Path) -> AsyncIterator[World]:
    given = cluster_options(str(tmp_path / "kubeconfig"), "127.0.0.1", master)
    made = World(given, "any", 60.0, IMAGES_THAT_ARE_NOT_THERE)
    await made.open()
    yield made
    await made.backend.close()
    await made.api.close()


def secrets(fake: FakeKubelet) -> list[Json]:
    return [item for (kind, _, _), item in fake.server.store.objects.items() if kind == "secrets"]


@covers("helm-and-kubernetes 14.order")
async def test_a_task_runs_and_leaves_nothing_though_the_master_may_only_create_secrets(
    world: World, fake: FakeKubelet
) -> None:
    made = world.order("echo one")
    await world.backend.start_container(made)
    [secret] = secrets(fake)
    pod = world.backend.pod_of(made.container_id)
    assert pod is not None
    [owner] = secret["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Pod", pod.name, pod.uid)
    await world.state(made.container_id, "TERMINATED")
    assert world.events.text(made.container_id) == ["one"]
    await world.backend.forget_container(made.agent_id, made.container_id)
    await world.until(lambda: not secrets(fake), "an owner that is gone")
    asked = {method for method, path in fake.server.calls if "/secrets" in path}
    assert asked == {"POST"}


async def test_a_secret_of_another_is_no_leftover_of_the_master(
    world: World, fake: FakeKubelet
) -> None:
    """Labels are no proof: everybody in a namespace can set them."""
    labels = {names.CLUSTER: world.options.cluster_id, names.CONTAINER_ID: "gone"}
    theirs = {"name": "theirs", "namespace": "default", "labels": labels}
    old = {**theirs, "creationTimestamp": "2020-01-01T00:00:00Z"}
    await fake.server.store.put("secrets", {"metadata": old, "data": {}})
    made = world.order("true")
    await world.backend.start_container(made)
    await world.state(made.container_id, "TERMINATED")
    await world.backend.forget_container(made.agent_id, made.container_id)
    await world.until(lambda: len(secrets(fake)) == 1, "the other one")
    assert not [path for _, path in fake.server.calls if path.endswith("/secrets/theirs")]


async def test_an_order_that_broke_between_pod_and_secret_is_completed(
    world: World, fake: FakeKubelet
) -> None:
    made = world.order("echo one")
    fake.server.refusals["POST", "secrets"] = (503, "ServiceUnavailable", "later")
    with pytest.raises(NotConnected):
        await world.backend.start_container(made)
    assert not secrets(fake)
    await world.until(lambda: world.backend.pod_of(made.container_id), "the pod")
    del fake.server.refusals["POST", "secrets"]
    await world.backend.start_container(made)
    await world.state(made.container_id, "TERMINATED")
    assert world.events.text(made.container_id) == ["one"]


async def test_a_pod_whose_secret_is_refused_fails_with_the_reason(
    world: World, fake: FakeKubelet
) -> None:
    made = world.order("echo one")
    fake.server.refusals["POST", "secrets"] = FORBIDDEN
    await world.backend.start_container(made)
    failure = world.events.reports[made.container_id].failure
    assert failure is not None
    assert "may not create pods and secrets" in failure.message
    await world.until(lambda: world.backend.pod_of(made.container_id) is None, "no pod")

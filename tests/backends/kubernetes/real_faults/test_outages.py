"""An API server that goes away and comes back: one more of the bed's own etcd."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.backends.kubernetes.objects import KUBECONFIG
from tests.backends.kubernetes.real_faults.conftest import world_at
from tests.contracts.kubernetes_contract import World
from tests.real_kubernetes.control_plane import ApiServer, ControlPlane, server_beside

from determined_master import clock
from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused
from determined_master.backends.kubernetes.options import Times
from determined_master.backends.kubernetes.watches import watch
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import PodTerms
from determined_wire.backoff import Backoff

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("outages of a real API server")]
AWAY_S = 4.0
"""Of the outage; nodes may be away for an eighth of that, so a longer one is no other case."""


@pytest.fixture
def server(bed: Path, tmp_path: Path) -> Iterator[ApiServer]:
    with server_beside(bed, tmp_path) as made:
        yield made


@pytest.fixture
async def world(server: ApiServer, master: int) -> AsyncIterator[World]:
    async with world_at(str(server.kubeconfig), master) as made:
        made.backend = made.new_backend(node_wait_s=AWAY_S / 8)
        await made.open()
        yield made


async def phase_of(api: KubernetesApi, world: World) -> str:
    query = {"labelSelector": f"determined.ai/cluster_id={world.options.cluster_id}"}
    [pod] = (await api.call("GET", "/api/v1/pods", query=query))["items"]
    return str(pod["status"]["phase"])


async def test_a_real_api_server_that_is_away_and_back_loses_nothing(
    world: World, server: ApiServer
) -> None:
    made = world.order("echo before; sleep 2; echo during; exit 3")
    late = world.order("echo late")
    await world.backend.start_container(made)
    await world.until(lambda: world.events.text(made.container_id), "its output")
    server.program.stop()
    away_since_s = clock.monotonic_s()
    await world.until(lambda: world.backend.trouble() is not None, "a trouble")
    trouble = world.backend.trouble()
    assert trouble is not None
    assert "the API server of the Kubernetes cluster does not answer since" in trouble.sentence()
    with pytest.raises(NotConnected):
        await world.backend.start_container(late)
    beside = KubernetesApi(KUBECONFIG)
    while await phase_of(beside, world) != "Failed":
        await world.until(lambda: True, "the next look")
    await beside.close()
    await world.until(lambda: clock.monotonic_s() > away_since_s + AWAY_S, "the outage")
    assert world.events.state(made.container_id) == "RUNNING"
    server.start()
    await world.state(made.container_id, "TERMINATED")
    await world.until(lambda: made.container_id in world.events.closed, "the last line")
    assert world.events.reports[made.container_id].exit_code == 3
    assert world.events.text(made.container_id) == ["before", "during"]
    assert (world.events.lost, world.backend.trouble()) == ([], None)
    await world.backend.start_container(late)
    await world.state(late.container_id, "TERMINATED")
    assert world.events.reports[late.container_id].exit_code == 0


async def test_a_pod_that_is_deleted_while_the_real_api_server_is_away_is_lost_then(
    world: World, server: ApiServer
) -> None:
    made = world.order("echo up; exec sleep 600")
    await world.backend.start_container(made)
    await world.until(lambda: world.events.text(made.container_id), "its output")
    pod = world.backend.pod_of(made.container_id)
    assert pod is not None
    server.program.stop()
    beside = KubernetesApi(KUBECONFIG)
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
    await beside.call("DELETE", path, query={"gracePeriodSeconds": "0"})
    await beside.close()
    await world.until(lambda: world.backend.trouble() is not None, "a trouble")
    server.start()
    await world.state(made.container_id, "TERMINATED")
    failure = world.events.reports[made.container_id].failure
    assert failure is not None
    assert (failure.type, pod.name in failure.message) == ("agent_failed", True)


async def test_a_version_that_a_real_api_server_has_forgotten_is_listed_again(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, path = KubernetesApi(str(plane.server.kubeconfig)), "/api/v1/namespaces"
    _, forgotten = await watch.list_all(api, path, {})
    await api.call("POST", path, body={"metadata": {"name": "later"}})
    plane.etcd.compact()
    plane.server.program.stop()  # it keeps changes of the last minutes itself
    plane.server.start()
    with pytest.raises(KubernetesRefused) as refused:
        await anext(watch._watch(api, path, {}, forgotten, Times(watch_s=60)))
    assert refused.value.status == 410
    versions = iter([forgotten])
    list_all = watch.list_all

    async def once_old(*given: object) -> tuple[list[object], str]:
        items, version = await list_all(*given)  # type: ignore[arg-type]
        return items, next(versions, version)

    monkeypatch.setattr(watch, "list_all", once_old)
    seen = watch.follow(api, path, {}, Times(backoff=Backoff(0.1, 15.0)))
    for _ in range(2):
        listed = await anext(seen)
        assert isinstance(listed, watch.ObjectsListed)
        assert "later" in [item["metadata"]["name"] for item in listed.items]
    await seen.aclose()
    await api.close()


@pytest.mark.parametrize("ahead_s", [-3600.0, 3600.0])
async def test_a_clock_apart_from_that_of_a_real_cluster_changes_no_deadline(
    world: World, monkeypatch: pytest.MonkeyPatch, ahead_s: float
) -> None:
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() + clock.timedelta(seconds=ahead_s))
    await world.restart(unschedulable_s=60.0)
    nowhere = {"spec": {"nodeSelector": {"no": "where"}}}
    made = world.order("true", pod=PodTerms(pool="default", pod_spec=nowhere))
    await world.backend.start_container(made)

    def is_refused() -> bool:
        pod = world.backend.pod_of(made.container_id)
        return pod is not None and pod.is_unschedulable

    await world.until(is_refused, "a pod that fits nowhere")
    await world.backend._pods.delete_abandoned()
    assert world.backend._pods.tick() == []
    assert world.events.state(made.container_id) in ("", "ASSIGNED")
    await world.restart(unschedulable_s=0.5)
    await world.state(made.container_id, "TERMINATED")
    failure = world.events.reports[made.container_id].failure
    assert failure is not None
    assert "has not placed its pod" in failure.message

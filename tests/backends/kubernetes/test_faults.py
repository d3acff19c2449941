"""Faults of a cluster: nothing is lost, doubled or hangs, and each is reported once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contracts.kubernetes_contract import World
from tests.contracts.kubernetes_faults_contract import (
    LATER,
    FailingServer,
    FaultsContract,
    failure_of,
    started,
    warnings,
)
from tests.fake_kubernetes import store
from tests.fake_kubernetes.kubelet import FakeKubelet
from tests.fake_kubernetes.store import Json

from determined_master.backends.kubernetes import names
from determined_master.ports.orders import PodTerms, StartOrder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]


class TestFaultsOfAFakeServer(FaultsContract):
    @pytest.fixture
    def server(self, fake: FakeKubelet) -> FailingServer:
        return fake.server


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("etcdserver: mvcc: database space exceeded", "compact and defragment etcd"),
        (
            'Internal error occurred: failed calling webhook "x.example": no endpoints available',
            "let an admin repair that webhook",
        ),
    ],
)
async def test_a_cluster_that_takes_no_pods_is_reported_once_with_the_remedy(
    world: World, fake: FakeKubelet, text: str, remedy: str
) -> None:
    for _ in range(3):
        fake.server.fail_once("POST", "pods", 500, "InternalError", text)
    made = world.order("true")
    assert len(await started(world, made)) == 3
    [note] = warnings(world)
    assert note.startswith("its pod cannot be created yet, and is tried again: ")
    assert text in note
    assert remedy in note
    await world.state(made.container_id, "TERMINATED")
    assert world.events.reports[made.container_id].exit_code == 0


async def test_an_outage_longer_than_a_node_may_be_away_loses_nothing(
    world: World, fake: FakeKubelet
) -> None:
    await world.backend.close()
    world.backend = world.new_backend(node_wait_s=0.5)
    await world.open()
    made = world.order("echo before; sleep 1; echo during; exit 3")
    await world.backend.start_container(made)
    await world.until(lambda: world.events.text(made.container_id), "its output")
    pod = world.backend.pod_of(made.container_id)
    assert pod is not None
    fake.server.broken = True
    fake.server.break_streams()
    tried = len(fake.server.calls)
    await world.until(lambda: pod.uid in fake.server.ended, "its end")
    await world.until(lambda: len(fake.server.calls) > tried + 12, "attempts to connect")
    assert world.events.state(made.container_id) == "RUNNING"
    fake.server.broken = False
    await world.state(made.container_id, "TERMINATED")
    await world.until(lambda: made.container_id in world.events.closed, "the last line")
    assert world.events.reports[made.container_id].exit_code == 3
    assert world.events.text(made.container_id) == ["before", "during"]
    assert world.events.lost == []


async def test_a_kubelet_that_restarts_loses_no_task(world: World, fake: FakeKubelet) -> None:
    made = world.order("sleep 2; exit 5")
    await world.backend.start_container(made)
    await world.state(made.container_id, "RUNNING")
    await fake.set_ready("node-a", False)
    await world.until(lambda: not world.backend.agents()[0].is_connected, "a node that is away")
    [pod] = fake.server.store.list("pods", None, {})
    kept = fake.server.store.find("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
    assert kept is not None
    before = kept["status"]["phase"]
    for phase in ("Unknown", before):
        kept["status"]["phase"] = phase
        await fake.server.store.put("pods", kept)
    await fake.set_ready("node-a", True)
    await world.state(made.container_id, "TERMINATED")
    assert world.events.reports[made.container_id].exit_code == 5
    assert world.events.lost == []


async def test_a_kubelet_that_does_not_know_its_pods_yet_loses_no_output(
    world: World, fake: FakeKubelet
) -> None:
    made = world.order("echo one; sleep 1; echo two; exit 3")
    await world.backend.start_container(made)
    await world.until(lambda: world.events.text(made.container_id), "its output")
    for _ in range(2):
        fake.server.fail_once("GET", "log", 404, "NotFound", 'pod "x" does not exist')
    fake.server.break_streams()
    await world.until(lambda: made.container_id in world.events.closed, "the last line")
    assert world.events.text(made.container_id) == ["one", "two"]
    assert warnings(world) == []


async def test_changes_of_a_webhook_that_leave_the_pods_marks_are_accepted(
    world: World, fake: FakeKubelet
) -> None:
    def mutate(kind: str, item: Json) -> None:
        if kind == "pods":
            item["metadata"]["labels"]["mesh"] = "on"
            item["spec"]["containers"].insert(0, {"name": "proxy", "image": "mesh:1"})
            requests = item["spec"]["containers"][-1]["resources"].setdefault("requests", {})
            requests["memory"] = "1Gi"

    fake.server.mutate = mutate
    made = world.order("exit 4")
    await world.backend.start_container(made)
    await world.state(made.container_id, "TERMINATED")
    assert world.events.reports[made.container_id].exit_code == 4


@pytest.mark.parametrize("label", [names.CONTAINER_ID, names.ALLOCATION_ID, names.CLUSTER])
async def test_a_webhook_that_takes_a_pods_marks_is_named_and_no_pod_is_left(
    world: World, fake: FakeKubelet, label: str
) -> None:
    def mutate(kind: str, item: Json) -> None:
        if kind == "pods":
            del item["metadata"]["labels"][label]

    fake.server.mutate = mutate
    made = world.order("true")
    await world.backend.start_container(made)
    assert world.events.state(made.container_id) == "TERMINATED"
    assert (
        f"a webhook of the cluster has changed the task's pod: its label {label} is missing"
        in (failure_of(world, made))
    )
    assert fake.server.store.list("pods", None, {}) == []


DENIED = {
    "webhook": 'admission webhook "images.lab" denied the request: no image of lab.example',
    "policy": "pods is forbidden: ValidatingAdmissionPolicy 'owners' with binding 'b' denied it",
    "level": 'pods "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot',
}


@pytest.mark.parametrize("name", DENIED)
async def test_a_policy_that_refuses_a_pod_is_named_and_is_no_missing_right(
    world: World, fake: FakeKubelet, name: str
) -> None:
    fake.server.fail_once("POST", "pods", 403, "Forbidden", DENIED[name])
    made = world.order("true")
    await world.backend.start_container(made)
    said = failure_of(world, made)
    assert said.startswith("a policy of the cluster does not admit the task's pod in namespace")
    assert DENIED[name] in said
    assert "rights" not in said
    await world.is_clean()


async def test_a_priority_class_that_another_master_removes_is_made_again(
    world: World, fake: FakeKubelet
) -> None:
    terms = PodTerms(pool="default", priority=61)
    first, second = (world.order("exit 0", pod=terms) for _ in range(2))
    await world.backend.start_container(first)
    await world.state(first.container_id, "TERMINATED")
    await fake.server.store.remove("priorityclasses", "", "determined-priority-61")
    [refused] = await started(world, second)
    assert "no PriorityClass with name determined-priority-61 was found" in refused
    await world.state(second.container_id, "TERMINATED")
    assert world.events.reports[second.container_id].exit_code == 0


async def test_a_namespace_that_goes_ends_its_tasks_and_takes_no_new_ones(
    world: World, fake: FakeKubelet
) -> None:
    await fake.server.store.put("namespaces", {"metadata": {"name": "lab"}})
    terms = PodTerms(pool="default", namespace="lab")
    made, late = (world.order("exec sleep 600", pod=terms) for _ in range(2))
    await world.backend.start_container(made)
    await world.state(made.container_id, "RUNNING")
    await world.api.call("DELETE", "/api/v1/namespaces/lab")
    await world.state(made.container_id, "TERMINATED")
    failure = world.events.reports[made.container_id].failure
    assert failure is not None
    assert (failure.type, "pod lab/det-" in failure.message) == ("agent_failed", True)
    await world.backend.start_container(late)
    assert "the namespace lab " in failure_of(world, late)


async def waits(world: World, made: StartOrder) -> None:
    def is_refused() -> bool:
        pod = world.backend.pod_of(made.container_id)
        return pod is not None and pod.is_unschedulable

    await world.until(is_refused, "a pod that fits nowhere")


@pytest.mark.parametrize("ahead_s", [-3600.0, 3600.0])
async def test_clocks_that_are_apart_change_no_deadline(
    world: World, fake: FakeKubelet, monkeypatch: pytest.MonkeyPatch, ahead_s: float
) -> None:
    monkeypatch.setattr(store, "AHEAD_S", ahead_s)
    await world.restart(unschedulable_s=60.0)
    terms = PodTerms(pool="default", pod_spec={"spec": {"nodeSelector": {"no": "where"}}})
    patient = world.order("true", pod=terms)
    await world.backend.start_container(patient)
    await waits(world, patient)
    ticks = asyncio.Event()
    monkeypatch.setattr(
        world.backend._pods,
        "delete_abandoned",
        _counting(world.backend._pods.delete_abandoned, 2, ticks),
    )
    async with asyncio.timeout(60):
        await ticks.wait()
    assert world.events.state(patient.container_id) in ("", "ASSIGNED")
    await world.restart(unschedulable_s=0.5)
    await world.state(patient.container_id, "TERMINATED")
    assert "has not placed its pod" in failure_of(world, patient)


async def test_an_answer_that_comes_after_a_change_of_its_pod_does_not_hide_it(
    world: World, fake: FakeKubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.restart(unschedulable_s=0.5)
    terms = PodTerms(pool="default", pod_spec={"spec": {"nodeSelector": {"no": "where"}}})
    made = world.order("true", pod=terms)
    call = world.backend._api.call

    async def late(method: str, path: str, **more: Any) -> Json:
        answer = await call(method, path, **more)
        if (method, path.rpartition("/")[2]) == ("POST", "pods"):
            await waits(world, made)
        return answer

    monkeypatch.setattr(world.backend._api, "call", late)
    await world.backend.start_container(made)
    await world.state(made.container_id, "TERMINATED")
    assert "has not placed its pod" in failure_of(world, made)


def _counting(
    work: Callable[[], Awaitable[None]], number: int, reached: asyncio.Event
) -> Callable[[], Awaitable[None]]:
    done = 0

    async def counted() -> None:
        nonlocal done
        await work()
        done += 1
        if done >= number:
            reached.set()

    return counted


async def test_pods_of_a_lost_node_are_ended_though_the_server_fails_then(
    world: World, fake: FakeKubelet
) -> None:
    await world.backend.close()
    world.backend = world.new_backend(node_wait_s=1.0)
    await world.open()
    made = [world.order("exec sleep 600") for _ in range(2)]
    for each in made:
        await world.backend.start_container(each)
        await world.state(each.container_id, "RUNNING")
    for _ in range(3):
        fake.server.fail_once("DELETE", "pods", 503, "ServiceUnavailable", "shutting down")
    await fake.set_ready("node-a", False)
    await world.until(lambda: world.events.lost == ["node-a"], "a lost node")
    await world.is_clean()
    assert fake.server.failures == []
    await fake.set_ready("node-a", True)
    await world.until(lambda: any(a.is_connected for a in world.backend.agents()), "back")


async def test_unwanted_pods_are_removed_though_the_server_fails_then(
    world: World, fake: FakeKubelet
) -> None:
    made: list[Any] = [world.order("exec sleep 600") for _ in range(2)]
    for each in made:
        await world.backend.start_container(each)
        await world.state(each.container_id, "RUNNING")
    world.events.kept.clear()
    for _ in range(3):
        fake.server.fail_once("DELETE", "pods", 429, "TooManyRequests", LATER)
    await world.restart()
    await world.is_clean()

"""The backend on a cluster in memory, and on a real one where DET_TEST_KUBECONFIG names it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import KUBECONFIG, cluster_options
from tests.contracts.kubernetes_contract import KubernetesContract, World
from tests.covers import covers
from tests.fake_kubernetes.kubelet import (
    IMAGES_THAT_ARE_NOT_THERE,
    FakeKubelet,
)

from determined_master import clock
from determined_master.backends.kubernetes import cluster_watcher
from determined_master.backends.kubernetes.priority_classes import PriorityClasses
from determined_master.ports.agents import NotConnected
from determined_wire.agent_link import TaskUser

pytestmark = pytest.mark.slow
ADDRESS = os.environ.get("DET_TEST_KUBERNETES_ADDRESS", "127.0.0.1")
"""Of this machine, as pods of the real cluster reach it."""
IMAGE = os.environ.get("DET_TEST_KUBERNETES_IMAGE", "det-test:local")


@pytest.mark.xdist_group("kubernetes")
class TestOnAFakeCluster(KubernetesContract):
    async def test_output_comes_once_though_streams_break(
        self, world: World, fake: FakeKubelet
    ) -> None:
        made = world.order("for i in 1 2 3 4 5; do echo $i; sleep 0.4; done")
        await world.backend.start_container(made)
        for seen in (1, 3):
            await world.until(lambda n=seen: len(world.events.text(made.container_id)) >= n, "it")
            fake.server.break_streams()
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == list("12345")

    @covers("helm-and-kubernetes 4.health")
    async def test_a_server_that_fails_leaves_orders_to_be_given_again(
        self, world: World, fake: FakeKubelet
    ) -> None:
        made = world.order("echo back")
        fake.server.broken = True
        fake.server.break_streams()
        with pytest.raises(NotConnected):
            await world.backend.start_container(made)
        await world.until(lambda: not any(a.is_connected for a in world.backend.agents()), "away")
        away = world.backend.trouble()
        assert away is not None
        assert "the API server of the Kubernetes cluster does not answer since" in away.sentence()
        assert "the server is broken" not in away.sentence()
        fake.server.broken = False
        await world.until(lambda: any(a.is_connected for a in world.backend.agents()), "back")
        assert world.backend.trouble() is None
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 0

    @covers("helm-and-kubernetes 4.missing_namespace")
    async def test_a_default_namespace_that_is_missing_is_named_until_it_exists(
        self, fake: FakeKubelet, master: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cluster_watcher, "MAINTENANCE_S", 0.1)
        given = cluster_options(str(tmp_path / "kubeconfig"), "127.0.0.1", master)
        given = replace(given, name="lab", default_namespace="research")
        made = World(given, "any", 60.0, IMAGES_THAT_ARE_NOT_THERE)
        await made.open()
        await made.until(lambda: made.backend.trouble() is not None, "a trouble")
        missing = made.backend.trouble()
        assert missing is not None
        assert "namespace 'research' does not exist in Kubernetes cluster 'lab'" in missing.text
        await fake.server.store.put("namespaces", {"metadata": {"name": "research"}})
        await made.until(lambda: made.backend.trouble() is None, "the namespace")
        await made.close()

    @covers("helm-and-kubernetes 11.class")
    async def test_a_priority_class_goes_when_no_pod_has_had_it_for_a_while(
        self, world: World, fake: FakeKubelet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        at = [1000.0]
        monkeypatch.setattr(clock, "monotonic_s", lambda: at[0])
        classes = PriorityClasses(world.api, world.options.cluster_id)
        await fake.server.store.put("priorityclasses", {"metadata": {"name": "of-others"}})
        used, unused = await classes.ensure(40), await classes.ensure(41)
        await classes.remove_unused([])
        at[0] += 599.0
        fresh = await classes.ensure(42)
        at[0] += 2.0
        await classes.remove_unused([used])
        left = {i["metadata"]["name"] for i in fake.server.store.list("priorityclasses", None, {})}
        assert left == {used, fresh, "of-others"}
        assert await classes.ensure(41) == unused  # it is made again
        assert fake.server.store.find("priorityclasses", "", unused) is not None

    async def test_changes_that_the_server_has_forgotten_are_listed_again(
        self, world: World, fake: FakeKubelet
    ) -> None:
        made = world.order("sleep 1; exit 4")
        await world.backend.start_container(made)
        fake.server.store.oldest = 10**9
        fake.server.break_streams()
        await world.until(lambda: fake.server.expired > 0, "a watch that is refused")
        fake.server.store.oldest = 0
        await world.state(made.container_id, "TERMINATED")

    @covers("helm-and-kubernetes 16.full")
    async def test_a_full_quota_makes_the_task_wait_with_a_reason(
        self, world: World, fake: FakeKubelet
    ) -> None:
        made = world.order("true")
        refusal = (403, "Forbidden", "pods x is forbidden: exceeded quota: q")
        fake.server.refusals["POST", "pods"] = refusal
        for _ in range(2):
            with pytest.raises(NotConnected, match="exceeded quota"):
                await world.backend.start_container(made)
        assert [n.text for n in world.events.notes if "quota of its namespace" in n.text] != []
        assert len([n for n in world.events.notes if "quota of its" in n.text]) == 1
        fake.server.refusals.clear()
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")

    async def test_an_account_that_may_not_read_quotas_still_runs_tasks(
        self, world: World, fake: FakeKubelet, caplog: pytest.LogCaptureFixture
    ) -> None:
        few = {
            "metadata": {"name": "few", "namespace": "default"},
            "spec": {"hard": {"pods": "9"}},
        }
        await fake.server.store.put("resourcequotas", few)
        await world.until(lambda: "default" in world.backend.loads().quotas, "the quota")
        for kind in ("resourcequotas", "limitranges"):
            fake.server.refusals["GET", kind] = (403, "Forbidden", f"cannot list {kind}")
        fake.server.break_streams()
        await world.until(lambda: not world.backend.loads().quotas, "no quotas")
        await world.until(lambda: "limitranges are not known" in caplog.text, "a warning")
        await world.until(lambda: any(a.is_connected for a in world.backend.agents()), "nodes")
        made = world.order("exit 3")
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 3
        assert caplog.text.count("limitranges are not known") == 1

    @covers("helm-and-kubernetes 14.refused")
    async def test_errors_name_the_missing_permission_of_the_master(
        self, world: World, fake: FakeKubelet
    ) -> None:
        made = world.order("true")
        text = 'pods is forbidden: User "det" cannot create resource "pods" in API group ""'
        fake.server.refusals["POST", "pods"] = (403, "Forbidden", text)
        await world.backend.start_container(made)
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert "give its account the rights" in failure.message
        fake.server.refusals.clear()
        assert await world.count("secrets") == 0

    @covers("helm-and-kubernetes 20.eviction")
    async def test_a_node_that_stays_away_is_lost_with_its_pods(
        self, world: World, fake: FakeKubelet
    ) -> None:
        await world.backend.close()
        world.backend = world.new_backend(node_wait_s=1.5)
        await world.open()
        made = world.order("exec sleep 600")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        await fake.set_ready("node-a", False)
        await world.until(lambda: world.events.lost == ["node-a"], "a lost node")
        await world.is_clean()
        await fake.set_ready("node-a", True)
        await world.until(lambda: any(a.is_connected for a in world.backend.agents()), "back")

    async def test_no_node_is_lost_while_only_the_pods_of_others_cannot_be_followed(
        self, world: World, fake: FakeKubelet
    ) -> None:
        await world.backend.close()
        world.backend = world.new_backend(node_wait_s=0.5)
        await world.open()
        tried = len(fake.server.calls)
        fake.server.hides_pods_of_others = True
        fake.server.break_streams()
        await world.until(lambda: len(fake.server.calls) > tried + 12, "attempts to follow them")
        await world.until(lambda: any(a.is_connected for a in world.backend.agents()), "nodes")
        made = world.order("exit 3")
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        assert (world.events.lost, world.backend.trouble()) == ([], None)

    async def test_a_pod_of_a_node_that_is_cut_off_keeps_its_slot_until_it_has_ended(
        self, world: World, fake: FakeKubelet
    ) -> None:
        await world.backend.close()
        world.backend = world.new_backend(node_wait_s=1.0)
        await world.open()
        made = world.order("echo up; exec sleep 600")
        await world.backend.start_container(made)
        await world.until(lambda: world.events.text(made.container_id), "its output")
        await fake.partition("node-a")
        await world.until(lambda: world.events.lost == ["node-a"], "a lost node")
        asked = "deletionTimestamp"
        await world.until(
            lambda: asked in fake.server.store.list("pods", None, {})[0]["metadata"], "a request"
        )
        [pod] = fake.server.store.list("pods", None, {})
        assert fake.runs(pod["metadata"]["uid"])
        [node] = world.backend.agents()
        assert set(made.slot_ids) <= node.foreign_slots  # nothing else gets them meanwhile
        await fake.heal("node-a")
        await world.is_clean()
        assert not fake.runs(pod["metadata"]["uid"])
        await world.until(lambda: not world.backend.agents()[0].foreign_slots, "free slots")

    @pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
    async def test_a_taint_ends_nothing_by_itself_and_is_no_lost_node(
        self, world: World, fake: FakeKubelet, effect: str
    ) -> None:
        await world.backend.close()
        world.backend = world.new_backend(node_wait_s=0.5)
        await world.open()
        made, late = world.order("sleep 4; exit 3"), world.order("true")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        await fake.taint("node-a", {"key": "k", "value": "v", "effect": effect})
        await world.until(lambda: all(a.is_draining for a in world.backend.agents()), "a drain")
        await world.backend.start_container(late)
        failure = world.events.reports[late.container_id].failure
        assert failure is not None
        assert (failure.type, "got taints" in failure.message) == ("agent_error", True)
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 3
        await world.until(lambda: not world.backend.agents(), "a node that serves no pool")
        assert world.events.lost == []
        await fake.taint("node-a")
        await world.until(lambda: any(a.is_connected for a in world.backend.agents()), "back")

    async def test_a_tainted_nodes_pods_are_found_by_the_next_master(
        self, world: World, fake: FakeKubelet
    ) -> None:
        made = world.order("sleep 4; exit 3")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        await world.backend.close()
        await fake.taint("node-a", {"key": "k", "value": "v", "effect": "NoSchedule"})
        world.backend = world.new_backend(node_wait_s=0.5)
        world.backend.open({"node-a": "default"}, 2)
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 3
        assert world.events.lost == []

    async def test_a_node_that_is_gone_is_lost_though_nobody_saw_it_go(self, world: World) -> None:
        await world.backend.close()
        world.backend = world.new_backend(node_wait_s=1.0)
        world.backend.open({"node-z": "default"}, 2)
        await world.until(lambda: world.events.lost == ["node-z"], "a lost node")
        assert world.backend.has("node-z")

    @covers("helm-and-kubernetes 11.class")
    async def test_priorities_become_classes_where_these_may_be_made(
        self, world: World, fake: FakeKubelet
    ) -> None:
        from determined_master.ports.orders import PodTerms

        made = world.order("true", pod=PodTerms(pool="default", priority=70))
        await world.backend.start_container(made)
        found = fake.server.store.find("priorityclasses", "", "determined-priority-70")
        assert found is not None
        assert (found["value"], found["preemptionPolicy"]) == (70, "Never")


@pytest.mark.xdist_group("pods of a real cluster")
@pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster")
class TestOnARealCluster(KubernetesContract):
    @pytest.fixture
    async def world(self, master: int) -> AsyncIterator[World]:
        given = cluster_options(KUBECONFIG, ADDRESS, master)
        made = World(given, IMAGE, 240.0, "nowhere.invalid/missing:1")
        await made.open()
        yield made
        await made.close()

    async def test_files_of_root_are_read_by_the_task_and_not_changed(self, world: World) -> None:
        etc = "/run/determined/etc"
        read = f"cat {etc}/passwd; cat {etc}/shadow || echo closed"
        made = world.order(f"{read}; touch {etc}/x || echo refused; stat -c %a /run/determined")
        user = TaskUser("ann", 1234, "lab", 1235)
        made = replace(made, spec=replace(made.spec, user=user))
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        said = [x for x in world.events.text(made.container_id) if "/run/determined/etc/" not in x]
        assert said[0].startswith("ann:x:1234:1235::")
        assert said[1:] == ["closed", "refused", "777"]

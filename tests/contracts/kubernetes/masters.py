"""Masters after each other, and two on one cluster."""

from __future__ import annotations

import pytest
from tests.contracts.kubernetes.world import World
from tests.covers import covers

from determined_master.backends.kubernetes.client import KubernetesApi
from determined_master.backends.kubernetes.log import log_position
from determined_master.domain.errors import DetError


class MasterTests:
    @covers("helm-and-kubernetes 15.found 15.logs")
    async def test_another_master_finds_what_runs_and_doubles_nothing(self, world: World) -> None:
        made = world.order("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done")
        await world.backend.start_container(made)
        await world.until(lambda: len(world.events.text(made.container_id)) >= 2, "output")
        await world.restart()
        assert made.container_id in dict(world.events.joined[-2:]).get(made.agent_id, ())
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == list("12345678")
        await world.state(made.container_id, "TERMINATED")
        assert await world.count("pods") == 1

    async def test_another_master_reads_the_end_of_a_long_log_alone(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_position, "MARGIN_US", log_position.SECOND_US)
        numbers = range(14)
        script = "".join(f"printf '{n}\\r{n}-\\n'; sleep 0.4; " for n in numbers)
        made = world.order(script)
        await world.backend.start_container(made)
        for count in (16, 22):
            await world.until(lambda: len(world.events.text(made.container_id)) >= count, "output")  # noqa: B023
            assert 0 < world.events.places[made.container_id].since_count < count
            await world.restart()
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        expected = [text for n in numbers for text in (f"{n}", f"{n}-")]
        assert world.events.text(made.container_id) == expected

    @covers("helm-and-kubernetes 7.kept")
    @covers("helm-and-kubernetes 15.missed")
    async def test_an_unseen_end_is_reported_to_the_next_master(self, world: World) -> None:
        made = world.order("sleep 0.5; echo late; exit 3")
        await world.backend.start_container(made)
        await world.backend.close()
        await world.wait_for_end()
        world.backend = world.new_backend()
        await world.open()
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 3
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == ["late"]

    @covers("helm-and-kubernetes 15.unwanted")
    async def test_unwanted_pods_are_removed(self, world: World) -> None:
        made = world.order("exec sleep 600")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        world.events.kept.clear()
        await world.restart()
        await world.is_clean()

    @covers("helm-and-kubernetes 15.others")
    async def test_two_masters_on_one_cluster_leave_each_others_objects_alone(
        self, world: World
    ) -> None:
        made = world.order("exec sleep 600")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        second, theirs = world.other_master()
        second.open({}, 1)
        try:
            node = next(a.id for a in world.backend.agents() if a.id == made.agent_id)

            def taken() -> int:
                # Connected: the second master follows the whole cluster.
                seen = [a for a in second.agents() if a.id == node and a.is_connected]
                return sum(len(a.foreign_slots) for a in seen)

            await world.until(lambda: taken() >= len(made.slot_ids), "slots of the first master")
            assert second.pod_of(made.container_id) is None
            assert (theirs.reports, theirs.lost) == ({}, [])
            await second.signal_container(node, made.container_id, 9)
            assert world.backend.pod_of(made.container_id) is not None
            assert world.events.state(made.container_id) == "RUNNING"
        finally:
            await second.close()
        await world.restart()
        assert world.backend.pod_of(made.container_id) is not None

    @covers("helm-and-kubernetes 4.kubeconfig")
    async def test_a_cluster_without_a_kubeconfig_is_named(self, world: World) -> None:
        api = KubernetesApi("/nowhere/kubeconfig")
        with pytest.raises(DetError, match="/nowhere/kubeconfig cannot be used"):
            await api.call("GET", "/api/v1/nodes")
        await api.close()

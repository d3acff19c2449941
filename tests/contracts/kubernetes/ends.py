"""Ends from outside: kills, deletions, and pods that cannot start."""

from __future__ import annotations

from tests.contracts.kubernetes.world import World
from tests.covers import covers

from determined_master import clock
from determined_master.backends.kubernetes import names
from determined_master.ports.orders import PodTerms


class EndTests:
    @covers("helm-and-kubernetes 12.killed")
    async def test_a_container_that_is_killed_keeps_its_output(self, world: World) -> None:
        made = world.order("echo before; exec sleep 600")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        await world.until(lambda: world.events.text(made.container_id), "its output")
        await world.backend.signal_container(made.agent_id, made.container_id, 9)
        await world.state(made.container_id, "TERMINATED")
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == ["before"]
        assert world.events.reports[made.container_id].failure is not None

    async def test_a_killed_container_ends_with_its_program(self, world: World) -> None:
        await world.restart(grace_s=6)  # for what takes its program a third of a second
        leaves = "trap 'sleep 0.3; echo after; exit 0' TERM"
        made = world.order(f"{leaves}; echo before; while :; do sleep 0.1; done")
        await world.backend.start_container(made)
        await world.until(lambda: world.events.text(made.container_id), "its output")
        killed_at_s = clock.monotonic_s()
        await world.backend.signal_container(made.agent_id, made.container_id, 9)
        await world.state(made.container_id, "TERMINATED")
        assert clock.monotonic_s() - killed_at_s > 0.25
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert failure.type == "container_ended"
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        said = world.events.text(made.container_id)  # it may have a line of the shell
        assert (said[0], said[-1]) == ("before", "after")

    @covers("helm-and-kubernetes 12.killed 14.cancelled")
    async def test_one_that_was_never_started_is_reported_as_ended(self, world: World) -> None:
        made = world.order("true")
        await world.backend.signal_container(
            made.agent_id, made.container_id, 9, made.allocation_id
        )
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert failure.type == "container_aborted"

    @covers("helm-and-kubernetes 12.pull")
    async def test_an_image_that_is_nowhere_ends_it_with_its_name(self, world: World) -> None:
        made = world.order("true", image=world.missing)
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert failure.type == "task_error"
        assert f"the image {world.missing} cannot be pulled: " in failure.message
        assert "Back-off" not in failure.message, "that is no cause"

    async def test_a_pod_that_does_not_fit_its_node_is_withdrawn_with_kubernetes_reason(
        self, world: World
    ) -> None:
        await world.restart(unschedulable_s=1.0)
        selector = {"spec": {"nodeSelector": {"gpu-type": "none-of-ours"}}}
        made = world.order("true", pod=PodTerms(pool="default", pod_spec=selector))
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert failure.type == "not_placed"
        assert "within 1 s: 0/" in failure.message
        assert "node affinity" in failure.message
        await world.backend.forget_container(made.agent_id, made.container_id)
        await world.is_clean()

    async def test_a_pod_whose_volume_is_missing_is_withdrawn_with_kubernetes_reason(
        self, world: World
    ) -> None:
        await world.restart(unstarted_s=1.0)
        mount = {"name": "data", "mountPath": "/data"}
        volume = {"name": "data", "configMap": {"name": "none-of-that-name"}}
        main = {"name": names.MAIN, "volumeMounts": [mount]}
        own = {"spec": {"containers": [main], "volumes": [volume]}}
        terms = PodTerms(pool="default", pod_spec=own)
        made = world.order("true", pod=terms, image=world.unmountable)
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert failure.type == "not_placed"
        assert "has not started its pod" in failure.message
        assert "FailedMount: MountVolume.SetUp failed" in failure.message
        await world.backend.forget_container(made.agent_id, made.container_id)
        await world.is_clean()

    async def test_a_namespace_that_is_not_there_ends_it_with_its_name(self, world: World) -> None:
        made = world.order("true", pod=PodTerms(namespace="nowhere"))
        await world.backend.start_container(made)
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert "the namespace nowhere does not exist" in failure.message

    @covers("helm-and-kubernetes 12.deleted")
    async def test_a_pod_that_somebody_deletes_is_lost(self, world: World) -> None:
        made = world.order("exec sleep 600")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        pod = world.backend.pod_of(made.container_id)
        assert pod is not None
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        await world.api.call("DELETE", path, query={"gracePeriodSeconds": "0"})
        await world.state(made.container_id, "TERMINATED")
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert (failure.type, pod.name in failure.message) == ("agent_failed", True)

    async def test_a_pod_deleted_by_others_is_lost_whatever_its_status(self, world: World) -> None:
        made = world.order("echo before; exec sleep 600")
        await world.backend.start_container(made)
        await world.until(lambda: world.events.text(made.container_id), "its output")
        pod = world.backend.pod_of(made.container_id)
        assert pod is not None
        assert world.events.evicted == {}
        await world.api.call("DELETE", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}")
        await world.state(made.container_id, "TERMINATED")
        assert "is evicted or deleted" in world.events.evicted[made.container_id]
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert (failure.type, pod.name in failure.message) == ("agent_failed", True)
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == ["before"]
        assert not [n.text for n in world.events.notes if "could not be read" in n.text]

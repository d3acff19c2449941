"""What the backend makes of a Kubernetes cluster: the real ones and ours in memory alike.

A suite that uses it gives the fixture `world`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import order, spec
from tests.backends.kubernetes.recorder import Recorder
from tests.covers import covers

from determined_master import clock
from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.backend import KubernetesBackend
from determined_master.backends.kubernetes.client import MERGE_PATCH, KubernetesApi
from determined_master.backends.kubernetes.log.event_lines import line_of
from determined_master.backends.kubernetes.options import ClusterOptions, Times
from determined_master.domain.errors import DetError, Unavailable
from determined_master.domain.machines.agent_switches import Switches
from determined_master.entropy import new_uuid
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import PodTerms, StartOrder
from determined_wire.agent_link import File, TaskUser


class World:
    """A cluster, and one master of it after the other."""

    def __init__(self, options: ClusterOptions, image: str, limit_s: float, missing: str) -> None:
        self.options = options
        self.image = image
        self.missing = missing
        """An image that is nowhere."""
        self.unmountable = image
        """An image whose pods wait for their volumes; any where volumes are real."""
        self.limit_s = limit_s
        self.events = Recorder()
        self._started: list[tuple[str, str]] = []
        self.api = KubernetesApi(options.kubeconfig_path)
        self.backend = self.new_backend()

    def new_backend(
        self,
        grace_s: int = 2,
        unschedulable_s: float = 60.0,
        unstarted_s: float = 600.0,
        **more: Any,
    ) -> KubernetesBackend:
        times = Times(
            pause_s=0.2,
            longest_pause_s=1.0,
            flush_s=0.05,
            grace_s=grace_s,
            unschedulable_s=unschedulable_s,
            unstarted_s=unstarted_s,
        )
        return KubernetesBackend(self.options, self.events, times=times, **more)

    def other_master(self) -> tuple[KubernetesBackend, Recorder]:
        """A second master on the same cluster, not open yet, and what it reports."""
        events = Recorder()
        options = replace(self.options, cluster_id=str(new_uuid()))
        times = Times(pause_s=0.2, longest_pause_s=1.0, flush_s=0.05, grace_s=2)
        return KubernetesBackend(options, events, times=times), events

    async def open(self) -> None:
        self.backend.open({}, 1)
        await self.until(lambda: any(a.is_connected for a in self.backend.agents()), "nodes")

    async def restart(self, **more: Any) -> None:
        """Another master takes over."""
        await self.backend.close()
        self.backend = self.new_backend(**more)
        await self.open()

    async def close(self) -> None:
        """Leave nothing in the cluster."""
        try:
            for node, container in self._started:
                await self.backend.signal_container(node, container, 9)
                if self.backend.pod_of(container) is not None:
                    await self.state(container, "TERMINATED")
                await self.backend.forget_container(node, container)
            await self.is_clean()
        finally:
            await self.backend.close()
            await self.api.close()

    def order(self, script: str, **more: Any) -> StartOrder:
        """A container that runs a line of the shell on the first node that is ready."""
        node = next(a.id for a in self.backend.agents() if a.is_connected)
        container = str(new_uuid())
        self.events.kept.add(container)
        self._started.append((node, container))
        image = more.pop("image", self.image)
        made = spec(entrypoint=("sh", "-c", script), image=image, environment={})
        return order(agent_id=node, container_id=container, spec=made, **more)

    async def until(self, claim: Callable[[], Any], what: str) -> None:
        try:
            async with asyncio.timeout(self.limit_s):
                while not claim():  # noqa: ASYNC110  what is asked for has no event
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(
                f"{what} did not come true; told: {self.events.reports}"
            ) from None

    async def state(self, container_id: str, state: str) -> None:
        await self.until(lambda: self.events.state(container_id) == state, state)

    async def list(self, kind: str) -> list[Any]:
        """The objects of this master."""
        query = {"labelSelector": f"determined.ai/cluster_id={self.options.cluster_id}"}
        found: list[Any] = (await self.api.call("GET", f"/api/v1/{kind}", query=query))["items"]
        return found

    async def count(self, kind: str) -> int:
        """How many objects of this master there are."""
        return len(await self.list(kind))

    async def is_clean(self) -> None:
        async with asyncio.timeout(self.limit_s):
            while await self.count("pods") or await self.count("secrets"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)


ECHO = """
import socket
server = socket.create_server(("0.0.0.0", 0))
print(server.getsockname()[1], flush=True)
while True:
    client, _ = server.accept()
    while data := client.recv(65536):
        client.sendall(data)
"""


class KubernetesContract:
    """Tests that any cluster passes."""

    @covers("helm-and-kubernetes 8.files")
    async def test_a_container_runs_reports_its_output_and_leaves_nothing(
        self, world: World
    ) -> None:
        made = world.order("echo one; echo two >&2; sleep 0.3; echo three")
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        report = world.events.reports[made.container_id]
        assert (report.exit_code, report.failure) == (0, None)
        assert made.container_id in world.events.closed, "its end was told before its last line"
        assert sorted(world.events.text(made.container_id)) == ["one", "three", "two"]
        await world.backend.forget_container(made.agent_id, made.container_id)
        await world.is_clean()

    @covers("helm-and-kubernetes 18.remote")
    async def test_a_port_of_a_pod_is_reached_through_the_api_server(self, world: World) -> None:
        made = world.order(f"exec python3 -c '{ECHO}'")
        await world.backend.start_container(made)
        await world.until(lambda: world.events.text(made.container_id), "its port")
        port = int(world.events.text(made.container_id)[0])
        reader, writer = await asyncio.open_connection(
            sock=await world.backend.connect(made.container_id, port)
        )
        async with asyncio.timeout(world.limit_s):
            sent = bytes(range(256)) * 2000
            writer.write(sent)
            assert await reader.readexactly(len(sent)) == sent
            writer.close()
            closed = await world.backend.connect(made.container_id, 1)
            reader, writer = await asyncio.open_connection(sock=closed)
            assert await reader.read() == b"", "nothing listens there"
            writer.close()
        with pytest.raises(ConnectionError, match="has no pod"):
            await world.backend.connect("c-none", port)

    @covers("helm-and-kubernetes 19.labels 8.disabled")
    async def test_a_disabled_node_has_a_label_until_it_is_enabled(self, world: World) -> None:
        key = f"determined.ai/cluster-id-{world.options.cluster_id}"
        node = next(a.id for a in world.backend.agents() if a.is_connected)

        async def value() -> str | None:
            found = await world.api.call("GET", f"/api/v1/nodes/{node}")
            return (found["metadata"].get("labels") or {}).get(key)

        async def becomes(wanted: str | None) -> None:
            async with asyncio.timeout(world.limit_s):
                while await value() != wanted:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)

        def is_draining() -> bool:
            return next(a.is_draining for a in world.backend.agents() if a.id == node)

        world.backend.set_switches({node: Switches(is_enabled=False)})
        await becomes("no-execute")
        world.backend.set_switches({node: Switches(is_draining=True)})
        await becomes("no-schedule")
        world.backend.set_switches({})
        await becomes(None)
        await world.until(lambda: not is_draining(), "the end of the drain")
        # A script that sets the label itself keeps work away, until an enabling removes it.
        body = {"metadata": {"labels": {key: "no-schedule"}}}
        await world.api.call("PATCH", f"/api/v1/nodes/{node}", body=body, content_type=MERGE_PATCH)
        await world.until(is_draining, "the drain")
        world.backend.set_switches({node: Switches()})
        await becomes(None)

    @covers("helm-and-kubernetes 3.namespaces")
    async def test_pods_of_several_namespaces_are_followed_one_by_one(self, world: World) -> None:
        await world.backend.close()
        first = world.options.default_namespace
        world.options = replace(world.options, namespaces=(first, "kube-public"))
        world.backend = world.new_backend()
        await world.open()
        made = world.order("sleep 0.2; exit 4")
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 4
        elsewhere = world.order("true", pod=PodTerms(pool="default", namespace="kube-system"))
        await world.backend.start_container(elsewhere)
        await world.state(elsewhere.container_id, "TERMINATED")
        failure = world.events.reports[elsewhere.container_id].failure
        assert failure is not None
        assert "does not follow the namespace kube-system" in failure.message
        await world.restart()  # the next one finds what there is, in all of them
        assert world.backend.pod_of(made.container_id) is not None

    async def test_a_container_that_is_ordered_again_runs_once(self, world: World) -> None:
        made = world.order("echo once")
        await asyncio.gather(*(world.backend.start_container(made) for _ in range(3)))
        await world.restart()
        await world.backend.start_container(made)
        assert await world.count("pods") == 1
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == ["once"]

    async def test_an_exit_code_is_reported(self, world: World) -> None:
        made = world.order("echo oh; exit 7")
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert (failure.type, failure.exit_code) == ("container_failed", 7)

    @pytest.mark.parametrize("files", [(), (File("/run/determined/ssh/id_rsa", b"key", 0o600),)])
    async def test_an_account_without_root_has_a_directory_of_its_own(
        self, world: World, files: tuple[File, ...]
    ) -> None:
        """Prepared by the task's container, and by an init container."""
        made = world.order("touch made && stat -c %a . && cat ../ssh/id_rsa; exit 3")
        own = replace(made.spec, user=TaskUser("ann", 1234, "lab", 1235), files=files)
        made = replace(made, spec=own)
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 3
        said = world.events.text(made.container_id)
        assert said[0] == "700"
        assert (said[1] == "key") == bool(files)

    async def test_a_master_without_the_harness_ends_a_container_with_the_reason(
        self, world: World
    ) -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            body = b'{"error": "not found"}'
            head = f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
            writer.close()

        server = await asyncio.start_server(refuse, "0.0.0.0", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            address = replace(world.options.master, port=port)
            world.options = replace(world.options, master=address)
            await world.restart()
            made = world.order("true")
            await world.backend.start_container(made)
            await world.state(made.container_id, "TERMINATED")
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert (failure.type, failure.exit_code) == ("task_error", 1)
        assert "its files could not be prepared: the master at http" in failure.message
        assert failure.message.endswith("does not give the task's files: HTTP 404")
        assert "HTTP 404" in world.events.text(made.container_id)[-1]

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
        said = world.events.text(made.container_id)  # the shell may tell of its own child's end
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
        assert world.missing in failure.message

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

    async def test_nodes_are_known_with_all_that_the_scheduler_compares(
        self, world: World
    ) -> None:
        items = (await world.api.call("GET", "/api/v1/nodes"))["items"]
        found = world.backend.loads()
        names_found = {item["metadata"]["name"] for item in items}
        assert {load.facts.name for load in found.nodes.values()} == names_found
        assert all({"cpu", "memory"} <= n.facts.allocatable.keys() for n in found.nodes.values())

    async def test_a_namespace_that_is_not_there_ends_it_with_its_name(self, world: World) -> None:
        made = world.order("true", pod=PodTerms(namespace="nowhere"))
        await world.backend.start_container(made)
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert "the namespace nowhere does not exist" in failure.message

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

    @covers("helm-and-kubernetes 7.kept")
    @covers("helm-and-kubernetes 15.missed")
    async def test_an_unseen_end_is_reported_to_the_next_master(self, world: World) -> None:
        made = world.order("sleep 0.5; echo late; exit 3")
        await world.backend.start_container(made)
        await world.backend.close()
        await self.wait_for_end(world)
        world.backend = world.new_backend()
        await world.open()
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 3
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == ["late"]

    async def wait_for_end(self, world: World) -> None:
        query = {"labelSelector": f"determined.ai/cluster_id={world.options.cluster_id}"}
        async with asyncio.timeout(world.limit_s):
            while True:
                pods = (await world.api.call("GET", "/api/v1/pods", query=query))["items"]
                if all(p["status"].get("phase") in ("Failed", "Succeeded") for p in pods):
                    return
                await asyncio.sleep(0.1)

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
                return sum(len(a.foreign_slots) for a in second.agents() if a.id == node)

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

    async def test_a_cordon_ends_nothing_and_keeps_the_nodes_place(self, world: World) -> None:
        made = world.order("echo up; sleep 3; exit 3")
        await world.backend.start_container(made)
        await world.until(lambda: world.events.text(made.container_id), "its output")
        node = f"/api/v1/nodes/{made.agent_id}"

        async def cordon(is_on: bool | None) -> None:
            body = {"spec": {"unschedulable": is_on}}
            await world.api.call("PATCH", node, body=body, content_type=MERGE_PATCH)

        def is_draining() -> bool:
            return next(a.is_draining for a in world.backend.agents() if a.id == made.agent_id)

        await cordon(True)
        try:
            await world.until(is_draining, "a drain")
            await world.state(made.container_id, "TERMINATED")
            assert world.events.reports[made.container_id].exit_code == 3
        finally:
            await cordon(None)
        await world.until(lambda: not is_draining(), "the end of the drain")
        assert world.events.lost == []

    async def test_names_are_as_long_as_kubernetes_allows(self, world: World) -> None:
        namespace = f"det-test-{new_uuid().hex}".ljust(63, "n")
        body = {"metadata": {"name": namespace}}
        await world.api.call("POST", "/api/v1/namespaces", body=body)
        try:
            terms = PodTerms(
                pool="p" * 90,
                namespace=namespace,
                username="u" * 90,
                workspace="ö" * 40 + "w" * 90,
            )
            made = world.order("exit 6", pod=terms)
            long = replace(made.spec, description="d" * 90)
            await world.backend.start_container(replace(made, spec=long))
            await world.state(made.container_id, "TERMINATED")
            assert world.events.reports[made.container_id].exit_code == 6
        finally:
            await world.api.call("DELETE", f"/api/v1/namespaces/{namespace}")

    async def test_a_pod_of_somebody_else_takes_slots_while_it_is_there(
        self, world: World
    ) -> None:
        node = next(a for a in world.backend.agents() if a.is_connected)
        container = {
            "name": "main",
            "image": world.image,
            "command": ["sh", "-c", "exec sleep 600"],
            "resources": {"requests": {"cpu": str(world.options.cpu_per_slot)}},
        }
        name = f"other-{new_uuid()}"
        pod = {
            "metadata": {"name": name},
            "spec": {
                "nodeName": node.hostname,
                "automountServiceAccountToken": False,
                "containers": [container],
            },
        }
        path = "/api/v1/namespaces/default/pods"

        def taken() -> int:
            return next(len(a.foreign_slots) for a in world.backend.agents() if a.id == node.id)

        before = taken()
        await world.api.call("POST", path, body=pod)
        await world.until(lambda: taken() == before + 1, "a slot of somebody else")
        await world.api.call("DELETE", f"{path}/{name}", query={"gracePeriodSeconds": "0"})
        await world.until(lambda: taken() == before, "its end")

    @covers("helm-and-kubernetes 13.all")
    async def test_events_of_a_pod_appear_in_its_tasks_log(self, world: World) -> None:
        made = world.order("true")
        await world.backend.start_container(made)
        said = "its resources are allocated"
        await world.until(lambda: any(said in n.text for n in world.events.notes), said)

    @covers("helm-and-kubernetes 13.all")
    async def test_events_from_a_time_without_a_master_are_logged_once(self, world: World) -> None:
        made = world.order("echo up")
        await world.backend.start_container(made)
        await world.backend.close()
        await self.wait_for_end(world)
        said = "Started container determined-container"
        for _ in range(2):
            world.backend = world.new_backend()
            await world.open()
            await world.until(lambda: any(said in n.text for n in world.events.notes), said)
            await world.until(lambda: made.container_id in world.events.closed, "the last line")
            await world.backend.close()
        await world.restart()
        told = Counter(n.text for n in world.events.notes)
        happened = Counter(filter(None, map(line_of, await self.events_of(world, made))))
        assert {text: told[text] for text in happened} == happened

    async def events_of(self, world: World, made: StartOrder) -> list[Any]:
        """What the cluster keeps of what happened to a container's pod."""
        query = {"labelSelector": f"{names.CONTAINER_ID}={made.container_id}"}
        [pod] = (await world.api.call("GET", "/api/v1/pods", query=query))["items"]
        about = {"fieldSelector": f"involvedObject.uid={pod['metadata']['uid']}"}
        found: list[Any] = (await world.api.call("GET", "/api/v1/events", query=about))["items"]
        return found

    async def test_a_counted_event_is_logged_again_when_its_text_changes(
        self, world: World
    ) -> None:
        made = world.order("exec sleep 600")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        pod = world.backend.pod_of(made.container_id)
        assert pod is not None
        events, name = f"/api/v1/namespaces/{pod.namespace}/events", f"{pod.name}.tried"
        whose = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
        happening = {
            "metadata": {"name": name},
            "involvedObject": {"kind": "Pod", **whose},
            "reason": "Tried",
            "message": "tried this",
        }
        await world.api.call("POST", events, body={**happening, "count": 1})

        def tried() -> list[str]:
            return [n.text for n in world.events.notes if "tried" in n.text]

        for again in ({"count": 2}, {"count": 3}, {"count": 4, "message": "tried that"}):
            await world.api.call("PATCH", f"{events}/{name}", body=again, content_type=MERGE_PATCH)
        await world.until(lambda: tried() and "tried that" in tried()[-1], "the last words")

        assert [text.rpartition(": ")[2] for text in tried()] == ["tried this", "tried that"]

    @covers("helm-and-kubernetes 16.quota")
    async def test_quotas_and_namespaces_are_made_and_read(self, world: World) -> None:
        name = f"det-test-{new_uuid().hex[:8]}"
        assert not await world.backend.has_namespace(name)
        await world.backend.create_namespace(name)
        await world.backend.create_namespace(name)
        try:
            assert await world.backend.has_namespace(name)
            await world.backend.set_quota(name, 4)
            await world.backend.set_quota(name, 6)
            [quota] = await world.backend.quotas(name)
            assert (quota.name, quota.gpus, quota.is_own) == (f"{name}-quota", 6.0, True)
        finally:
            await world.backend.delete_namespace(name)
        assert await world.backend.delete_namespace(name)
        assert not await world.backend.has_namespace(name)

    @covers("helm-and-kubernetes 16.change")
    @covers("helm-and-kubernetes 16.full")
    async def test_quotas_are_known_with_their_use_and_a_full_one_is_no_missing_right(
        self, world: World
    ) -> None:
        name = f"det-test-{new_uuid().hex[:8]}"
        await world.backend.create_namespace(name)
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
        path = f"/api/v1/namespaces/{name}/resourcequotas"
        terms = PodTerms(pool="default", namespace=name)

        def used() -> list[tuple[str, int, int]]:
            found = world.backend.loads().quotas.get(name, ())
            return [(q.name, int(q.used.get("pods", 0)), int(q.hard["pods"])) for q in found]

        try:
            await world.api.call("POST", path, body=quota)
            await world.until(lambda: used() == [("few", 0, 1)], "the quota")
            made, late = (world.order("exec sleep 600", pod=terms) for _ in range(2))
            await world.backend.start_container(made)
            await world.until(lambda: used() == [("few", 1, 1)], "a full quota")
            with pytest.raises(NotConnected, match="exceeded quota: few"):
                await world.backend.start_container(late)
            assert world.events.state(late.container_id) == ""
            await world.backend.signal_container(made.agent_id, made.container_id, 9)
            await world.state(made.container_id, "TERMINATED")
            await world.backend.forget_container(made.agent_id, made.container_id)
            await world.until(lambda: used() == [("few", 0, 1)], "a quota that is free again")
        finally:
            await world.backend.delete_namespace(name)
        await world.until(lambda: used() == [], "no quota")

    async def test_a_limit_range_that_refuses_a_pod_is_named(self, world: World) -> None:
        name = f"det-test-{new_uuid().hex[:8]}"
        await world.backend.create_namespace(name)
        amounts = {part: {"memory": "16Mi"} for part in ("max", "default", "defaultRequest")}
        most = {"type": "Container", **amounts}
        limits = {"metadata": {"name": "small"}, "spec": {"limits": [most]}}
        asked = {"limits": {"memory": "32Mi"}}
        own = {"spec": {"containers": [{"name": names.MAIN, "resources": asked}]}}
        try:
            path = f"/api/v1/namespaces/{name}/limitranges"
            await world.api.call("POST", path, body=limits)
            await world.until(lambda: name in world.backend.loads().defaults, "defaults")
            assert world.backend.loads().defaults[name].limits == {"memory": 16 * 2**20}
            terms = PodTerms(pool="default", namespace=name, pod_spec=own)
            made = world.order("true", pod=terms)
            await world.backend.start_container(made)
            await world.state(made.container_id, "TERMINATED")
            failure = world.events.reports[made.container_id].failure
            assert failure is not None
            assert f"a LimitRange of namespace {name} does not admit" in failure.message
            assert "maximum memory usage per Container is 16Mi" in failure.message
        finally:
            await world.backend.delete_namespace(name)

    async def test_a_namespace_that_is_being_deleted_takes_nothing_and_is_named(
        self, world: World
    ) -> None:
        name = f"det-test-{new_uuid().hex[:8]}"
        secrets = f"/api/v1/namespaces/{name}/secrets"
        assert await world.backend.create_namespace(name)
        holds = {"metadata": {"name": "holds", "finalizers": ["determined.ai/test"]}}
        await world.api.call("POST", secrets, body=holds)
        await world.backend.delete_namespace(name)
        made = world.order("true", pod=PodTerms(namespace=name))
        try:
            with pytest.raises(Unavailable, match=f"{name}' is being deleted"):
                await world.backend.create_namespace(name)
            await world.backend.start_container(made)
        finally:
            free = {"metadata": {"finalizers": None}}
            await world.api.call("PATCH", f"{secrets}/holds", body=free, content_type=MERGE_PATCH)
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert f"the namespace {name} is being deleted" in failure.message

    @covers("helm-and-kubernetes 4.kubeconfig")
    async def test_a_cluster_without_a_kubeconfig_is_named(self, world: World) -> None:
        api = KubernetesApi("/nowhere/kubeconfig")
        with pytest.raises(DetError, match="/nowhere/kubeconfig cannot be used"):
            await api.call("GET", "/api/v1/nodes")
        await api.close()

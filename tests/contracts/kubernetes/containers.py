"""Containers of a task: they run once, as their own account, and report their end."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from tests.contracts.kubernetes.world import World
from tests.covers import covers

from determined_master.entropy import new_uuid
from determined_master.ports.orders import PodTerms
from determined_wire.agent_link import File, TaskUser

ECHO = """
import socket
server = socket.create_server(("0.0.0.0", 0))
print(server.getsockname()[1], flush=True)
while True:
    client, _ = server.accept()
    while data := client.recv(65536):
        client.sendall(data)
"""


class ContainerTests:
    @covers("helm-and-kubernetes 8.files")
    async def test_a_container_runs_reports_its_output_and_leaves_nothing(
        self, world: World
    ) -> None:
        made = world.order("echo one; echo two >&2; sleep 0.3; echo three")
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        report = world.events.reports[made.container_id]
        assert (report.exit_code, report.failure) == (0, None)
        assert made.container_id in world.events.closed, "its end came before its last line"
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
    @pytest.mark.parametrize("allow_root", [True, False])
    async def test_an_account_without_root_has_a_directory_of_its_own(
        self, world: World, files: tuple[File, ...], allow_root: bool
    ) -> None:
        """Prepared by the task's container, and by an init container.

        Where root is not allowed, they have no capabilities, and a seccomp profile.
        """
        made = world.order("touch made && stat -c %a . && cat ../ssh/id_rsa; exit 3")
        user = TaskUser("ann", 1234, "lab", 1235)
        own = replace(made.spec, user=user, files=files, allow_root=allow_root)
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

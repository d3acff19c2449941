"""The client of Docker's API, with fake daemons that misbehave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import spec
from tests.covers import covers

from determined_agent.container.directory import ContainerDirectory, ContainerRecord
from determined_agent.container.environment import ContainerStart, MasterIdentity
from determined_agent.logs.spool_reader import Position, read_chunk
from determined_agent.runtimes.base import LaunchFailed, RuntimeUnavailable
from determined_agent.runtimes.docker.api import (
    DockerApi,
    DockerApiError,
    DockerUnreachable,
    Request,
)
from determined_agent.runtimes.docker.container import DockerContainer
from determined_agent.runtimes.docker.daemon import DataRoot, docker_host
from determined_agent.runtimes.docker.inspection import addresses_of, exit_of
from determined_agent.runtimes.docker.output import ContainerOutput
from determined_agent.runtimes.docker.runtime import DockerRuntime
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Address, Device, OutOfMemory

Answer = Callable[[str], bytes]


def http(body: bytes | str, status: int = 200) -> bytes:
    data = body if isinstance(body, bytes) else body.encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(data), data)


VERSION = http(json.dumps({"ApiVersion": "1.41", "MinAPIVersion": "1.12"}))


class Fake:
    """A fake daemon with the answers of a test; an empty answer is no answer."""

    def __init__(self, path: Path) -> None:
        self.address = f"unix://{path}"
        self.asked: list[str] = []
        self.bodies: list[tuple[str, bytes]] = []
        self.answer: Answer = lambda line: b""
        self.answer_slowly: Callable[[str], Any] = lambda line: None
        """Returns a coroutine that writes a body slowly."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line = head.splitlines()[0].removesuffix(" HTTP/1.1")
        self.asked.append(line)
        sizes = [h for h in head.splitlines() if h.lower().startswith("content-length:")]
        body = await reader.readexactly(int(sizes[0].partition(":")[2]) if sizes else 0)
        self.bodies.append((line, body))
        slow = self.answer_slowly(line)
        if slow is not None:
            writer.write(b"HTTP/1.1 200 X\r\n\r\n")
            await slow(writer)
            writer.close()
            return
        answer = VERSION if line == "GET /version" else self.answer(line)
        if answer:
            writer.write(answer)
            await writer.drain()
        else:
            await reader.read()
        writer.close()


@pytest.fixture
async def fake(tmp_path: Path) -> AsyncIterator[Fake]:
    made = Fake(tmp_path / "s")
    server = await asyncio.start_unix_server(made, tmp_path / "s")
    yield made
    server.close()
    await server.wait_closed()


def prepared(
    root: Path, devices: tuple[Device, ...] = ()
) -> tuple[ContainerDirectory, ContainerStart]:
    """Return a container to launch, and its directory."""
    record = ContainerRecord(container_id="c", allocation_id="a", task_id="t", slot_ids=())
    directory = ContainerDirectory(root / "c")
    directory.create(record)
    what = spec("pass", image="some:1")
    return directory, ContainerStart(
        container_id="c", devices=devices, spec=what, master=MasterIdentity()
    )


async def test_the_older_of_both_api_versions_is_used(fake: Fake) -> None:
    fake.answer = lambda line: http('{"a": 1}')
    api = DockerApi(fake.address)
    query = {"all": True, "filters": {"label": ["a=b c"]}, "none": None}
    assert await api.call(Request(method="GET", path="/x", query=query)) == {"a": 1}
    assert fake.asked == [
        "GET /version",
        "GET /v1.41/x?all=1&filters=%7B%22label%22%3A+%5B%22a%3Db+c%22%5D%7D",
    ]


async def test_chunked_bodies_are_joined(fake: Fake) -> None:
    chunked = (
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2;x\r\n2]\r\n0\r\n\r\n"
    )
    fake.answer = lambda line: chunked
    assert await DockerApi(fake.address).call(Request(method="GET", path="/x")) == [1, 2]


async def test_an_error_has_the_daemons_text(fake: Fake) -> None:
    fake.answer = lambda line: http('{"message": "no such thing"}', 404)
    with pytest.raises(DockerApiError, match="no such thing") as caught:
        await DockerApi(fake.address).call(Request(method="GET", path="/x"))
    assert caught.value.status == 404


async def test_a_hanging_daemon_is_named_with_the_request(fake: Fake) -> None:
    with pytest.raises(DockerUnreachable, match=r"did not answer GET /x in 0\.05 s: it hangs"):
        await DockerApi(fake.address, 0.05).call(Request(method="GET", path="/x"))


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nab", b"SSH-2.0\r\n\r\n"]
)
async def test_an_invalid_answer_is_an_error(fake: Fake, answer: bytes) -> None:
    fake.answer = lambda line: answer
    with pytest.raises(DockerUnreachable, match=fake.address):
        await DockerApi(fake.address).call(Request(method="GET", path="/x"))


async def test_the_agent_does_not_start_without_the_daemon(tmp_path: Path) -> None:
    settings = Settings(master_host="m", docker_host=f"unix://{tmp_path}/none")
    with pytest.raises(
        RuntimeUnavailable, match=r"none cannot be reached .*container_runtime: pro"
    ):
        await DockerRuntime(settings, tmp_path).check()


@pytest.mark.parametrize(("is_on", "warnings"), [(True, 0), (False, 1)])
async def test_a_daemon_without_live_restore_causes_a_warning(
    fake: Fake, tmp_path: Path, caplog: pytest.LogCaptureFixture, is_on: bool, warnings: int
) -> None:
    fake.answer = lambda line: http(json.dumps({"LiveRestoreEnabled": is_on}))
    await DockerRuntime(Settings(master_host="m", docker_host=fake.address), tmp_path).check()
    assert caplog.text.count("live-restore is off") == warnings


async def test_podman_is_not_asked_for_it(fake: Fake, tmp_path: Path) -> None:
    """Its answer takes as long as three searches among the machine's packages."""
    fake.answer = lambda line: http("{}")
    settings = Settings(master_host="m", docker_host=fake.address, container_runtime="podman")
    await DockerRuntime(settings, tmp_path).check()
    assert [line for line in fake.asked if "/info" in line] == []


def test_an_address_with_another_scheme_is_refused(tmp_path: Path) -> None:
    settings = Settings(master_host="m", docker_host="ssh://host")
    with pytest.raises(RuntimeUnavailable, match="ssh://host"):
        DockerRuntime(settings, tmp_path)


async def test_a_full_disk_is_an_agent_error_with_a_remedy(fake: Fake, tmp_path: Path) -> None:
    def answer(line: str) -> bytes:
        if line.startswith("POST /v1.41/containers/create"):
            return http('{"message": "write /x: no space left on device"}', 500)
        return http("{}")

    fake.answer = answer
    settings = Settings(master_host="m", docker_host=fake.address)
    directory, start = prepared(tmp_path)
    with pytest.raises(LaunchFailed) as caught:
        await DockerRuntime(settings, tmp_path, launch_retry_s=0.0).launch(
            directory, start, lambda state: None
        )
    assert caught.value.failure.type == "agent_error"
    assert "the disk of Docker's data root is full" in caught.value.failure.message


@covers("agent-config 5.cuda")
async def test_gpus_are_requested_by_their_ids(fake: Fake, tmp_path: Path) -> None:
    """Without a GPU, the test checks the request and the remedy of a refusal."""

    def answer(line: str) -> bytes:
        if line.startswith("POST /v1.41/containers/create"):
            return http('{"Id": "abc"}', 201)
        if line.endswith("/start"):
            refused = 'could not select device driver "nvidia" with capabilities: [[gpu]]'
            return http(json.dumps({"message": refused}), 500)
        return http("{}")

    fake.answer = answer
    settings = Settings(master_host="m", docker_host=fake.address)
    directory, start = prepared(tmp_path, devices=(Device(3, "A100", "GPU-3", "cuda"),))
    with pytest.raises(LaunchFailed, match="install the NVIDIA container toolkit") as caught:
        await DockerRuntime(settings, tmp_path).launch(directory, start, lambda state: None)
    assert caught.value.failure.type == "task_error"
    [body] = [b for line, b in fake.bodies if line.startswith("POST /v1.41/containers/create")]
    assert json.loads(body)["HostConfig"]["DeviceRequests"] == [
        {
            "Driver": "nvidia",
            "DeviceIDs": ["GPU-3"],
            "Capabilities": [["gpu", "compute", "utility"]],
        }
    ]
    assert "DELETE /v1.41/containers/abc?force=1&v=1" in fake.asked


async def test_a_launch_is_retried_after_a_machine_fault(fake: Fake, tmp_path: Path) -> None:
    refusals = [http('{"message": "write /x: no space left on device"}', 500)]

    def answer(line: str) -> bytes:
        if line.startswith("POST /v1.41/containers/create"):
            return refusals.pop() if refusals else http('{"message": "enough"}', 400)
        return http("{}")

    fake.answer = answer
    settings = Settings(master_host="m", docker_host=fake.address)
    directory, start = prepared(tmp_path)
    with pytest.raises(LaunchFailed, match="enough") as caught:
        await DockerRuntime(settings, tmp_path).launch(directory, start, lambda state: None)
    assert caught.value.failure.type == "task_error"
    chunk, _ = read_chunk(directory.output, Position())
    assert "the disk of Docker's data root is full" in chunk.text
    assert "trying again in 1 s" in chunk.text


def test_the_socket_comes_from_the_setting_then_the_variable_then_the_default(
    tmp_path: Path,
) -> None:
    env = {"DOCKER_HOST": "unix:///b"}
    assert docker_host("unix:///a", "docker", env) == "unix:///a"
    assert docker_host("", "docker", env) == "unix:///b"
    assert docker_host("", "docker", {}) == "unix:///var/run/docker.sock"
    (tmp_path / "podman").mkdir()
    (tmp_path / "podman/podman.sock").touch()
    own = {"XDG_RUNTIME_DIR": str(tmp_path)}
    assert docker_host("", "podman", own) == f"unix://{tmp_path}/podman/podman.sock"
    assert docker_host("", "podman", {"XDG_RUNTIME_DIR": "/no"}).endswith("podman.sock")


def test_ports_on_a_bridge_are_those_that_docker_published() -> None:
    found = {
        "HostConfig": {"NetworkMode": "bridge"},
        "NetworkSettings": {
            "IPAddress": "172.17.0.2",
            "Ports": {
                "1734/tcp": [
                    {"HostIp": "::", "HostPort": "32769"},
                    {"HostIp": "0.0.0.0", "HostPort": "32768"},
                ],
                "9/tcp": None,
            },
        },
    }
    assert addresses_of(found, (1734, 9)) == (Address("172.17.0.2", 1734, "", 32768),)


def test_an_out_of_memory_kill_is_named_in_the_failure() -> None:
    state = {"ExitCode": 137, "OOMKilled": True}
    end = exit_of({"State": state, "HostConfig": {"Memory": 8_000_000_000}}, 0)
    assert end.failure is not None
    assert end.failure.out_of_memory == OutOfMemory(limit_bytes=8_000_000_000)
    killed = exit_of({"State": {"ExitCode": 137}}, 0).failure
    assert killed is not None
    assert killed.out_of_memory is None
    assert "for lack of memory" in end.failure.message


@pytest.mark.slow
async def test_a_log_is_read_to_its_end_while_it_makes_progress(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million lines take longer than any timeout for the whole log would allow."""
    monkeypatch.setattr("determined_agent.runtimes.docker.container._STALL_S", 0.5)
    lines = [b"1970-01-01T00:00:01Z %d\n" % n for n in range(50)]

    async def slowly(writer: asyncio.StreamWriter) -> None:
        for line in lines:
            writer.write(b"\1\0\0\0" + len(line).to_bytes(4, "big") + line)
            await asyncio.sleep(0.02)  # fifty of these take longer than the timeout above

    ended = {"State": {"Running": False, "ExitCode": 0}}
    fake.answer = lambda line: http("{}" if "/wait" in line else json.dumps(ended))
    fake.answer_slowly = lambda line: slowly if "/logs" in line else None
    output = ContainerOutput(DockerApi(fake.address), "c", tmp_path, 10**6)
    container = DockerContainer(
        DockerApi(fake.address), "c", output, (), DataRoot(DockerApi(fake.address))
    )
    assert (await asyncio.wait_for(container.wait(), 60)).exit_code == 0
    container.detach()
    chunk, _ = read_chunk(tmp_path, Position())
    assert chunk.text.split("\n") == [str(n) for n in range(50)]


@pytest.mark.parametrize(
    ("path", "name"),
    [("docker.sock", "the Docker daemon at unix"), ("podman/podman.sock", "Podman's service at")],
)
async def test_the_error_for_a_silent_service_has_its_name(
    tmp_path: Path, path: str, name: str
) -> None:
    api = DockerApi(f"unix://{tmp_path}/{path}")
    with pytest.raises(DockerUnreachable, match=name):
        await api.call(Request(method="GET", path="/x"))

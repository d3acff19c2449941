"""N4, N14: an agent or a user names an address, and the master connects to it.

Each form of an address that others may not name is tried at each place where one is named.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from tests.agent_link import OpenDoor, Recorder, identity, until
from tests.api.receiver import receiver
from tests.backends.agents.hand_driven import Agent, dial, hello, led_listener

from determined_master.backends.agents.addresses import own_address, with_own_addresses
from determined_master.backends.agents.backend import AgentBackend
from determined_master.backends.buckets.endpoint_guard import PrivateEndpoint, check_public
from determined_master.backends.webhooks.poster import HttpPoster
from determined_master.domain.addresses import networks_of
from determined_master.ports.posts import PostFailed
from determined_wire.agent_link import Address, ContainerReport, Welcome

LOOPBACK = (
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "LOCALHOST",
    "::1", "::ffff:127.0.0.1", "0.0.0.0", "127.255.255.254",
)  # fmt: skip
ELSEWHERE = (
    "169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe",
    "fd00:ec2::254", "192.0.0.192", "100.100.100.200", "168.63.129.16", "::127.0.0.1", "fe80::1",
    "224.0.0.1", "10.0.0.8",
)  # fmt: skip
SPOILT = (
    "",
    "localhost.",
    " ",
    "a b",
    "a\0b",
    "a" * 64 + ".example",
    "a" * 70_000,
    "\n127.0.0.1",
    "1.2.3.4.5",
)


@pytest.mark.parametrize("advertised", [*LOOPBACK, *ELSEWHERE, *SPOILT])
async def test_an_agent_is_reached_at_the_address_of_its_connection(advertised: str) -> None:
    address, warning = await own_address(advertised, "10.0.0.7", ())
    assert address == "10.0.0.7"
    assert (warning is None) == (not advertised)
    assert len(warning or "") < 500


@pytest.mark.parametrize("advertised", [*ELSEWHERE, "metadata.google.internal"])
async def test_an_agent_on_the_masters_machine_leads_to_no_other(
    advertised: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolver(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    address, warning = await own_address(advertised, "127.0.0.1", ())
    assert address == "127.0.0.1"
    assert "security.agent_networks" in str(warning)


async def test_an_agent_on_the_masters_machine_is_reached_where_other_machines_reach_it() -> None:
    for advertised in ("127.0.0.1", "localhost"):
        address, warning = await own_address(advertised, "127.0.0.1", ())
        assert address in ("127.0.0.1", "::1")
        assert warning is None


async def test_an_agents_name_is_resolved_once_and_the_judged_address_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = ["10.1.0.8", "169.254.169.254"]

    def resolver(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    networks = networks_of(["10.1.0.0/16"])
    assert await own_address("gpu-8.example", "10.0.0.7", networks) == ("10.1.0.8", None)
    assert answers == ["169.254.169.254"]
    address, warning = await own_address("gpu-8.example", "10.0.0.7", networks)
    assert address == "10.0.0.7"
    assert "'gpu-8.example' is not used" in str(warning)


@pytest.mark.parametrize("host", [*LOOPBACK, *ELSEWHERE, "10.0.0.7.nip.example"])
async def test_a_container_is_at_no_other_address_than_its_agent(host: str) -> None:
    report = ContainerReport("c", "a", "RUNNING", addresses=(Address("", 80, host, 5432),))
    own, foreign = with_own_addresses(report, "10.0.0.7")
    assert own.addresses == ()
    assert foreign == [host]


async def test_an_agent_that_joins_is_shown_at_its_connections_address() -> None:
    async with led_listener() as listener:
        async with dial(listener) as socket_:
            agent = Agent(socket_)
            await agent.say(hello(address="169.254.169.254", hostname="metadata.google.internal"))
            assert isinstance(await agent.hear(), Welcome)
            await until(lambda: listener.backend.agents()[0].is_connected)
            assert listener.backend.agents()[0].address == "127.0.0.1"
        async with dial(listener) as socket_:
            agent = Agent(socket_)
            await agent.say(hello(address="", hostname="metadata.google.internal"))
            assert isinstance(await agent.hear(), Welcome)
            assert listener.backend.agents()[0].address == "127.0.0.1"


async def test_the_networks_of_an_admin_reach_the_agents() -> None:
    networks = networks_of(["192.168.7.0/24"])
    async with led_listener() as listener:
        await listener.backend.close()
        backend = AgentBackend(identity(), Recorder(), OpenDoor(), networks=networks)
        backend.open({}, 4)
        listener.backend = backend
        async with dial(listener) as socket_:
            agent = Agent(socket_)
            await agent.say(hello(address="192.168.7.9"))
            assert isinstance(await agent.hear(), Welcome)
            assert backend.agents()[0].address == "192.168.7.9"
        await backend.close()


@pytest.mark.parametrize("host", [*LOOPBACK, *ELSEWHERE])
async def test_a_webhook_is_sent_to_no_special_address(host: str) -> None:
    named = f"[{host}]" if ":" in host else host
    async with receiver() as target:
        port = target.url.rpartition(":")[2].split("/")[0]
        with pytest.raises(PostFailed) as caught:
            await asyncio.wait_for(HttpPoster(()).post(f"http://{named}:{port}/", {}, b"{}"), 60)
        assert target.attempts == 0
    assert "webhooks.allowed_networks" in str(caught.value)
    assert caught.value.is_final


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..b"])
async def test_a_webhook_to_a_name_that_is_none_fails_with_its_name(host: str) -> None:
    with pytest.raises(PostFailed, match="a"):
        await HttpPoster(()).post(f"http://{host}/", {}, b"{}")


@pytest.mark.parametrize("host", [*LOOPBACK, *ELSEWHERE])
def test_a_storage_is_read_at_no_special_address(host: str) -> None:
    named = f"[{host}]" if ":" in host else host
    with pytest.raises(PrivateEndpoint, match=r"checkpoint_storage\.allowed_endpoints"):
        check_public(f"http://{named}:9000")


async def test_a_webhooks_name_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second answer of a name server that rebinds is never asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolver(host: str, port: Any, *rest: Any, **named: Any) -> list[Any]:
        if host != "rebinding.example":
            return real(host, port, *rest, **named)
        asked.append(host)
        address = "192.0.2.7" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    connected: list[str] = []

    async def connection(address: str, *_: Any, **__: Any) -> Any:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(asyncio, "open_connection", connection)
    with pytest.raises(PostFailed):
        await HttpPoster(networks_of(["192.0.2.0/24"])).post(
            "http://rebinding.example:80/", {}, b"{}"
        )
    assert asked == ["rebinding.example"]
    assert connected == ["192.0.2.7"]

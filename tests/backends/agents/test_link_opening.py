"""How a link with an agent opens: who is let in, who is told to come again, and what both say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agent_link import Listener, Recorder, identity, until
from tests.backends.agents.hand_driven import Agent, dial, hello, led_listener
from tests.covers import covers

from determined_master.ports.agents import AgentSnapshot
from determined_wire.agent_link import (
    PROTOCOL,
    AgentAck,
    ContainerReport,
    Device,
    Refused,
    Welcome,
)

pytestmark = pytest.mark.slow


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with led_listener() as value:
        yield value


@covers("scheduling-and-provisioning d.1.no_id")
@pytest.mark.parametrize(
    ("first", "reason", "is_final"),
    [
        (b"not json", "a frame that is not of the protocol", False),
        (b'{"kind": "unheard_of"}', "a frame that is not of the protocol", False),
        ("text that is no json", "a frame that is not of the protocol", False),
        (AgentAck(1), "the first message is a AgentAck, not a hello", False),
        (hello(agent_id=" "), "set its option `agent_id`", True),
        (hello(protocol=99), "install the same version on both", True),
        (hello(acknowledged_epoch=4, cluster_id="cluster-1"), "of epoch 3, is out of date", False),
    ],
)
@covers("agent-config 4.refused")
async def test_a_bad_opening_is_refused_with_the_reason(
    listener: Listener, first: Any, reason: str, is_final: bool
) -> None:
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(first)
        answer = await agent.hear()
        assert isinstance(answer, Refused)
        assert reason in answer.reason
        assert answer.is_final is is_final
        assert await agent.is_closed()
    assert listener.backend is not None
    assert listener.backend.agents() == []


async def test_the_epoch_of_another_cluster_does_not_matter(listener: Listener) -> None:
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello(acknowledged_epoch=99, cluster_id="another"))
        assert isinstance(await agent.hear(), Welcome)


async def test_a_web_page_is_refused(listener: Listener) -> None:
    async with dial(listener, origin="http://evil.example") as socket:
        agent = Agent(socket)
        await agent.say(hello())
        answer = await agent.hear()
        assert isinstance(answer, Refused)
        assert "web pages may not use it" in answer.reason


async def test_a_master_that_does_not_lead_asks_to_try_again(listener: Listener) -> None:
    assert listener.backend is not None
    await listener.backend.close()
    async with dial(listener) as socket:
        answer = await Agent(socket).hear()
        assert isinstance(answer, Refused)
        assert not answer.is_final


async def test_an_agent_that_comes_in_while_the_lead_ends_is_sent_away_to_come_again(
    listener: Listener,
) -> None:
    assert listener.backend is not None
    backend = listener.backend

    class LeadEnds(Recorder):
        async def agent_joined(
            self, agent: AgentSnapshot, containers: tuple[ContainerReport, ...]
        ) -> tuple[str, ...]:
            await backend.close()
            backend.open({"agent-1": "default"}, 4)
            return await super().agent_joined(agent, containers)

    backend._events = LeadEnds()
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello())
        assert isinstance(await agent.hear(), Welcome)
        async with asyncio.timeout(60):
            answer = await agent.hear()
        assert isinstance(answer, Refused)
        assert not answer.is_final
    assert [a.is_connected for a in backend.agents()] == [False]
    backend._events = Recorder()
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello())
        assert isinstance(await agent.hear(), Welcome)
        await until(lambda: [a.is_connected for a in backend.agents()] == [True])


@covers("agent-config 4.url 4.master_first 4.agent_first")
async def test_both_sides_open_by_telling_who_they_are(listener: Listener) -> None:
    backend = listener.backend
    assert backend is not None
    events = backend._events
    assert isinstance(events, Recorder)
    events.keep.add("c")
    kept, other = ContainerReport("c", "a", "RUNNING"), ContainerReport("d", "a", "RUNNING")
    device = Device(0, "brand", "uuid", "cuda")
    said = hello(version="9.9", devices=(device,), containers=(kept, other), resource_pool="p")
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(said)
        welcome = await agent.hear()
        assert isinstance(welcome, Welcome)
        assert (welcome.master_id, welcome.cluster_id) == ("master-1", "cluster-1")
        assert (welcome.cluster_name, welcome.version, welcome.keep) == ("test", "0.0", ("c",))
        [(snapshot, containers)] = events.joined
    assert (snapshot.id, snapshot.version, snapshot.pool) == ("agent-1", "9.9", "p")
    assert (snapshot.hostname, snapshot.devices) == ("host-1", (device,))
    assert [c.container_id for c in containers] == ["c", "d"]


@covers("scheduling-and-provisioning d.1.first_message d.1.no_pool d.4.unexpected")
async def test_a_welcome_says_who_the_master_is_and_what_to_keep(listener: Listener) -> None:
    assert listener.backend is not None
    events = listener.backend._events
    assert isinstance(events, Recorder)
    events.keep.add("wanted")
    async with dial(listener) as socket:
        agent = Agent(socket)
        reports = tuple(ContainerReport(c, "a", "RUNNING") for c in ("wanted", "unwanted"))
        await agent.say(hello(containers=reports))
        welcome = await agent.hear()
        assert isinstance(welcome, Welcome)
        who = identity()
        assert (welcome.master_id, welcome.cluster_id) == (who.master_id, who.cluster_id)
        assert (welcome.version, welcome.epoch) == (who.version, 3)
        assert welcome.keep == ("wanted",)
        [(seen, told)] = events.joined
        assert (seen.pool, told) == ("default", reports)


@covers("scheduling-and-provisioning d.1.half_open b.6.not_started")
async def test_an_agent_that_has_not_said_what_it_has_is_not_known(listener: Listener) -> None:
    assert listener.backend is not None
    async with dial(listener):
        assert listener.backend.agents() == []
    assert listener.backend.agents() == []
    assert isinstance(listener.backend._events, Recorder)
    assert (listener.backend._events.joined, listener.backend._events.lost) == ([], [])


@covers("scheduling-and-provisioning d.2.skew")
async def test_another_version_is_admitted_and_another_protocol_is_refused_with_both_numbers(
    listener: Listener,
) -> None:
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello(version="0.1.2-old"))
        assert isinstance(await agent.hear(), Welcome)
        assert listener.backend is not None
        assert [a.version for a in listener.backend.agents()] == ["0.1.2-old"]
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello(protocol=99))
        answer = await agent.hear()
        assert isinstance(answer, Refused)
        assert "speaks protocol 99 and this master" in answer.reason
        assert f") {PROTOCOL}: install" in answer.reason

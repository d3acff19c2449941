"""What the master's end of the link does with frames that no good agent sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.agent_link import Listener, Recorder, until
from tests.backends.agents.hand_driven import Agent, dial, hello, led_listener
from tests.covers import covers

from determined_master import clock
from determined_master.backends.agents.session import LinkTimes
from determined_wire.agent_link import (
    AgentAck,
    ContainerChanged,
    ContainerReport,
    Device,
    ForgetContainer,
    FromMaster,
    LogBatch,
    LogSpan,
    MachineEnding,
    MasterAck,
    Ping,
    Refused,
    Welcome,
)

pytestmark = pytest.mark.slow


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with led_listener() as value:
        yield value


SPAN = LogSpan(1, 0)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"{", "a frame that is not of the protocol"),
        (hello(), "a second hello"),
        (LogBatch("c", "a", "t", 1, "one\ntwo", (SPAN,)), "of 2 lines that counts 1"),
        (LogBatch("c", "a", "t", 0, "one", (SPAN,)), "a log batch"),
        (b"x" * (16 * 2**20 + 1), ""),
    ],
)
async def test_a_bad_message_ends_the_connection_and_the_agent_may_come_back(
    listener: Listener, message: Any, reason: str
) -> None:
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello())
        assert isinstance(await agent.hear(), Welcome)
        await agent.say(message)
        if reason:
            answer = await agent.hear()
            assert isinstance(answer, Refused)
            assert reason in answer.reason
            assert not answer.is_final
        assert await agent.is_closed()
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello())
        assert isinstance(await agent.hear(), Welcome)


@covers("agent-config 4.reconnected")
@covers("scheduling-and-provisioning d.4.resent")
async def test_a_repeated_message_is_acknowledged_and_handled_once(listener: Listener) -> None:
    assert listener.backend is not None
    events = listener.backend._events
    assert isinstance(events, Recorder)
    change = ContainerChanged(1, ContainerReport("c", "a", "RUNNING"))
    for number in (1, 2):
        async with dial(listener) as socket:
            agent = Agent(socket)
            await agent.say(hello())
            welcome = await agent.hear()
            assert welcome.acknowledged == number - 1
            for _ in range(2):
                await agent.say(change)
                assert await agent.hear() == MasterAck(change.number)
        change = ContainerChanged(2, ContainerReport("c", "a", "TERMINATED"))
    assert [n for _, n, _ in events.changes] == [1, 2]


async def test_an_agent_whose_machine_ends_gets_no_more_work(listener: Listener) -> None:
    assert listener.backend is not None
    events = listener.backend._events
    assert isinstance(events, Recorder)

    def is_draining() -> bool:
        assert listener.backend is not None
        [agent] = listener.backend.agents()
        return agent.is_draining

    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello())
        assert isinstance(await agent.hear(), Welcome)
        await agent.say(MachineEnding("two\nminutes " + "x" * 1000))
        await agent.say(ContainerChanged(1, ContainerReport("c", "a", "RUNNING")))
        assert await agent.hear() == MasterAck(1)
    [(name, boot, reason)] = events.ending
    assert (name, boot) == ("agent-1", "boot-1")
    assert reason.startswith("two minutes xxx")
    assert len(reason) == 300
    assert is_draining()
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello(boot_id="another machine of this name"))
        assert isinstance(await agent.hear(), Welcome)
        assert not is_draining()


async def test_a_new_boot_numbers_its_messages_again(listener: Listener) -> None:
    assert listener.backend is not None
    events = listener.backend._events
    assert isinstance(events, Recorder)
    for boot in ("one", "two"):
        async with dial(listener) as socket:
            agent = Agent(socket)
            await agent.say(hello(boot_id=boot))
            assert (await agent.hear()).acknowledged == 0
            await agent.say(ContainerChanged(1, ContainerReport("c", "a", "RUNNING")))
            assert await agent.hear() == MasterAck(1)
    assert [(b, n) for b, n, _ in events.changes] == [("one", 1), ("two", 1)]


@covers("agent-config 4.same_id")
async def test_a_silent_agent_gives_way_to_another_of_its_id(listener: Listener) -> None:
    async with dial(listener) as first, dial(listener) as second:
        await Agent(first).say(hello(boot_id="one"))
        assert isinstance(await Agent(first).hear(), Welcome)
        await Agent(second).say(hello(boot_id="two"))
        assert isinstance(await Agent(second).hear(), Welcome)
    assert listener.backend is not None
    assert len(listener.backend.agents()) == 1


async def test_an_agent_that_leaves_while_it_is_asked_gives_way_too(listener: Listener) -> None:
    async with dial(listener) as first, dial(listener) as second:
        await Agent(first).say(hello(boot_id="one"))
        assert isinstance(await Agent(first).hear(), Welcome)
        await Agent(second).say(hello(boot_id="two"))
        assert isinstance(msgspec.json.decode(await first.recv(), type=FromMaster), Ping)
        await first.close()
        assert isinstance(await Agent(second).hear(), Welcome)


@covers("agent-config 4.buffered")
@covers("scheduling-and-provisioning d.3.buffered d.3.back")
async def test_an_order_waits_for_its_acknowledgement_and_is_sent_again(
    listener: Listener,
) -> None:

    backend = listener.backend
    assert backend is not None
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello())
        await agent.hear()
        await until(lambda: backend.agents()[0].is_connected)
        ordering = asyncio.create_task(backend.signal_container("agent-1", "c", 15))
        first = await agent.hear()
    assert not ordering.done()
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello())
        await agent.hear()
        assert await agent.hear() == first
        await agent.say(AgentAck(first.number))
        await asyncio.wait_for(ordering, 60)
    async with dial(listener) as socket:
        agent = Agent(socket)
        await agent.say(hello(acknowledged_epoch=3, acknowledged=first.number))
        await agent.hear()
        await agent.say(ContainerChanged(1, ContainerReport("c", "a", "RUNNING")))
        assert await agent.hear() == MasterAck(1)


@covers("agent-config 4.changed")
async def test_reports_of_a_returning_agent_count(listener: Listener) -> None:
    backend = listener.backend
    assert backend is not None
    for pool, slots in (("one", 2), ("two", 1)):
        devices = tuple(Device(n, "b", f"u{n}", "cpu") for n in range(slots))
        async with dial(listener) as socket:
            agent = Agent(socket)
            await agent.say(hello(boot_id=pool, resource_pool=pool, devices=devices))
            assert isinstance(await agent.hear(), Welcome)
            await until(lambda: backend.agents()[0].is_connected)
            [found] = backend.agents()
            assert (found.pool, found.devices) == (pool, devices)


@covers("agent-config 4.keepalive")
async def test_an_agent_that_answers_no_ping_is_gone(listener: Listener) -> None:
    times = LinkTimes()
    assert times.ping_after_s == 15
    assert times.ping_after_s + times.answer_s < 60
    async with dial(listener) as socket:
        await socket.send(msgspec.json.encode(hello()))
        heard = [msgspec.json.decode(await socket.recv(), type=FromMaster) for _ in range(2)]
        assert [type(h) for h in heard] == [Welcome, Ping]
        assert await Agent(socket).is_closed()
    assert listener.backend is not None
    await until(lambda: [a.is_connected for a in listener.backend.agents()] == [False])


async def test_an_agent_that_returns_too_late_gets_its_given_up_containers(
    listener: Listener,
) -> None:
    assert listener.backend is not None
    events = listener.backend._events
    assert isinstance(events, Recorder)
    events.keep = {"wanted"}
    mine = tuple(ContainerReport(c, "a", "RUNNING") for c in ("wanted", "given-up"))
    for cluster_id, unwanted in (("cluster-1", ("given-up",)), ("another", ())):
        async with dial(listener) as first, dial(listener) as second:
            holder, late = Agent(first), Agent(second)
            await holder.say(hello(boot_id="one"))
            assert isinstance(await holder.hear(), Welcome)
            answering = asyncio.create_task(holder.keep_answering())
            await late.say(hello(boot_id="two", containers=mine, cluster_id=cluster_id))
            answer = await late.hear()
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
        assert isinstance(answer, Refused)
        assert answer.is_final
        assert answer.unwanted == unwanted


async def test_lines_of_an_agent_whose_clock_is_off_get_times_of_ours(listener: Listener) -> None:
    assert listener.backend is not None
    hour_us = 3600 * 10**6
    now_us = int(clock.now().timestamp() * 1e6)
    taken: list[LogBatch] = []

    class Keeps(Recorder):
        async def store_logs(self, agent_id: str, batch: LogBatch) -> int:
            taken.append(batch)
            return await super().store_logs(agent_id, batch)

    listener.backend._events = Keeps()
    for ahead_us in (hour_us, -hour_us, 0):
        taken.clear()
        async with dial(listener) as socket:
            agent = Agent(socket)
            await agent.say(hello(sent_at_us=now_us + ahead_us))
            assert isinstance(await agent.hear(), Welcome)
            spans = (LogSpan(1, now_us + ahead_us),)
            await agent.say(LogBatch(f"c{ahead_us}", "a", "t", 1, "one", spans))
            await agent.hear()
        [batch] = taken
        assert abs(batch.spans[0].at_us - now_us) < 60 * 10**6


@covers("scheduling-and-provisioning d.3.other_devices")
async def test_an_agent_comes_back_with_other_devices(listener: Listener) -> None:
    one, other = (Device(id=n, brand="b", uuid=f"u{n}", type="cuda") for n in range(2))
    assert listener.backend is not None
    for devices in ((one,), (one, other), (other,)):
        async with dial(listener) as socket:
            agent = Agent(socket)
            await agent.say(hello(devices=devices))
            assert isinstance(await agent.hear(), Welcome)
            assert [a.devices for a in listener.backend.agents()] == [devices]


@pytest.mark.parametrize(
    ("cluster_id", "epoch", "number"),
    [("cluster-1", 3, 8), ("cluster-1", 2, 1), ("another", 3, 1)],
    ids=["this epoch", "an older one", "another cluster"],
)
async def test_orders_continue_where_an_agent_that_was_given_up_had_counted_to(
    listener: Listener, cluster_id: str, epoch: int, number: int
) -> None:
    """It drops what is numbered lower as repeated, and the order would be lost."""
    backend = listener.backend
    assert backend is not None
    async with dial(listener) as socket:
        agent = Agent(socket)
        known = {"acknowledged": 7, "acknowledged_epoch": epoch, "cluster_id": cluster_id}
        await agent.say(hello(**known))
        assert isinstance(await agent.hear(), Welcome)
        await until(lambda: backend.agents()[0].is_connected)
        ordering = asyncio.create_task(backend.signal_container("agent-1", "c", 15))
        async with asyncio.timeout(60):
            order = await agent.hear()
        assert order.number == number
        await agent.say(AgentAck(order.number))
        await ordering


async def test_a_joining_agent_gets_its_forget_orders_after_the_welcome(
    listener: Listener,
) -> None:
    """Its welcome may promise a container whose end is stored before it is in."""
    backend = listener.backend
    assert backend is not None
    events = backend._events
    assert isinstance(events, Recorder)
    events.keep.add("c")
    async with dial(listener) as socket:
        events.before_welcome = lambda: backend.forget_container("agent-1", "c")
        agent = Agent(socket)
        await agent.say(hello())
        welcome = await agent.hear()
        assert isinstance(welcome, Welcome)
        assert welcome.keep == ("c",)
        forget = await agent.hear()
        assert isinstance(forget, ForgetContainer)
        assert forget.container_id == "c"

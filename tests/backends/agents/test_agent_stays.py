"""Which agents a master lets in, which it gives up, and which master they obey."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import (
    FAST,
    Listener,
    OpenDoor,
    Recorder,
    identity,
    order,
    processes_with,
    spec,
    until,
)
from tests.backends.agents.real_agents import backend_of, connected, counting
from tests.covers import covers

from determined_master.backends.agents.backend import AgentBackend
from determined_master.ports.agents import NotConnected

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


@covers("scheduling-and-provisioning d.1.past_reconnect d.3.liveness")
@pytest.mark.kill
@covers("agent-config 4.too_late")
async def test_a_stopped_agent_is_lost_and_comes_back(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events, wait_s=0.3, times=FAST)
    agent = agents()
    await until(lambda: connected(backend))
    await backend.start_container(order(container, spec("import time", "time.sleep(600)")))
    agent.send(signal.SIGSTOP)
    waiting = asyncio.create_task(backend.signal_container("agent-1", container, 15))
    await until(lambda: events.lost)
    with pytest.raises(NotConnected, match="did not reconnect"):
        await waiting
    agent.send(signal.SIGCONT)
    await until(lambda: len(events.joined) > 1)
    await until(lambda: not agent.directory(container).exists())
    assert processes_with(f"DET_CONTAINER_ID={container}") == []


@covers("agent-config 4.same_id")
@covers("scheduling-and-provisioning d.1.connected")
async def test_a_second_agent_with_the_same_id_is_refused_by_name(
    listener: Listener, agents: Any, tmp_path: Path
) -> None:
    backend = backend_of(listener, Recorder())
    agents()
    await until(lambda: connected(backend))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    second = agents(elsewhere)
    assert await asyncio.to_thread(second.process.wait, 60) == 3
    assert "id 'agent-1' is connected already, from host" in second.log.read_text()
    assert "give one of them another `agent_id`" in second.log.read_text()
    assert connected(backend)


async def test_a_second_agent_over_the_same_directory_does_not_start(
    listener: Listener, agents: Any, tmp_path: Path
) -> None:
    backend = backend_of(listener, Recorder())
    agents()
    await until(lambda: connected(backend))
    second = agents()
    assert await asyncio.to_thread(second.process.wait, 60) == 2
    assert "already runs as 'agent-1'" in second.log.read_text()


@covers("agent-config 4.orders")
@covers("scheduling-and-provisioning d.3.must_restart")
async def test_a_refused_agent_ends_and_says_what_to_do(listener: Listener, agents: Any) -> None:
    backend_of(listener, Recorder(), door=OpenDoor("wrong token: run `det agent token`"))
    agent = agents()
    assert await asyncio.to_thread(agent.process.wait, 60) == 3
    assert "run `det agent token`" in agent.log.read_text()


async def test_an_agent_is_reached_where_it_connects_from_not_where_it_says(
    listener: Listener, agents: Any
) -> None:
    backend = backend_of(listener, Recorder())
    agents(advertised_address="gpu-7.example")
    await until(lambda: connected(backend))
    assert backend.agents()[0].address == "127.0.0.1"


@covers("agent-config 2.container_runtime")
async def test_an_agent_whose_runtime_is_missing_names_the_remedy(
    listener: Listener, agents: Any
) -> None:
    agent = agents(container_runtime="docker", docker_host="unix:///nowhere/docker.sock")
    assert await asyncio.to_thread(agent.process.wait, 60) == 2
    said = agent.log.read_text()
    assert "the Docker daemon at unix:///nowhere/docker.sock cannot be reached" in said
    assert "`container_runtime: process` runs tasks as plain processes" in said


@pytest.mark.kill
async def test_a_new_master_of_a_higher_epoch_takes_over_and_an_older_one_does_not(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    events.keep.add(container)
    backend = backend_of(listener, events, epoch=4)
    agent = agents()
    await until(lambda: connected(backend))
    await backend.start_container(order(container, spec(*counting(10**6, 0.005))))
    await until(lambda: len(events.lines.get(container, ())) > 20)
    listener.backend = None
    await backend.close()

    older = backend_of(listener, Recorder(), epoch=3)
    await until(lambda: "of epoch 3, is out of date" in agent.log.read_text())
    assert not connected(older)
    await older.close()

    newer = backend_of(listener, events, epoch=5)
    await until(lambda: connected(newer))
    seen = len(events.lines[container])
    await until(lambda: len(events.lines[container]) > seen + 20)
    assert newer.agents()[0].id == "agent-1"
    await newer.signal_container("agent-1", container, 9)
    await until(lambda: container in events.complete)
    lines = events.texts(container)
    assert lines == [f"line {i}" for i in range(len(lines))]


@covers("agent-config 4.reconnect")
@covers("scheduling-and-provisioning d.3.window d.3.not_back d.4.expected")
async def test_an_expected_agent_that_never_comes_is_lost(listener: Listener) -> None:
    events = Recorder()
    backend = AgentBackend(
        identity(), events, OpenDoor(), reconnect_wait_s=lambda pool: 0.1 if pool == "p" else 9
    )
    backend.open({"agent-7": "p"}, 1)
    listener.backend = backend
    assert [(a.id, a.is_connected) for a in backend.agents()] == [("agent-7", False)]
    await until(lambda: events.lost)
    assert events.lost == [("agent-7", "it did not reconnect within 0.1 s")]
    assert backend.agents() == []

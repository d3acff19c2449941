"""A real agent process against the master's end of the link, over a real socket."""

from __future__ import annotations

import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import (
    FAST,
    AgentProcess,
    Listener,
    OpenDoor,
    Recorder,
    identity,
    kill_leftovers,
    listening,
    order,
    spec,
    until,
)

from determined_master.backends.agents.backend import AgentBackend

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with listening() as value:
        yield value


@pytest.fixture
def container() -> Iterator[str]:
    container_id = str(uuid.uuid4())
    yield container_id
    kill_leftovers({"DET_CONTAINER_ID": container_id})


@pytest.fixture
def agents(tmp_path: Path, listener: Listener) -> Iterator[Any]:
    started: list[AgentProcess] = []

    def start(**options: Any) -> AgentProcess:
        agent = AgentProcess(tmp_path, listener.port, **options)
        agent.start()
        started.append(agent)
        return agent

    yield start
    for agent in started:
        agent.send(signal.SIGCONT)
        agent.stop(signal.SIGKILL)


def backend_of(
    listener: Listener, events: Recorder, *, wait_s: float = 25.0, door: Any = None, **facts: Any
) -> AgentBackend:
    backend = AgentBackend(
        identity(**facts),
        events,
        door or OpenDoor(),
        reconnect_wait_s=lambda _: wait_s,
        times=FAST,
    )
    backend.open({})
    listener.backend = backend
    return backend


def connected(backend: AgentBackend) -> bool:
    return any(a.is_connected for a in backend.agents())


COUNTING = (
    "import sys, time",
    "for i in range({n}):",
    "    print('line', i, flush=True)",
    "    time.sleep({pause})",
)


def counting(n: int, pause: float = 0.0) -> tuple[str, ...]:
    return tuple(line.format(n=n, pause=pause) for line in COUNTING)


async def test_a_container_runs_ends_and_is_forgotten(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events)
    agent = agents()
    await until(lambda: connected(backend))
    [snapshot] = backend.agents()
    assert (snapshot.id, snapshot.pool, snapshot.address) == ("agent-1", "default", "127.0.0.1")
    assert [d.id for d in snapshot.devices] == [0, 1]

    what = spec(
        "print('hello'); import sys; print('oh', file=sys.stderr); sys.exit(3)", ports=(1734,)
    )
    await backend.start_container(order(container, what))
    await until(lambda: container in events.complete)
    await until(lambda: (r := events.last(container)) and r.state == "TERMINATED")

    states = [r.state for _, _, r in events.changes]
    assert states == ["STARTING", "RUNNING", "TERMINATED"]
    assert [n for _, n, _ in events.changes] == [1, 2, 3]
    running, ended = events.changes[1][2], events.changes[2][2]
    assert [(a.host_ip, a.host_port) for a in running.addresses] == [("127.0.0.1", 1734)]
    assert (ended.exit_code, ended.failure and ended.failure.type) == (3, "container_failed")
    assert sorted(events.texts(container)) == ["hello", "oh"]
    assert agent.directory(container).exists()
    await backend.forget_container("agent-1", container)
    await until(lambda: not agent.directory(container).exists())

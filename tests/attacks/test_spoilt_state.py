"""Finding N15: an agent with spoilt files lets tasks run on, beside those that replace them."""

from __future__ import annotations

import shutil
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from tests.agent_link import (
    AgentProcess,
    Listener,
    Recorder,
    kill_leftovers,
    listening,
    order,
    processes_with,
    spec,
    until,
)
from tests.backends.agents.real_agents import backend_of, connected

pytestmark = pytest.mark.slow
FOREVER = ("import subprocess, time", "subprocess.Popen(['sleep', '600'])", "time.sleep(600)")


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with listening() as made:
        yield made


@pytest.fixture
def container_id() -> Iterator[str]:
    made = str(uuid.uuid4())
    yield made
    kill_leftovers({"DET_CONTAINER_ID": made})


@pytest.fixture
def agent(tmp_path: Path, listener: Listener) -> Iterator[AgentProcess]:
    made = AgentProcess(tmp_path, listener.port)
    made.start()
    yield made
    made.stop(signal.SIGKILL)


def with_text(name: str, text: str) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_text(text) and None


SPOILS: dict[str, Callable[[Path], None]] = {
    "empty record": with_text("container.json", " "),
    "garbage": with_text("container.json", "\x00\x01"),
    "deep record": with_text("container.json", "[" * 100_000),
    "another's record": with_text(
        "container.json",
        '{"container_id": "x", "allocation_id": "a", "task_id": "t", "slot_ids": []}',
    ),
    "no record": lambda directory: (directory / "container.json").unlink(),
    "no record, no pid": lambda directory: (
        [(directory / name).unlink() for name in ("container.json", "pid")] and None
    ),
    "no directory": shutil.rmtree,
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS.keys())
async def test_a_task_that_the_agent_cannot_know_is_ended_before_it_joins(
    listener: Listener, agent: AgentProcess, container_id: str, spoil: Callable[[Path], None]
) -> None:
    events = Recorder()
    backend = backend_of(listener, events)
    await until(lambda: connected(backend), what=agent.log.read_text())
    events.keep.add(container_id)
    await backend.start_container(order(container_id, spec(*FOREVER)))
    marker = f"DET_CONTAINER_ID={container_id}"
    await until(lambda: len(processes_with(marker)) == 2)
    agent.stop(signal.SIGKILL)
    await until(lambda: not connected(backend))
    spoil(agent.directory(container_id))
    running_at_join: list[int] = []

    async def look() -> None:
        running_at_join.extend(processes_with(marker))

    events.before_welcome = look
    agent.start()
    await until(lambda: connected(backend), what=agent.log.read_text())
    assert running_at_join == [], "the master would start it again beside these"
    assert f"container={container_id}" in agent.log.read_text()
    assert "whose directory cannot be read" in agent.log.read_text()
    assert events.joined[-1][1] == ()
    await until(lambda: not agent.directory(container_id).exists())


@pytest.mark.parametrize("name", ["pid", "status", "cursor", "lock"])
async def test_an_agent_starts_whatever_its_other_files_hold(
    listener: Listener, agent: AgentProcess, container_id: str, name: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events)
    await until(lambda: connected(backend), what=agent.log.read_text())
    events.keep.add(container_id)
    done = ("print('done')",) if name in ("status", "cursor") else FOREVER
    await backend.start_container(order(container_id, spec(*done)))
    marker = f"DET_CONTAINER_ID={container_id}"
    state = "TERMINATED" if done != FOREVER else "RUNNING"

    def has_reached() -> bool:
        last = events.last(container_id)
        return last is not None and last.state == state

    await until(has_reached)
    agent.stop(signal.SIGKILL)
    await until(lambda: not connected(backend))
    (agent.directory(container_id) / name).write_bytes(b"\xff\x00 spoilt\n=\n")
    agent.start()
    await until(lambda: connected(backend), what=agent.log.read_text())
    await backend.signal_container("agent-1", container_id, 9)
    await until(lambda: not processes_with(marker))
    assert "Traceback" not in agent.log.read_text()

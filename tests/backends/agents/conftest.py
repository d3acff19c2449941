"""A master's end of the link, and agents as processes of their own."""

from __future__ import annotations

import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import (
    AgentProcess,
    Listener,
    kill_leftovers,
    listening,
)


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

    def start(directory: Path = tmp_path, **options: Any) -> AgentProcess:
        agent = AgentProcess(directory, listener.port, **options)
        agent.start()
        started.append(agent)
        return agent

    yield start
    for agent in started:
        agent.send(signal.SIGCONT)
        agent.stop(signal.SIGKILL)

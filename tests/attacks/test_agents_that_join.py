"""Finding N3: code in a task joins as an agent, and is given the tasks and tokens of others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.agent_link import Listener, Recorder, identity, listening
from tests.master_settings import read
from websockets.asyncio.client import connect

from determined_master.backends.agents.backend import AgentBackend
from determined_master.services.cluster.agents import Join
from determined_wire.agent_link import PROTOCOL, Device, FromMaster, Hello, Refused

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


def stranger(**overrides: Any) -> Hello:
    """Sixteen slots of nobody's: the scheduler would give them work at once."""
    values: dict[str, Any] = {
        "protocol": PROTOCOL,
        "agent_id": "evil",
        "boot_id": "b",
        "version": "0",
        "resource_pool": "default",
        "hostname": "h",
        "devices": tuple(Device(n, "gpu", f"GPU-{n}", "cuda") for n in range(16)),
        "runtime": "process",
    }
    return Hello(**(values | overrides))


async def ask(port: int, hello: Hello) -> FromMaster:
    """The master's first answer."""
    async with connect(f"ws://127.0.0.1:{port}/agents", proxy=None) as link:
        await link.send(msgspec.json.encode(hello))
        answer: FromMaster = msgspec.json.decode(await link.recv(), type=FromMaster)
    return answer


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def listener() -> AsyncIterator[Listener]:
    async with listening() as made:
        yield made


async def test_code_in_a_task_does_not_join_a_master_on_loopback(
    listener: Listener, tmp_path: Path
) -> None:
    settings = read(tmp_path, "host: 127.0.0.1")
    join = Join(
        ["a" * 43],
        is_open=settings.is_join_open,
        allow_process_runtime=bool(settings.security.allow_process_runtime),
    )
    events = Recorder()
    listener.backend = AgentBackend(identity(), events, join)
    listener.backend.open({}, 1)
    for token in ("", "guessed"):
        answer = await ask(listener.port, stranger(join_token=token))
        assert isinstance(answer, Refused)
        assert answer.is_final
        assert "run `det -u admin agent token`" in answer.reason
    assert not events.joined
    assert not listener.backend.agents()

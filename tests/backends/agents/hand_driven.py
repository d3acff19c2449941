"""An agent whose every frame is a test's own, and the end of the link that it talks to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from tests.agent_link import FAST, Listener, OpenDoor, Recorder, identity, listening
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from determined_master.backends.agents.backend import AgentBackend
from determined_wire.agent_link import (
    FromMaster,
    Hello,
    Ping,
    Pong,
)


@asynccontextmanager
async def led_listener() -> AsyncIterator[Listener]:
    """A master's end of the link, which leads in epoch 3 and knows no agent."""
    async with listening() as value:
        value.backend = AgentBackend(
            identity(), Recorder(), OpenDoor(), reconnect_wait_s=lambda _: 9, times=FAST
        )
        value.backend.open({}, 3)
        yield value


def hello(**overrides: Any) -> Hello:
    values: dict[str, Any] = {
        "protocol": 1,
        "agent_id": "agent-1",
        "boot_id": "boot-1",
        "version": "0.0",
        "resource_pool": "default",
        "hostname": "host-1",
        "devices": (),
    }
    return Hello(**(values | overrides))


class Agent:
    """A hand-driven agent."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def say(self, message: Any) -> None:
        data = message if isinstance(message, (bytes, str)) else msgspec.json.encode(message)
        await self.socket.send(data)

    async def hear(self) -> Any:
        """The next message but pings, which are answered."""
        while True:
            message = msgspec.json.decode(await self.socket.recv(), type=FromMaster)
            if not isinstance(message, Ping):
                return message
            await self.say(Pong())

    async def keep_answering(self) -> None:
        """Answer pings for as long as the connection is up."""
        while True:
            await self.hear()

    async def is_closed(self) -> bool:
        try:
            while True:
                await asyncio.wait_for(self.socket.recv(), 60)
        except ConnectionClosed:
            return True


def dial(listener: Listener, **options: Any) -> Any:
    return connect(f"ws://127.0.0.1:{listener.port}/agents", proxy=None, **options)

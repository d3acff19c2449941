"""An order that the agent cannot read is refused, and the agent stays connected."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from websockets.asyncio.server import ServerConnection, serve

from determined_agent.link.agent_key import AgentKey
from determined_agent.link.connection import MasterLink
from determined_agent.link.hello import AgentIdentity
from determined_agent.settings.options import Settings
from determined_agent.supervisor import refused_start
from determined_wire.agent_link import (
    PROTOCOL,
    ContainerReport,
    Order,
    UnreadableOrder,
    Welcome,
    unreadable_order,
)

ORDER = {
    "kind": "start_container",
    "number": 1,
    "epoch": 3,
    "container_id": "c",
    "allocation_id": "1.a.1",
    "slot_ids": [0],
    "spec": {"task_id": "1.a", "mounts": [{"host_path": 5, "container_path": "/a"}]},
}
SIGNAL = {"kind": "signal_container", "number": 2, "epoch": 3, "container_id": "d", "signal": 9}


class Handler:
    """Collects what the link delivers, and reports refused starts as the supervisor does."""

    def __init__(self) -> None:
        self.link: MasterLink | None = None
        self.refused: list[UnreadableOrder] = []
        self.orders: list[Order] = []

    def reports(self) -> tuple[ContainerReport, ...]:
        return ()

    def newest_master(self) -> tuple[str, int]:
        return "", 0

    def welcome(self, welcome: Welcome) -> None:
        pass

    def handle_order(self, order: Order) -> None:
        self.orders.append(order)

    def refuse_order(self, order: UnreadableOrder) -> None:
        self.refused.append(order)
        assert self.link is not None
        self.link.report(refused_start(order))

    def log_stored(self, message: Any) -> None:
        pass

    def disconnected(self) -> None:
        pass


async def test_an_unreadable_order_is_refused_and_the_next_one_is_carried_out() -> None:
    received: asyncio.Queue[Any] = asyncio.Queue()

    async def master(socket: ServerConnection) -> None:
        await socket.recv()  # its hello
        welcome = Welcome(PROTOCOL, 3, "m", "c", "cluster", "0", ())
        await socket.send(msgspec.json.encode(welcome))
        for order in (ORDER, SIGNAL):
            await socket.send(msgspec.json.encode(order))
        async for frame in socket:
            await received.put(msgspec.json.decode(frame))

    async with serve(master, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        settings = Settings(master_host="127.0.0.1", master_port=port, agent_id="a")
        key = AgentKey("", is_known=True)
        identity = AgentIdentity(boot_id="boot", version="0", hostname="h", devices=(), key=key)
        link = MasterLink(settings, identity)
        handler = Handler()
        handler.link = link
        running = asyncio.create_task(link.run(handler))
        seen = [await asyncio.wait_for(received.get(), 10) for _ in range(3)]
        running.cancel()
    acknowledged = [m["number"] for m in seen if m["kind"] == "agent_ack"]
    [changed] = [m for m in seen if m["kind"] == "container_changed"]
    assert acknowledged == [1, 2]
    assert changed["report"]["state"] == "TERMINATED"
    assert "host_path" in changed["report"]["failure"]["message"]
    assert [order.number for order in handler.orders] == [2]
    assert [order.container_id for order in handler.refused] == ["c"]


def test_a_frame_that_is_no_order_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        unreadable_order(b'{"kind": "nosuch"}', "")

"""Finding 1: an order that no agent can read stops the agent's connection."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.agent_link import spec

from determined_master.backends.agents.orders import OrderStream
from determined_wire.agent_link import Mount, StartContainer


def start(number: int, **parts: Any) -> StartContainer:
    return StartContainer(
        number=number, epoch=1, container_id="c", allocation_id="a", slot_ids=(),
        spec=spec("true", **parts),
    )  # fmt: skip


async def test_an_order_that_agents_cannot_read_is_not_queued() -> None:
    orders = OrderStream()
    bad: Any = 5
    for parts in ({"mounts": (Mount(bad, "/x"),)}, {"environment": {"A": bad}}, {"ports": ("x",)}):
        with pytest.raises(msgspec.ValidationError):
            orders.add(lambda number, parts=parts: start(number, **parts))
    assert orders.after(0) == []
    orders.add(lambda number: start(number, mounts=(Mount("/h", "/x"),)))
    assert [order.number for order in orders.after(0)] == [1]

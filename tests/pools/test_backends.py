"""Which backend runs which containers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.api.master import OneAgent, snapshot
from tests.namespaces_in_memory import ClusterInMemory

from determined_master.pools.backends import Backends
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import StartOrder
from determined_wire.agent_link import ContainerSpec

MANAGERS = {"default": "here", "gpus": "east", "cpus": "west"}


class Door:
    """Where agents come in; notes what it is told."""

    expected: Mapping[str, str] | None = None

    def open(self, expected: Mapping[str, str], epoch: int) -> None:
        self.expected = expected

    async def close(self) -> None:
        self.expected = None


def order(agent_id: str) -> StartOrder:
    spec = ContainerSpec(
        task_id="t",
        task_type="TRIAL",
        description="",
        entrypoint=("true",),
        environment={},
        work_dir="/",
    )
    return StartOrder(
        agent_id=agent_id, container_id="c", allocation_id="a", slot_ids=(0,), spec=spec
    )


async def test_each_backend_gets_the_orders_and_the_past_of_its_own() -> None:
    agents, admission = OneAgent(), Door()
    east = ClusterInMemory(snapshot("node", pool="gpus"))
    west = ClusterInMemory(snapshot("west.node", pool="cpus"))
    joined = Backends(agents, admission, {"east": east, "west": west}, MANAGERS)
    assert [agent.id for agent in joined.agents()] == ["a1", "node", "west.node"]
    for name in ("a1", "west.node"):
        await joined.start_container(order(name))
    assert [o.agent_id for o in agents.orders] == ["a1"]
    assert [o.agent_id for o in west.orders] == ["west.node"]
    assert east.orders == []
    with pytest.raises(NotConnected):
        await joined.signal_container("node", "c", 9)
    ran = {"a1": "default", "a2": "of the past", "node": "gpus", "west.node": "cpus"}
    joined.open(ran, epoch=3)
    assert admission.expected == {"a1": "default", "a2": "of the past"}
    assert (east.expected, west.expected) == ({"node": "gpus"}, {"west.node": "cpus"})
    await joined.close()
    assert (admission.expected, east.expected, west.expected) == (None, None, None)

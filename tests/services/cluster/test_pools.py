"""What is too large for a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.contracts.fake_machines import FakeCloud, FakeMachines
from tests.covers import covers

from determined_master import clock
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.machines.scaling import MachineType
from determined_master.pools.live import LiveAllocations
from determined_master.ports.agents import AgentSnapshot
from determined_master.services.cluster.pools import Pools
from determined_master.settings.master import Settings
from determined_master.settings.pools import ResourcePool
from determined_master.settings.providers.provider import Provider
from determined_wire.agent_link import Device

E = "scheduling-and-provisioning"
TOO_LARGE = "invalid resource configuration: slots requested exceeds cluster capacity"
UNFULFILLABLE = (
    "invalid resource configuration: request unfulfillable, please try requesting less slots"
)


class Here:
    """A backend that has agents and nothing else."""

    def __init__(self, agents: Sequence[AgentSnapshot]) -> None:
        self._agents = agents

    def agents(self) -> Sequence[AgentSnapshot]:
        return self._agents


def agent(name: str, slots: int, **more: Any) -> AgentSnapshot:
    return AgentSnapshot(
        id=name,
        pool="default",
        hostname=name,
        address="127.0.0.1",
        devices=tuple(
            Device(id=i, brand="H200", uuid=f"{name}{i}", type="cuda") for i in range(slots)
        ),
        is_connected=True,
        version="0.39.0",
        **{"registered_at": clock.now(), **more},
    )


def pools(*agents: AgentSnapshot, launch_error: bool = True) -> Pools:
    backend: Any = Here(agents)
    settings = Settings(launch_error=launch_error)
    return Pools(settings, backend, LiveAllocations(lambda pool: None))


def refusal(made: Pools, slots: int, **more: Any) -> str:
    with pytest.raises(InvalidArgument) as caught:
        made.check_fit("default", slots, **more)
    return str(caught.value)


@covers(f"{E} e.4.no_slots")
def test_a_task_without_slots_fits_everywhere() -> None:
    assert pools(agent("a", 0)).check_fit("default", 0) is False


@covers(f"{E} e.4.single")
def test_a_single_node_request_must_fit_the_largest_agent_or_gives_a_warning() -> None:
    agents = agent("a", 2), agent("b", 4, is_enabled=False, disabled_slots=frozenset({0}))
    made = pools(*agents)
    assert made.check_fit("default", 4, is_single_node=True) is False
    assert refusal(made, 5, is_single_node=True).startswith(UNFULFILLABLE)
    waits = pools(*agents, launch_error=False)
    assert waits.check_fit("default", 4, is_single_node=True) is False
    assert waits.check_fit("default", 5, is_single_node=True) is True


@covers(f"{E} e.4.total e.4.refused e.4.warned e.4.prefix")
def test_a_request_for_more_than_all_slots_is_refused_or_gives_a_warning() -> None:
    agents = (agent("a", 4), agent("b", 4))
    assert pools(*agents).check_fit("default", 8) is False
    assert refusal(pools(*agents), 9).startswith(TOO_LARGE)
    assert pools(*agents, launch_error=False).check_fit("default", 9) is True


@covers(f"{E} e.4.multiple")
def test_slots_that_fit_no_whole_agents_are_refused_with_numbers_that_do() -> None:
    made = pools(agent("a", 8), agent("b", 8))
    assert "ask for 8 or 16" in refusal(made, 12)


@covers(f"{E} e.4.no_agents")
def test_a_pool_whose_agents_are_still_to_come_takes_everything() -> None:
    assert pools().check_fit("default", 999) is False


@covers(f"{E} e.4.total")
def test_agents_that_a_task_may_not_use_do_not_count() -> None:
    agents = (agent("a", 4), agent("b", 4))
    made = pools(*agents)

    def shortage(slots: int, *excluded: str, is_single_node: bool = False) -> str | None:
        return made.find_shortage(
            "default", slots, is_single_node=is_single_node, excluded=excluded
        )

    assert shortage(4, "a") is None
    said = shortage(8, "a")
    assert said is not None
    assert said.startswith("slots requested exceeds default resource pool capacity")
    assert "log policies exclude a, 4 slots are left" in said
    assert "no agent is left" in str(shortage(0, "a", "b"))
    assert shortage(4, "a", "b", is_single_node=True) is not None
    assert shortage(9, "gone") is None  # it is not that agent that is missing


def on_demand(*agents: AgentSnapshot, slots: int = 8, launch_error: bool = True) -> Pools:
    """A pool of at most two machines."""
    backend: Any = Here(agents)
    provider: Any = FakeMachines(FakeCloud(), "default", MachineType(slots=slots))
    settings = Settings(
        launch_error=launch_error,
        resource_pools=(ResourcePool(provider=Provider(type="local", max_instances=2)),),
    )
    live = LiveAllocations(lambda pool: None)
    return Pools(settings, backend, live, {"default": provider})


@covers(f"{E} e.4.single_dynamic")
def test_a_single_node_request_must_fit_one_machine() -> None:
    for made in (on_demand(), on_demand(agent("a", 4)), on_demand(agent("a", 16))):
        assert made.check_fit("default", 8, is_single_node=True) is False
        assert refusal(made, 9, is_single_node=True).startswith(UNFULFILLABLE)


@covers(f"{E} e.4.total_dynamic")
def test_the_capacity_of_machines_counts_while_none_exists() -> None:
    assert on_demand().check_fit("default", 16) is False
    assert refusal(on_demand(), 24).startswith(TOO_LARGE)
    assert on_demand(launch_error=False).check_fit("default", 24) is True
    assert "ask for 8 or 16" in refusal(on_demand(), 12)
    assert refusal(on_demand(slots=0), 1).startswith(TOO_LARGE)
    assert on_demand(slots=0).check_fit("default", 0) is False


@covers(f"{E} e.4.total_dynamic")
def test_machines_that_a_task_may_not_use_take_the_place_of_others() -> None:
    made = on_demand(agent("a", 8))
    excluded = {"is_single_node": False, "excluded": ("a",)}
    assert made.find_shortage("default", 8, **excluded) is None
    said = made.find_shortage("default", 16, **excluded)
    assert said is not None
    assert "log policies exclude a, 8 slots are left" in said

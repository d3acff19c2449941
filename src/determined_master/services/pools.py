"""Resource pools: what they are made of, and what fits into them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain import access
from determined_master.domain.errors import InvalidArgument

if TYPE_CHECKING:
    from determined_master.domain.access import Caller
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports import AgentSnapshot, ClusterBackend
    from determined_master.settings import Settings


class PoolFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One pool at this instant; numbers count agents, slots and tasks."""

    name: str
    description: str
    agents: int
    slots: int
    used_slots: int
    device_types: frozenset[str]
    tasks_without_slots: int
    max_tasks_without_slots_per_agent: int
    is_default_compute: bool
    is_default_aux: bool
    queued: int
    scheduled: int


class Pools:
    """The pools of the settings, with the agents that are in them."""

    def __init__(self, settings: Settings, backend: ClusterBackend, live: LiveAllocations) -> None:
        self._settings = settings
        self._backend = backend
        self._live = live

    def list_all(self, caller: Caller) -> list[PoolFacts]:
        """All pools, in the order of the settings."""
        access.may(caller, "read", "cluster")
        manager = self._settings.resource_manager
        found = []
        for pool in self._settings.resource_pools:
            agents = self._agents_of(pool.pool_name)
            mine = [a for a in self._live.values() if a.request.pool == pool.pool_name]
            held = [c for a in mine for c in a.containers if c.state != "TERMINATED"]
            found.append(
                PoolFacts(
                    name=pool.pool_name,
                    description=pool.description,
                    agents=len(agents),
                    slots=_slots(agents),
                    used_slots=sum(len(c.slot_ids) for c in held),
                    device_types=frozenset(d.type for a in agents for d in a.devices),
                    tasks_without_slots=sum(not c.slot_ids for c in held),
                    max_tasks_without_slots_per_agent=pool.max_aux_containers_per_agent,
                    is_default_compute=pool.pool_name == manager.default_compute_resource_pool,
                    is_default_aux=pool.pool_name == manager.default_aux_resource_pool,
                    queued=sum(a.state == "PENDING" for a in mine),
                    scheduled=sum(a.state != "PENDING" for a in mine),
                )
            )
        return found

    def check_slots(self, pool: str, slots: int, excluded: Collection[str] = ()) -> bool:
        """Compare what one trial asks for with what its pool has.

        A pool without agents takes every request: they may still be on their way. `excluded`
        are agents that log policies keep the trial from.

        Returns:
            Whether it asks for more, where the setting `launch_error` lets that pass.

        Raises:
            InvalidArgument: it asks for more.
        """
        agents = self._agents_of(pool)
        usable = [agent for agent in agents if agent.id not in excluded]
        if not agents or (usable and slots <= _slots(usable)):
            return False
        if self._settings.launch_error and len(usable) < len(agents):
            left_out = sorted({agent.id for agent in agents} & set(excluded))
            raise InvalidArgument(
                f"log policies exclude {', '.join(left_out)}: pool {pool} has {_slots(usable)} "
                f"slots left, and resources.slots_per_trial is {slots}; repair the agents and "
                "start a new trial, or add agents"
            )
        if self._settings.launch_error:
            raise InvalidArgument(
                "invalid resource configuration: slots requested exceeds cluster capacity: "
                f"resources.slots_per_trial is {slots}, pool {pool} has {_slots(agents)} slots; "
                "ask for fewer or add agents"
            )
        return True

    def check_name(self, pool: str, field: str) -> None:
        """Do nothing when there is such a pool.

        Raises:
            InvalidArgument: there is none; those that there are are named.
        """
        names = [p.pool_name for p in self._settings.resource_pools]
        if pool not in names:
            raise InvalidArgument(
                f"{field} is '{pool}', and there is no such resource pool; "
                f"available: {', '.join(names)}"
            )

    def _agents_of(self, pool: str) -> list[AgentSnapshot]:
        return [agent for agent in self._backend.agents() if agent.pool == pool]


def _slots(agents: Sequence[AgentSnapshot]) -> int:
    return sum(len(agent.devices) for agent in agents)

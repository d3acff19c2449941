"""Resource pools: what they are made of, and what fits into them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain import access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.schedule import reasons
from determined_master.domain.schedule.fitting import Demand, fit
from determined_master.domain.schedule.room import drained
from determined_master.domain.schedule.view import AgentView, Rules
from determined_master.services.defaults import rules_of

if TYPE_CHECKING:
    from determined_master.domain.access import Caller
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports import AgentSnapshot, ClusterBackend
    from determined_master.settings import Settings
    from determined_master.settings_pools import Scheduler


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
    scheduler: Scheduler
    cluster_name: str
    """Of its resource manager, whose metadata are `metadata`."""
    metadata: Mapping[str, str]


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
            jobs = {a.request.job_id for a in mine}
            scheduled = {a.request.job_id for a in mine if a.state != "PENDING"}
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
                    queued=len(jobs - scheduled),
                    scheduled=len(scheduled),
                    scheduler=self._settings.scheduler_of(pool),
                    cluster_name=manager.cluster_name,
                    metadata={k: str(v) for k, v in (manager.metadata or {}).items()},
                )
            )
        return found

    @property
    def names(self) -> list[str]:
        """Names of all pools, in the order of the settings."""
        return [pool.pool_name for pool in self._settings.resource_pools]

    @property
    def defaults(self) -> set[str]:
        """The cluster's default pools: they serve every workspace."""
        manager = self._settings.resource_manager
        return {manager.default_compute_resource_pool, manager.default_aux_resource_pool}

    def named(self, name: str) -> str:
        """The pool of that name; the default compute pool for an empty one.

        Raises:
            NotFound: there is no such pool.
        """
        chosen = name or self._settings.resource_manager.default_compute_resource_pool
        if chosen not in self.names:
            raise NotFound(
                f"cannot find resource pool {chosen}: there are {', '.join(self.names)}"
            )
        return chosen

    def has_order(self, name: str) -> bool:
        """Whether the pool's queue has an order: by priority, not by shares."""
        return self.scheduler_type(name) == "priority"

    def scheduler_type(self, name: str) -> str:
        """`priority` or `fair_share`; empty for a pool that is not in the settings."""
        for pool in self._settings.resource_pools:
            if pool.pool_name == name:
                return self._settings.scheduler_of(pool).type
        return ""

    def check_fit(
        self,
        pool: str,
        slots: int,
        *,
        is_single_node: bool = False,
        excluded: Collection[str] = (),
    ) -> bool:
        """Compare what one trial asks for with what its pool has.

        A pool without agents takes every request: they may still be on their way. `excluded`
        are agents that log policies keep the trial from.

        Returns:
            Whether it asks for what the pool does not have, where the setting `launch_error`
            lets that pass.

        Raises:
            InvalidArgument: it asks for what the pool does not have.
        """
        agents = [
            AgentView(id=a.id, slots=len(a.devices), free_slots=tuple(d.id for d in a.devices))
            for a in self._agents_of(pool)
        ]
        if not agents or (slots < 1 and not excluded):
            return False
        rules = self._rules_of(pool)
        demand = Demand(slots, is_single_node, frozenset(excluded))
        if fit(demand, "", drained(agents, rules, "slots" if slots else "aux")) is not None:
            return False
        left_out = [a for a in agents if a.id in demand.excluded_agents]
        if left_out:
            if self._settings.launch_error:
                raise _too_few_left(pool, slots, agents, left_out)
            return True
        total, largest = sum(a.slots for a in agents), max(a.slots for a in agents)
        if is_single_node:
            raise InvalidArgument(
                "invalid resource configuration: request unfulfillable, please try requesting "
                f"less slots: resources.slots_per_trial is {slots} with is_single_node, the "
                f"largest agent of pool {pool} has {largest} slots"
            )
        if not self._settings.launch_error:
            return True
        if slots > total:
            raise InvalidArgument(
                "invalid resource configuration: slots requested exceeds cluster capacity: "
                f"resources.slots_per_trial is {slots}, pool {pool} has {total} slots; "
                "ask for fewer or add agents"
            )
        why = reasons.impossible(demand, pool, agents, rules.is_heterogeneous)
        raise InvalidArgument(f"invalid resource configuration: resources.slots_per_trial: {why}")

    def _rules_of(self, name: str) -> Rules:
        known = {p.pool_name: p for p in self._settings.resource_pools}
        return rules_of(self._settings.scheduler_of(known[name])) if name in known else Rules()

    def _agents_of(self, pool: str) -> list[AgentSnapshot]:
        return [agent for agent in self._backend.agents() if agent.pool == pool]


def _slots(agents: Sequence[AgentSnapshot]) -> int:
    return sum(len(agent.devices) for agent in agents)


def _too_few_left(
    pool: str, slots: int, agents: Sequence[AgentView], left_out: Sequence[AgentView]
) -> InvalidArgument:
    names = ", ".join(sorted(a.id for a in left_out))
    left = sum(a.slots for a in agents) - sum(a.slots for a in left_out)
    return InvalidArgument(
        f"slots requested exceeds {pool} resource pool capacity: log policies exclude {names}, "
        f"{left} slots are left, and resources.slots_per_trial is {slots}; repair the agents and "
        "start a new trial, or add agents"
    )

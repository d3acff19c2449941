"""Resource pools: their parts, and which requests fit into them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import FailedPrecondition, InvalidArgument, NotFound
from determined_master.domain.machines.offers import OfferReport, machines_for
from determined_master.domain.pods.queues import is_queue
from determined_master.domain.schedule import kubernetes, reasons
from determined_master.domain.schedule.capacity import drained
from determined_master.domain.schedule.fitting import Demand
from determined_master.domain.schedule.priorities import PriorityOrder
from determined_master.domain.schedule.seats import SlotKind as RoomKind
from determined_master.domain.schedule.view import AgentView, Rules
from determined_master.services.configs.defaults import pool_rules

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.machines.scaling import MachineType
    from determined_master.domain.machines.status import MachineStatus
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports.agents import AgentSnapshot, ClusterBackend
    from determined_master.ports.kubernetes import ClusterTrouble
    from determined_master.ports.machines import MachineProvider
    from determined_master.settings.master import Settings
    from determined_master.settings.pools import ResourcePool, Scheduler
    from determined_master.settings.providers.provider import Provider

MAX_SLOTS = 100_000
"""Of a question about offers."""
NO_PROVIDERS: Mapping[str, MachineProvider] = {}


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
    kind: str
    """agent or kubernetes."""
    cluster_name: str
    """Of its resource manager, whose metadata are `metadata`."""
    metadata: Mapping[str, str]
    machines: PoolMachines | None = None
    trouble: ClusterTrouble | None = None
    """What keeps all of its pods from starting at present."""
    """Of a pool that has machines on demand."""


class PoolMachines(msgspec.Struct, frozen=True):
    """The machines of a pool on demand."""

    type: MachineType
    settings: Provider
    cost_per_hour: float | None = None
    """US dollars of all machines at present; None if unknown."""


class FoundOffers(msgspec.Struct, frozen=True, kw_only=True):
    """The machines that a pool could get for a number of slots."""

    pool: str
    slots: int
    slots_of_machine: int
    machines: int
    """How many machines hold these slots."""
    max_machines: int
    report: OfferReport


class Pools:
    """The pools of the settings, with the agents that are in them."""

    def __init__(
        self,
        settings: Settings,
        backend: ClusterBackend,
        live: LiveAllocations,
        providers: Mapping[str, MachineProvider] = NO_PROVIDERS,
        machines: Callable[[str], MachineStatus | None] = lambda pool: None,
        troubles: Callable[[str], ClusterTrouble | None] = lambda pool: None,
    ) -> None:
        """
        Args:
            settings: the master's.
            backend: has the agents.
            live: what runs.
            providers: of the pools that have machines on demand.
            machines: the state of a pool's machines.
            troubles: what keeps all pods of a pool from starting; None for nothing.
        """
        self._machines = machines
        self._troubles = troubles
        self._settings = settings
        owners = [(manager, pool) for manager in settings.managers for pool in manager.pools]
        self._rules = {pool.pool_name: pool_rules(settings, pool) for _, pool in owners}
        self._kinds = {pool.pool_name: manager.kind for manager, pool in owners}
        self._backend = backend
        self._live = live
        self._providers = providers

    def list_all(self, caller: Caller) -> list[PoolFacts]:
        """All pools, in the order of the settings."""
        access.may(caller, "read", "cluster")
        first = self._settings.resource_manager
        found = []
        for pool in self._settings.all_pools:
            manager = self._settings.manager_of(pool.pool_name)
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
                    max_tasks_without_slots_per_agent=(
                        pool.max_aux_containers_per_agent if manager.kind == "agent" else 1
                    ),
                    is_default_compute=pool.pool_name == first.default_compute_resource_pool,
                    is_default_aux=pool.pool_name == first.default_aux_resource_pool,
                    queued=len(jobs - scheduled),
                    scheduled=len(scheduled),
                    scheduler=manager.scheduler_of(pool),
                    kind=manager.kind,
                    cluster_name=manager.name,
                    metadata=manager.metadata,
                    machines=self._machines_of(pool),
                    trouble=self._troubles(pool.pool_name),
                )
            )
        return found

    @property
    def names(self) -> list[str]:
        """Names of all pools, in the order of the settings."""
        return [pool.pool_name for pool in self._settings.all_pools]

    @property
    def defaults(self) -> set[str]:
        """The cluster's default pools: they serve every workspace."""
        manager = self._settings.resource_manager
        names = {manager.default_compute_resource_pool, manager.default_aux_resource_pool}
        return names - {""}

    def named(self, name: str) -> str:
        """The pool of that name; the default compute pool for an empty one.

        Raises:
            NotFound: there is no such pool, or no default one.
        """
        chosen = name or self._settings.resource_manager.default_compute_resource_pool
        if not chosen:
            raise NotFound(f"no default resource pool set: name one of {', '.join(self.names)}")
        if chosen not in self.names:
            raise NotFound(
                f"cannot find resource pool {chosen}: there are {', '.join(self.names)}"
            )
        return chosen

    def offers(self, caller: Caller, name: str, slots: int) -> FoundOffers:
        """The machines that could be had now for `slots` slots, in the order of launches.

        Raises:
            InvalidArgument: the number of slots is invalid, or no machine of the pool has slots.
            NotFound: there is no such pool. FailedPrecondition: it has no machines on demand.
        """
        access.may(caller, "read", "cluster")
        if not 0 <= slots <= MAX_SLOTS:
            raise InvalidArgument(f"slots must be from 0 to {MAX_SLOTS} but found {slots}")
        chosen = self.named(name)
        found = next((p for p in self._settings.resource_pools if p.pool_name == chosen), None)
        machines = None if found is None else self._machines_of(found)
        if machines is None:
            raise FailedPrecondition(
                f"resource pool {chosen} has no machines on demand: its agents are started by "
                "hand; name a pool with a provider"
            )
        size = machines.type.slots
        if slots and not size:
            raise InvalidArgument(
                f"machines of resource pool {chosen} have no slots but {slots} are asked for: "
                "name another pool, or 0 slots"
            )
        return FoundOffers(
            pool=chosen,
            slots=slots,
            slots_of_machine=size,
            machines=machines_for(slots, size),
            max_machines=machines.settings.max_machines,
            report=self._providers[chosen].offers(),
        )

    def slot_price(self, name: str) -> float | None:
        """US dollars of a slot for an hour, by the pool's machines; None if unknown."""
        status = self._machines(name)
        return status.slot_price if status is not None else None

    def priorities(self, name: str) -> PriorityOrder:
        """How the pool's queue is ordered; by shares, without an order, if it is not there."""
        rules = self._rules.get(name)
        return "none" if rules is None else rules.priorities

    def is_kubernetes(self, name: str) -> bool:
        """Whether the pool's tasks are pods."""
        return self._kinds.get(name) == "kubernetes"

    def scheduler_type(self, name: str) -> str:
        """`priority`, `fair_share`, `kubernetes`; empty for a pool that is not there."""
        for pool in self._settings.all_pools:
            if pool.pool_name == name:
                return self._settings.scheduler_of(pool).type
        return ""

    @property
    def refuses_large(self) -> bool:
        """Whether what no agent could hold is refused; else it waits (setting `launch_error`)."""
        return self._settings.launch_error

    def find_shortage(
        self, pool: str, slots: int, *, is_single_node: bool, excluded: Collection[str]
    ) -> str | None:
        """The slots that a trial lacks because log policies exclude agents.

        None while the others could hold it, and where none of those that are left out is there:
        then it is not they that are missing.
        """
        agents = self._views_of(pool)
        left_out = [a for a in agents if a.id in excluded]
        demand = Demand(slots, is_single_node, frozenset(excluded))
        agents += self._machines_to_come(pool, len(agents))
        if not left_out or self._has_room(pool, demand, agents):
            return None
        names = ", ".join(sorted(a.id for a in left_out))
        left = sum(a.slots for a in agents) - sum(a.slots for a in left_out)
        noun = "node" if self.is_kubernetes(pool) else "agent"
        kept = f"{left} slots are" if slots else f"no {noun} is"
        return (
            f"slots requested exceeds {pool} resource pool capacity: log policies exclude "
            f"{names}, {kept} left, and resources.slots_per_trial is {slots}; repair the {noun}s "
            f"and start a new trial, or add {noun}s"
        )

    def check_fit(
        self,
        pool: str,
        slots: int,
        *,
        is_single_node: bool = False,
        field: str = "resources.slots_per_trial",
    ) -> bool:
        """Compare the request of one trial or task with the slots that its pool has, or may get.

        A pool without agents accepts every request: agents may still join. A pool with machines on
        demand accepts what its maximum of machines can hold; a Kubernetes pool accepts what can be
        split into pods. `field` is the key of the configuration with the number of slots.

        Returns:
            Whether it requests more than the pool has, where the setting `launch_error`
            lets that pass.

        Raises:
            InvalidArgument: it requests more than the pool has.
        """
        rules = self._rules_of(pool)
        if self.is_kubernetes(pool):
            most = rules.max_slots_per_pod or 0
            if kubernetes.split(slots, most, is_single_node=is_single_node) is None:
                why = kubernetes.too_many(slots, most or 0, is_single_node=is_single_node)
                raise InvalidArgument(f"invalid resource configuration: {field}: {why}")
            return False
        machines = self._machines_to_come(pool, 0)
        agents = machines or self._views_of(pool)
        demand = Demand(slots, is_single_node, frozenset())
        if not agents or slots < 1 or self._has_room(pool, demand, agents):
            return False
        if not self._settings.launch_error:
            return True
        total, largest = sum(a.slots for a in agents), max(a.slots for a in agents)
        if is_single_node:
            raise InvalidArgument(
                "invalid resource configuration: request unfulfillable, please try requesting "
                f"less slots: {field} is {slots} with is_single_node, the largest agent of pool "
                f"{pool} has {largest} slots"
            )
        if slots > total:
            raise InvalidArgument(
                "invalid resource configuration: slots requested exceeds cluster capacity: "
                f"{field} is {slots}, pool {pool} has {total} slots; "
                f"ask for fewer or {self._remedy(pool) if machines else 'add agents'}"
            )
        why = reasons.impossible(demand, pool, agents)
        raise InvalidArgument(f"invalid resource configuration: {field}: {why}")

    def _remedy(self, pool: str) -> str:
        """The limit of the number of machines."""
        provider = next(p.provider for p in self._settings.resource_pools if p.pool_name == pool)
        if provider is not None and provider.max_machines < provider.max_instances:
            return "raise max_cost_per_hour"
        return "raise max_instances"

    def _has_room(self, pool: str, demand: Demand, agents: Sequence[AgentView]) -> bool:
        kind: RoomKind = "slots" if demand.slots else "aux"
        return drained(agents, self._rules_of(pool), kind).fit(demand, "") is not None

    def _views_of(self, pool: str) -> list[AgentView]:
        """The pool's agents as if nothing ran on them."""
        return [
            AgentView(id=a.id, slots=len(a.devices), free_slots=tuple(d.id for d in a.devices))
            for a in self._agents_of(pool)
        ]

    def _machines_to_come(self, pool: str, there: int) -> list[AgentView]:
        """The machines that a pool could get besides those it has; none without a provider."""
        found = next((p for p in self._settings.resource_pools if p.pool_name == pool), None)
        machines = None if found is None else self._machines_of(found)
        if machines is None:
            return []
        slots = tuple(range(machines.type.slots))
        return [
            AgentView(id=f"machine {number}", slots=len(slots), free_slots=slots)
            for number in range(machines.settings.max_machines - there)
        ]

    def _machines_of(self, pool: ResourcePool) -> PoolMachines | None:
        provider = self._providers.get(pool.pool_name)
        if provider is None or pool.provider is None:
            return None
        status = self._machines(pool.pool_name)
        cost = status.cost_per_hour if status is not None else None
        return PoolMachines(provider.type, pool.provider, cost)

    def _rules_of(self, name: str) -> Rules:
        return self._rules.get(name) or Rules()

    def _agents_of(self, pool: str) -> list[AgentSnapshot]:
        return [a for a in self._backend.agents() if a.is_in(pool) and not is_queue(a.id)]


def _slots(agents: Sequence[AgentSnapshot]) -> int:
    return sum(len(agent.devices) for agent in agents)

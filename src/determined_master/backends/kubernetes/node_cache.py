"""The nodes that this master knows, as agents."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from msgspec.structs import replace

from determined_master import clock
from determined_master.backends.kubernetes import nodes
from determined_master.backends.kubernetes.devices.cache import DeviceCache
from determined_master.backends.kubernetes.foreign_pods import ForeignPods, PodUsage
from determined_master.backends.kubernetes.nodes import Json, NodeView
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pods.status import instant
from determined_master.domain.machines.agent_switches import ALL_ON, Switches
from determined_master.domain.pods.devices.counts import NodeCount
from determined_master.domain.pods.placement import ClusterLoads, NodeFacts, NodeLoad, facts_of
from determined_master.ports.agents import AgentSnapshot
from determined_wire.agent_link import Device

NO_SLOTS: Mapping[str, set[int]] = {}
AT_ONCE = 50
"""Nodes or pods of a list that are taken before others get their turn: some milliseconds."""


class NodeCache:
    """Nodes, the resources that others use on them, and what is disabled there."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self.devices = DeviceCache()
        """Of the class whose devices are slots; `refresh` applies its changes."""
        self._raw: dict[str, Json] = {}
        self._switches: Mapping[str, Switches] = {}
        self._foreign = ForeignPods(options)
        self._facts: dict[str, tuple[Json, NodeFacts]] = {}
        self._views: dict[str, tuple[Json, Decimal, NodeCount, NodeView]] = {}
        self._loads: ClusterLoads | None = None
        self._own_slots: dict[str, set[int]] = {}
        self._leftover: dict[str, set[int]] = {}
        self._snapshots: dict[str, AgentSnapshot] = {}
        self._queues = {id: _queue(id, pool.name, options) for id, pool in options.queues.items()}
        """They stand for the cluster's own queues."""
        self._is_reachable = False
        self._ever: set[str] = set()
        self._pools: dict[str, tuple[str, ...]] = {}
        """The pools that each node served last."""
        self._left: set[str] = set()
        """Nodes that are ready and serve no pool any more: their taints or labels have changed."""

    def has(self, agent_id: str) -> bool:
        return agent_id in self._ever or agent_id in self._queues

    def expect(self, pools: Mapping[str, str]) -> None:
        """Nodes with running pods and their pools, even if the nodes no longer exist."""
        self._ever.update(pools)
        self._pools.update({agent_id: (pool,) for agent_id, pool in pools.items()})

    async def replace_all(self, items: Iterable[Json]) -> None:
        """These are all nodes."""
        before, self._raw = self._raw, {str(item["metadata"]["name"]): item for item in items}
        self._loads = None
        await self._refresh_all(before.keys() | self._raw.keys())

    def put(self, item: Json) -> None:
        """A node is new or has changed."""
        name = str(item["metadata"]["name"])
        self._raw[name] = item
        self._loads = None
        self._refresh(name)

    def remove(self, name: str) -> None:
        """A node was removed."""
        self._raw.pop(name, None)
        self._facts.pop(name, None)
        self._views.pop(name, None)
        self._loads = None
        self._refresh(name)

    def set_reachable(self, *, is_reachable: bool) -> None:
        """Whether the cluster answers: otherwise nothing is started."""
        if is_reachable != self._is_reachable:
            self._is_reachable = is_reachable
            self._queues = {
                id: replace(queue, is_connected=is_reachable) for id, queue in self._queues.items()
            }
            self._renew()

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        self._switches = switches
        self._renew()

    async def set_foreign(self, pods: Collection[PodUsage]) -> None:
        """These are all pods of others."""
        changed: set[str] = set()
        for number, pod in enumerate(pods, start=1):
            changed |= self._foreign.put(pod)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        for uid in self._foreign.uids() - {pod.uid for pod in pods}:
            changed |= self._foreign.remove(uid)
        if changed:
            self._loads = None
        await self._refresh_all(changed)

    def put_foreign(self, pod: PodUsage) -> None:
        """A pod of others is new or has changed."""
        for name in self._foreign.put(pod):
            self._loads = None
            self._refresh(name)

    def remove_foreign(self, uid: str) -> None:
        """A pod of others is gone."""
        for name in self._foreign.remove(uid):
            self._loads = None
            self._refresh(name)

    def set_own_slots(
        self, own: Mapping[str, set[int]], leftover: Mapping[str, set[int]] = NO_SLOTS
    ) -> None:
        """The slots of this master's pods by node; `leftover`: of those that nobody waits for."""
        for agent_id in {*self._own_slots, *self._leftover, *own, *leftover}:
            self.put_own_slots(agent_id, own.get(agent_id), leftover.get(agent_id))

    def put_own_slots(self, id: str, own: set[int] | None, leftover: set[int] | None) -> None:
        """The same of one node; None where it has no such pod."""
        before = self._own_slots.get(id), self._leftover.get(id)
        if before == (own, leftover):
            return
        for by_id, slots in ((self._own_slots, own), (self._leftover, leftover)):
            if slots is None:
                by_id.pop(id, None)
            else:
                by_id[id] = slots
        self._refresh(id.removeprefix(self._options.node_prefix))

    def snapshots(self) -> Sequence[AgentSnapshot]:
        """Nodes that serve a pool, and queues; the same objects where nothing has changed."""
        return [*self._snapshots.values(), *self._queues.values()]

    def labels(self) -> dict[str, Json]:
        """The labels of all nodes, by name."""
        return {name: raw["metadata"].get("labels") or {} for name, raw in self._raw.items()}

    def loads(self) -> ClusterLoads:
        """All nodes as Kubernetes' scheduler sees them, but for this master's pods.

        The same object where nothing has changed.
        """
        if self._loads is None:
            loads_by_node = {
                f"{self._options.node_prefix}{name}": NodeLoad(
                    self._facts_of(name, raw), self._foreign.requests(name)
                )
                for name, raw in self._raw.items()
            }
            self._loads = ClusterLoads(
                loads_by_node,
                nodes.slot_requests(self._options),
                replaced=nodes.replaced_resources(self._options),
            )
        return self._loads

    def refresh(self, names: Iterable[str]) -> None:
        """The devices of these nodes have changed."""
        for name in names:
            self._refresh(name)

    def by_preference(self) -> list[NodeFacts]:
        """All nodes by name, those that take pods now before the others."""
        candidates = (
            (self._view_of(name, raw), self._facts_of(name, raw))
            for name, raw in self._raw.items()
        )
        ordered = sorted(candidates, key=lambda one: (not _takes_pods(one[0]), one[0].name))
        return [facts for _, facts in ordered]

    def with_free_slots(self, slots: int) -> list[NodeFacts]:
        """The ready nodes with at least `slots` free slots, also those that take no new tasks."""
        loads = self.loads().nodes
        return [
            loads[one.id].facts
            for one in self._snapshots.values()
            if one.is_connected and one.id in loads and self._free_slots(one) >= slots
        ]

    def takes_tasks(self, name: str) -> bool:
        """Whether new tasks may start on a node."""
        one = self._snapshots.get(f"{self._options.node_prefix}{name}")
        return one is not None and one.is_connected and one.is_enabled and not one.is_draining

    def find(self, name: str) -> AgentSnapshot | None:
        return self._snapshots.get(name)

    def is_ready(self, name: str) -> bool:
        node = self._snapshots.get(name) or self._queues.get(name)
        return node is not None and node.is_connected

    def has_left(self, name: str) -> bool:
        """Whether it is ready and serves no pool any more: its pods continue, nothing starts."""
        return name in self._left

    def _free_slots(self, node: AgentSnapshot) -> int:
        used_slots = self._own_slots.get(node.id, set()) | node.foreign_slots
        return len(node.devices) - len(used_slots)

    def _facts_of(self, name: str, raw: Json) -> NodeFacts:
        cached = self._facts.get(name)
        if cached is None or cached[0] is not raw:
            cached = self._facts[name] = raw, facts_of(raw)
        return cached[1]

    def _view_of(self, name: str, raw: Json) -> NodeView:
        cpu = self._foreign.system_cpu(name)
        devices, cached = self.devices.of(name), self._views.get(name)
        if cached is None or cached[0] is not raw or cached[1:3] != (cpu, devices):
            view = nodes.view(raw, cpu, self._options, devices)
            cached = self._views[name] = raw, cpu, devices, view
        return cached[3]

    def _taken(self, name: str) -> Decimal:
        """Slots of a node that no pod of this master can get."""
        if self._options.device_class:
            return Decimal(self.devices.of(name).taken)
        return self._foreign.slots(name)

    def _renew(self) -> None:
        for name in self._raw:
            self._refresh(name)

    async def _refresh_all(self, names: Iterable[str]) -> None:
        for number, name in enumerate(sorted(names), start=1):
            self._refresh(name)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    def _refresh(self, name: str) -> None:
        """One node, after a change that concerns no other."""
        agent_id, raw = f"{self._options.node_prefix}{name}", self._raw.get(name)
        self._left.discard(agent_id)
        if raw is None:
            self._snapshots.pop(agent_id, None)
            return
        view = self._view_of(name, raw)
        if view.pools:
            self._pools[agent_id] = view.pools
        elif view.is_ready and agent_id in self._pools:
            self._left.add(agent_id)
        if not view.pools and (agent_id not in self._own_slots or agent_id not in self._pools):
            self._snapshots.pop(agent_id, None)
            return
        fresh, old = self._snapshot(view), self._snapshots.get(agent_id)
        if old != fresh:
            self._snapshots[agent_id] = fresh
            self._ever.add(agent_id)

    def _snapshot(self, node: NodeView) -> AgentSnapshot:
        agent_id = f"{self._options.node_prefix}{node.name}"
        pools = node.pools or self._pools[agent_id]
        own = self._switches.get(agent_id, ALL_ON)
        used_slots = nodes.taken_slots(
            len(node.devices),
            tuple(self._own_slots.get(agent_id, ())),
            self._taken(node.name),
        )
        return AgentSnapshot(
            id=agent_id,
            pool=pools[0],
            more_pools=pools[1:],
            hostname=node.name,
            address=node.address,
            devices=node.devices,
            is_connected=node.is_ready and self._is_reachable,
            registered_at=instant(node.created_at) or clock.now(),
            version=node.version,
            is_enabled=own.is_enabled,
            is_draining=own.is_draining or node.is_cordoned or not node.pools,
            disabled_slots=own.disabled_slots,
            draining_slots=own.draining_slots,
            foreign_slots=used_slots | self._leftover.get(agent_id, set()),
        )


def _takes_pods(node: NodeView) -> bool:
    return node.is_ready and not node.is_cordoned


def _queue(id: str, pool: str, options: ClusterOptions) -> AgentSnapshot:
    """The agent that stands for the queue of a pool; its one slot has the type of all slots."""
    return AgentSnapshot(
        id=id,
        pool=pool,
        hostname="",
        address="",
        devices=(Device(id=0, brand="", uuid=id, type=options.slot_type),),
        is_connected=False,
        registered_at=clock.now(),
        version="",
    )

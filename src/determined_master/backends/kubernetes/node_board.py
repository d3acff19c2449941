"""The nodes that this master knows, as agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from determined_master import clock
from determined_master.backends.kubernetes import nodes
from determined_master.backends.kubernetes.nodes import Json, NodeView
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pod_state import instant
from determined_master.domain.machines.agent_switches import ALL_ON, Switches
from determined_master.domain.pods.placement import ClusterLoads, NodeFacts, NodeLoad, facts_of
from determined_master.domain.pods.quantities import Amounts
from determined_master.ports import AgentSnapshot


class NodeBoard:
    """Nodes, the resources that others use on them, and what is disabled there."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._raw: dict[str, Json] = {}
        self._switches: Mapping[str, Switches] = {}
        self._foreign: dict[str, Decimal] = {}
        self._system: dict[str, Decimal] = {}
        self._requests: dict[str, Amounts] = {}
        """By node: the requests of pods of others."""
        self._facts: dict[str, tuple[Json, NodeFacts]] = {}
        self._own_slots: dict[str, set[int]] = {}
        self._snapshots: dict[str, AgentSnapshot] = {}
        self._is_reachable = False
        self._ever: set[str] = set()
        self._pools: dict[str, tuple[str, ...]] = {}
        """The pools that each node served last."""
        self._left: set[str] = set()
        """Nodes that are ready and serve no pool any more: their taints or labels have changed."""

    def has(self, agent_id: str) -> bool:
        return agent_id in self._ever

    def expect(self, pools: Mapping[str, str]) -> None:
        """Nodes with running pods and their pools, even if the nodes no longer exist."""
        self._ever.update(pools)
        self._pools.update({agent_id: (pool,) for agent_id, pool in pools.items()})

    def replace_all(self, items: Iterable[Json]) -> None:
        self._raw = {str(item["metadata"]["name"]): item for item in items}
        self._renew()

    def put(self, item: Json) -> None:
        """A node is new or has changed."""
        self._raw[str(item["metadata"]["name"])] = item
        self._renew()

    def remove(self, name: str) -> None:
        """A node was removed."""
        self._raw.pop(name, None)
        self._facts.pop(name, None)
        self._renew()

    def set_reachable(self, *, is_reachable: bool) -> None:
        """Whether the cluster answers: otherwise nothing is started."""
        if is_reachable != self._is_reachable:
            self._is_reachable = is_reachable
            self._renew()

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        self._switches = switches
        self._renew()

    def set_foreign(self, pods: Sequence[Json]) -> None:
        self._system = {n: nodes.system_cpu(pods, n) for n in self._raw}
        is_cpu = self._options.slot_type == "cpu"
        self._requests = nodes.foreign_requests(pods)
        others = [p for p in pods if not (is_cpu and _is_system(p))]
        self._foreign = {n: nodes.foreign_amount(others, n, self._options) for n in self._raw}
        self._renew()

    def set_own_slots(self, own: Mapping[str, set[int]]) -> None:
        if own != self._own_slots:
            self._own_slots = dict(own)
            self._renew()

    def snapshots(self) -> Sequence[AgentSnapshot]:
        """The nodes that serve a pool; the same objects where nothing has changed."""
        return list(self._snapshots.values())

    def loads(self) -> ClusterLoads:
        """All nodes as Kubernetes' scheduler sees them, but for this master's pods."""
        found = {
            f"{self._options.node_prefix}{name}": NodeLoad(
                self._facts_of(name, raw), self._requests.get(name, {})
            )
            for name, raw in self._raw.items()
        }
        return ClusterLoads(found, nodes.slot_requests(self._options))

    def find(self, name: str) -> AgentSnapshot | None:
        return self._snapshots.get(name)

    def is_ready(self, name: str) -> bool:
        found = self._snapshots.get(name)
        return found is not None and found.is_connected

    def has_left(self, name: str) -> bool:
        """Whether it is ready and serves no pool any more: its pods continue, nothing starts."""
        return name in self._left

    def _facts_of(self, name: str, raw: Json) -> NodeFacts:
        known = self._facts.get(name)
        if known is None or known[0] is not raw:
            known = self._facts[name] = raw, facts_of(raw)
        return known[1]

    def _renew(self) -> None:
        made = {}
        self._left = set()
        for name, raw in self._raw.items():
            seen = nodes.view(raw, self._system.get(name, Decimal(0)), self._options)
            agent_id = f"{self._options.node_prefix}{name}"
            if seen.pools:
                self._pools[agent_id] = seen.pools
            elif seen.is_ready and agent_id in self._pools:
                self._left.add(agent_id)
            if seen.pools or (agent_id in self._own_slots and agent_id in self._pools):
                fresh = self._snapshot(seen)
                old = self._snapshots.get(fresh.id)
                made[fresh.id] = old if old is not None and old == fresh else fresh
        self._snapshots = made
        self._ever.update(made)

    def _snapshot(self, node: NodeView) -> AgentSnapshot:
        agent_id = f"{self._options.node_prefix}{node.name}"
        pools = node.pools or self._pools[agent_id]
        own = self._switches.get(agent_id, ALL_ON)
        taken = nodes.taken_slots(
            len(node.devices),
            tuple(self._own_slots.get(agent_id, ())),
            self._foreign.get(node.name, Decimal(0)),
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
            foreign_slots=taken,
        )


def _is_system(pod: Json) -> bool:
    return nodes.SYSTEM in ((pod.get("metadata") or {}).get("labels") or {})

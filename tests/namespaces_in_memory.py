"""A Kubernetes cluster without nodes that has namespaces and quotas, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from determined_master.domain.errors import PermissionDenied, Unavailable
from determined_master.domain.machines.agent_switches import Switches
from determined_master.domain.pods.placement import ClusterLoads
from determined_master.ports.agents import AgentSnapshot, NotConnected
from determined_master.ports.kubernetes import ClusterTrouble, Quota
from determined_master.ports.orders import StartOrder


class ClusterInMemory:
    """Implements `ports.KubernetesCluster`; held to `contracts.namespaces_contract`."""

    def __init__(self, *nodes: AgentSnapshot) -> None:
        self.nodes = nodes
        self.namespaces: dict[str, dict[str, int]] = {"default": {}}
        """Quotas by namespace and name."""
        self.own: set[str] = set()
        """The namespaces that the master has made."""
        self.orders: list[StartOrder] = []
        self.is_broken = False
        self.is_refusing = False
        self.expected: Mapping[str, str] | None = None
        """As of the last `open`; None while closed."""

    async def has_namespace(self, name: str) -> bool:
        self._answer()
        return name in self.namespaces

    async def create_namespace(self, name: str) -> bool:
        self._answer()
        if self.is_refusing:
            raise PermissionDenied("the master may not create namespaces")
        if name not in self.namespaces:
            self.namespaces[name] = {}
            self.own.add(name)
        return name in self.own

    async def delete_namespace(self, name: str) -> bool:
        self._answer()
        if name in self.namespaces and name not in self.own:
            return False
        self.namespaces.pop(name, None)
        self.own.discard(name)
        return True

    async def quotas(self, namespace: str) -> Sequence[Quota]:
        self._answer()
        found = sorted(self.namespaces.get(namespace, {}).items())
        return [Quota(name, float(n), name == f"{namespace}-quota") for name, n in found]

    async def set_quota(self, namespace: str, gpus: int) -> None:
        self._answer()
        self.namespaces[namespace][f"{namespace}-quota"] = gpus

    def has(self, agent_id: str) -> bool:
        return any(node.id == agent_id for node in self.nodes)

    def agents(self) -> Sequence[AgentSnapshot]:
        return self.nodes

    def trouble(self) -> ClusterTrouble | None:
        return None

    def loads(self) -> ClusterLoads:
        return ClusterLoads({})

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """Nothing is switched here."""

    async def start_container(self, order: StartOrder) -> None:
        self.orders.append(order)

    async def signal_container(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str = ""
    ) -> None:
        raise NotConnected("nothing runs here")

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        """Nothing to forget."""

    def open(self, expected: Mapping[str, str], epoch: int) -> None:
        self.expected = expected

    async def close(self) -> None:
        self.expected = None

    def _answer(self) -> None:
        if self.is_broken:
            raise Unavailable("the cluster does not answer")

"""Which backend runs which containers: the backend of agents, or that of a Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from determined_master.ports.agents import ClusterBackend

if TYPE_CHECKING:
    from determined_master.domain.machines.agent_switches import Switches
    from determined_master.ports.agents import AgentAdmission, AgentSnapshot
    from determined_master.ports.kubernetes import KubernetesCluster
    from determined_master.ports.orders import StartOrder


class Backends:
    """All backends as one; implements `ports.ClusterBackend` and `ports.AgentAdmission`.

    Nodes of Kubernetes clusters are agents like others: a pool's planner places containers on
    either, and each backend runs its own containers.
    """

    def __init__(
        self,
        agents: ClusterBackend,
        admission: AgentAdmission,
        clusters: Mapping[str, KubernetesCluster] | None = None,
        managers: Mapping[str, str] | None = None,
    ) -> None:
        """
        Args:
            agents: runs the containers on agents.
            admission: admits agents.
            clusters: the Kubernetes clusters, by the name of their resource manager.
            managers: the name of each pool's resource manager.
        """
        self._agents = agents
        self._admission = admission
        self.clusters = dict(clusters or {})
        self._managers = dict(managers or {})

    def agents(self) -> Sequence[AgentSnapshot]:
        """All agents, and the nodes of all clusters."""
        if not self.clusters:
            return self._agents.agents()
        nodes = (node for cluster in self.clusters.values() for node in cluster.agents())
        return [*self._agents.agents(), *nodes]

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """Slots disabled from now on, by id of agent or node."""
        for backend in (self._agents, *self.clusters.values()):
            backend.set_switches(switches)

    async def start_container(self, order: StartOrder) -> None:
        await self._of(order.agent_id).start_container(order)

    async def signal_container(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str = ""
    ) -> None:
        backend = self._of(agent_id)
        await backend.signal_container(agent_id, container_id, signal, allocation_id)

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        await self._of(agent_id).forget_container(agent_id, container_id)

    def open(self, expected: Mapping[str, str], epoch: int) -> None:
        """Accept agents, and act on clusters, under an epoch.

        Args:
            expected: the pool of each agent and node on which containers run.
            epoch: of the leader.
        """
        of_clusters: dict[str, dict[str, str]] = {name: {} for name in self.clusters}
        of_agents: dict[str, str] = {}
        for agent_id, pool in expected.items():
            of_clusters.get(self._managers.get(pool, ""), of_agents)[agent_id] = pool
        self._admission.open(of_agents, epoch)
        for name, cluster in self.clusters.items():
            cluster.open(of_clusters[name], epoch)

    async def close(self) -> None:
        """Disconnect from all agents and clusters; their containers continue."""
        await self._admission.close()
        for cluster in self.clusters.values():
            await cluster.close()

    def _of(self, agent_id: str) -> ClusterBackend:
        clusters = self.clusters.values()
        return next((c for c in clusters if c.has(agent_id)), self._agents)

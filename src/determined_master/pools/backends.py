"""Which backend runs which containers: that of the agents, and one a Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from determined_master.domain.places import is_place
from determined_master.ports import ClusterBackend, NotConnected

if TYPE_CHECKING:
    from determined_master.domain.agent_switches import Switches
    from determined_master.ports import AgentDoor, AgentSnapshot, KubernetesCluster, StartOrder


class Backends:
    """All backends as one; implements `ports.PlacingBackend` and `ports.AgentDoor`.

    Containers of agents' pools are put on agents. Those of a Kubernetes cluster's pools are put
    on the cluster as a whole, its *place*: on which node a pod runs the cluster decides later.
    """

    def __init__(
        self,
        agents: ClusterBackend,
        door: AgentDoor,
        clusters: Mapping[str, KubernetesCluster] | None = None,
    ) -> None:
        """
        Args:
            agents: runs the containers on agents.
            door: where agents come in.
            clusters: the Kubernetes clusters, by the name of their resource manager.
        """
        self._agents = agents
        self._door = door
        self.clusters = dict(clusters or {})

    def agents(self) -> Sequence[AgentSnapshot]:
        """All agents, and the nodes of all clusters."""
        if not self.clusters:
            return self._agents.agents()
        nodes = (node for cluster in self.clusters.values() for node in cluster.agents())
        return [*self._agents.agents(), *nodes]

    def places(self) -> Sequence[AgentSnapshot]:
        """What containers are put on: each agent, and each cluster as a whole."""
        if not self.clusters:
            return self._agents.agents()
        return [*self._agents.agents(), *(c.place() for c in self.clusters.values())]

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """What is switched off from now on, by id of agent or node."""
        for backend in (self._agents, *self.clusters.values()):
            backend.set_switches(switches)

    async def start_container(self, order: StartOrder) -> None:
        """Start a container once, however often it is ordered. Raises NotConnected."""
        await self._of(order.agent_id).start_container(order)

    async def signal_container(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str = ""
    ) -> None:
        """Send a signal; a container that was never started is reported as ended.

        Raises NotConnected.
        """
        backend = self._of(agent_id)
        await backend.signal_container(agent_id, container_id, signal, allocation_id)

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        """The container's end is stored. Raises NotConnected."""
        await self._of(agent_id).forget_container(agent_id, container_id)

    def open(self, expected: Mapping[str, str], epoch: int) -> None:
        """Accept agents, and act on clusters, under an epoch.

        Args:
            expected: the pool of each agent and place on which containers run.
            epoch: of the lead that has begun.
        """
        places = {cluster.place().id for cluster in self.clusters.values()}
        agents = {id: pool for id, pool in expected.items() if id not in places}
        self._door.open(agents, epoch)
        for cluster in self.clusters.values():
            id = cluster.place().id
            cluster.open({id: expected[id]} if id in expected else {}, epoch)

    async def close(self) -> None:
        """Let go of all agents and clusters; their containers run on."""
        await self._door.close()
        for cluster in self.clusters.values():
            await cluster.close()

    def find_cluster(self, manager: str) -> KubernetesCluster | None:
        """The cluster of a resource manager; None for that of the agents."""
        return self.clusters.get(manager)

    def _of(self, agent_id: str) -> ClusterBackend:
        for cluster in self.clusters.values():
            if cluster.place().id == agent_id:
                return cluster
        if is_place(agent_id):
            raise NotConnected(
                f"{agent_id} is no cluster of the settings any more: add its resource manager "
                "again to reach what runs there"
            )
        return self._agents

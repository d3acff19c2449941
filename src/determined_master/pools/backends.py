"""Which backend runs which containers: that of the agents, and one a Kubernetes cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from determined_master.domain.agent_switches import Switches
    from determined_master.ports import (
        AgentDoor,
        AgentSnapshot,
        ClusterBackend,
        KubernetesCluster,
        StartOrder,
    )

log = logging.getLogger(__name__)


class Backends:
    """All backends as one; implements `ports.ClusterBackend` and `ports.AgentDoor`.

    An agent or node belongs to one backend, by its id. Of two that have one id only that of the
    manager that comes first in the settings is used, and the log says so.
    """

    def __init__(
        self,
        agents: ClusterBackend,
        door: AgentDoor,
        clusters: Mapping[str, KubernetesCluster] | None = None,
        manager_of: Callable[[str], str] = lambda pool: "",
    ) -> None:
        """
        Args:
            agents: runs the containers on agents.
            door: where agents come in.
            clusters: the Kubernetes clusters, by the name of their resource manager.
            manager_of: name of the manager of a pool.
        """
        self._agents = agents
        self._door = door
        self.clusters = dict(clusters or {})
        self._manager_of = manager_of
        self._owners: dict[str, str] = {}
        """Manager of each node that was ever seen in this lead, or on which something ran."""
        self._told: set[str] = set()

    def agents(self) -> Sequence[AgentSnapshot]:
        """All agents, and the nodes of all clusters."""
        if not self.clusters:
            return self._agents.agents()
        found = {agent.id: agent for agent in self._agents.agents()}
        for name, cluster in self.clusters.items():
            for node in cluster.agents():
                owner = self._owners.setdefault(node.id, name)
                if node.id in found or owner != name:
                    self._tell_of_twins(node.id, name)
                else:
                    found[node.id] = node
        return list(found.values())

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
        """Let agents in and follow clusters, under an epoch.

        Args:
            expected: the pool of each agent and node on which containers run.
            epoch: of the lead that has begun.
        """
        owners = {id: self._manager_of(pool) for id, pool in expected.items()}
        self._owners = {id: owner for id, owner in owners.items() if owner in self.clusters}
        agents = {id: pool for id, pool in expected.items() if id not in self._owners}
        self._door.open(agents, epoch)
        for name, cluster in self.clusters.items():
            nodes = {id: pool for id, pool in expected.items() if self._owners.get(id) == name}
            cluster.open(nodes, epoch)

    async def close(self) -> None:
        """Let go of all agents and clusters; their containers run on."""
        await self._door.close()
        for cluster in self.clusters.values():
            await cluster.close()

    def _of(self, agent_id: str) -> ClusterBackend:
        owner = self._owners.get(agent_id)
        return self._agents if owner is None else self.clusters[owner]

    def _tell_of_twins(self, node: str, manager: str) -> None:
        if node not in self._told:
            self._told.add(node)
            log.error(
                "a node is not used: another node or agent has its name; rename one of them",
                extra={"node": node, "resource_manager": manager},
            )

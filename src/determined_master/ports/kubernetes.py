"""Kubernetes: a cluster whose nodes are agents, and the events that it reports."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec

from determined_master.domain.pods.placement import ClusterLoads
from determined_master.ports.agents import AgentEvents, ClusterBackend
from determined_master.ports.orders import LogPlace, StoredOutput, TaskNote
from determined_wire.agent_link import ContainerReport, LogBatch


class NodeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting task for which a cluster has no room: it needs nodes for these pods."""

    allocation_id: str
    slots: tuple[int, ...]
    """Of each pod."""
    housed: int = 0
    """How many of the pods have room on the nodes that exist: it waits for the others."""
    namespace: str = ""
    """Empty for the cluster's own."""
    pod_spec: Mapping[str, Any] | None = None
    """As in `PodTerms`."""


class NodesAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster's answer to a request for nodes."""

    at: datetime | None = None
    """When they were asked for (UTC); None when that was not possible."""
    text: str = ""
    """The answer, or why they cannot be asked for, for users; empty without one."""
    admin_text: str = ""
    """The same with the autoscaler's own words, for admins."""
    pods: int = 0
    """How many pods stand for pods of the task, and count in the quota of its namespace."""

    def sentence(self, *, for_admin: bool = False) -> str:
        """For users who wait; empty when there is nothing to say."""
        question = (
            f"the cluster was asked for nodes for it at {self.at:%H:%M:%S} UTC" if self.at else ""
        )
        answer = self.admin_text if for_admin else self.text
        return "; ".join(part for part in (question, answer) if part)


class Quota(msgspec.Struct, frozen=True):
    """A namespace's limit on GPU requests, from one of its ResourceQuotas."""

    name: str
    gpus: float
    is_own: bool
    """Whether the master created it, by `set_quota`."""


class Namespaces(Protocol):
    """The namespaces of a Kubernetes cluster. Every call waits for the cluster.

    Raises (every call):
        Unavailable: the cluster does not answer. PermissionDenied: it refuses the master this.
    """

    async def has_namespace(self, name: str) -> bool:
        """Whether there is a namespace of that name."""

    async def create_namespace(self, name: str) -> bool:
        """Create a namespace marked as this master's; an existing one stays unchanged.

        Returns:
            True if it is this master's: created now or before. False if it belongs to others.
        """

    async def delete_namespace(self, name: str) -> bool:
        """Delete a namespace that this master has created, with everything in it.

        Returns:
            True if it is deleted or did not exist. False if it belongs to others, and stays.
        """

    async def quotas(self, namespace: str) -> Sequence[Quota]:
        """Its quotas of GPUs (`requests.nvidia.com/gpu`), by name."""

    async def set_quota(self, namespace: str, gpus: int) -> None:
        """Create or change the quota `<namespace>-quota`."""


class ClusterTrouble(msgspec.Struct, frozen=True):
    """What keeps all pods of a Kubernetes cluster from starting."""

    text: str
    """For users."""
    since: datetime
    detail: str = ""
    """In the words of the API server, for admins."""

    def sentence(self, *, for_admin: bool = False) -> str:
        """For users who wait."""
        more = f": {self.detail}" if for_admin and self.detail else ""
        return f"{self.text} since {self.since.strftime('%H:%M:%S UTC')}{more}"


class KubernetesCluster(ClusterBackend, Namespaces, Protocol):
    """A Kubernetes cluster: its nodes are agents, and containers run on them as pods.

    `PodEvents` reports their state.
    """

    def has(self, agent_id: str) -> bool:
        """Whether it is, or was, one of its nodes."""

    def trouble(self) -> ClusterTrouble | None:
        """What keeps every pod from starting at present; None for nothing."""

    def loads(self) -> ClusterLoads:
        """Its nodes, and the requests of pods there that are not this master's."""

    def request_nodes(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        """Ask for nodes for the tasks of a pool, and for no others of it any more."""

    def nodes_asked(self, allocation_id: str) -> NodesAsked | None:
        """The answer to the request for nodes of a waiting task; None without a request."""

    def waits_for(self, allocation_id: str) -> str:
        """Why pods of an allocation wait in the cluster's own queue, or for a port of its Gateway.

        Empty when none does.
        """

    def device_note(self) -> str:
        """Why devices of the class of its slots are not free; empty when all are, or for none."""

    @property
    def is_forwarded(self) -> bool:
        """Whether ports of its pods are reached by `connect` alone."""

    async def connect(self, container_id: str, port: int) -> socket.socket:
        """A socket that leads to a port of a container. Raises ConnectionError."""

    @property
    def most_placeholders(self) -> int:
        """For how many pods of a pool nodes are asked at most; 0 where none are asked for."""

    def open(self, expected: Mapping[str, str], epoch: int) -> None:
        """Begin to act under an epoch; `expected` has the pool of each node in use."""

    async def close(self) -> None:
        """Stop acting; pods continue."""


class PodEvents(AgentEvents, Protocol):
    """Events that a Kubernetes backend reports; each node acts as an agent."""

    async def store_logs(
        self, agent_id: str, batch: LogBatch, place: LogPlace | None = None
    ) -> int:
        """Store lines as an agent's, and the place of the last one in the log of their pod."""

    async def stored_output(self, task_id: str, container_id: str) -> StoredOutput:
        """How much of a container's output is stored."""

    async def pod_evicted(self, agent_id: str, report: ContainerReport, reason: str) -> None:
        """A container is asked to end, and not by this master."""

    async def note(self, note: TaskNote) -> None:
        """Write a line of the backend into a task's log; a line with a key is written once."""

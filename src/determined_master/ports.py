"""Protocols of the outside world: backends, and the events that they report."""

from __future__ import annotations

import socket
from collections.abc import (
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import msgspec

from determined_master.domain.access.rules import Caller
from determined_master.domain.config.sections.resources import TopologyConfig
from determined_master.domain.machines.agent_switches import Switches
from determined_master.domain.machines.places import OfferReport
from determined_master.domain.machines.scaling import Machine, MachineType
from determined_master.domain.pods.placement import ClusterLoads
from determined_wire.agent_link import ContainerReport, ContainerSpec, Device, Hello, LogBatch


class NotConnected(Exception):
    """The agent is disconnected; the order can be repeated once it reconnects."""


class ProviderFailed(Exception):
    """The provider of machines failed; the text is for admins."""


class LaunchFailed(ProviderFailed):
    """No machine could be started.

    Users see the text too, as their tasks may end because of it.
    """


class PostFailed(Exception):
    """A post to another server got no answer; the text says why, for users."""

    def __init__(self, text: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final
        """Whether another try would be in vain."""


class HttpPosts(Protocol):
    """Sends requests to servers outside of the cluster."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Post once.

        Returns:
            The status of the answer.

        Raises:
            PostFailed: there is none, or users may not name that address.
        """
        ...


class AgentSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    pool: str
    hostname: str
    address: str
    devices: tuple[Device, ...]
    is_connected: bool
    registered_at: datetime
    version: str
    is_enabled: bool = True
    is_draining: bool = False
    """Running containers continue, nothing new starts."""
    is_ending: bool = False
    """Its cloud takes the machine back, so that its tasks leave it."""
    account: str = ""
    """The user of all of its tasks; empty where each task has its own."""
    disabled_slots: frozenset[int] = frozenset()
    draining_slots: frozenset[int] = frozenset()
    foreign_slots: frozenset[int] = frozenset()
    """Slots in use by pods that do not belong to this master."""
    more_pools: tuple[str, ...] = ()
    """Further pools besides `pool`: a Kubernetes node may be in several."""

    def is_in(self, pool: str) -> bool:
        """Whether it belongs to a pool."""
        return self.pool == pool or pool in self.more_pools


class PodTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the pod besides its container, as in the other pods of its task."""

    pool: str = ""
    namespace: str = ""
    """Empty for the cluster's own."""
    job_id: str = ""
    priority: int | None = None
    """Higher is more urgent."""
    rank: int = 0
    pods: int = 1
    """Number of pods of the whole task."""
    secrets: int = 1
    """Number of Secrets of one pod."""
    topology: TopologyConfig | None = None
    """The domain that all pods of the task share."""
    proxy_ports: tuple[int, ...] = ()
    """The task's ports that users reach through the master, in the container of rank 0."""
    pod_spec: Mapping[str, Any] | None = None
    """The users' pod spec, all layers merged."""
    username: str = ""
    workspace: str = ""
    experiment_id: str = ""
    trial_id: str = ""


class NodeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting task for which a cluster has no room: it needs nodes for these pods."""

    allocation_id: str
    slots: tuple[int, ...]
    """Of each pod."""
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
    has_pods: bool = False
    """Whether pods stand for the task, which count in the quota of its namespace."""

    def sentence(self, *, for_admin: bool = False) -> str:
        """For people who wait; empty when there is nothing to say."""
        asked = (
            f"the cluster was asked for nodes for it at {self.at:%H:%M:%S} UTC" if self.at else ""
        )
        answer = self.admin_text if for_admin else self.text
        return "; ".join(part for part in (asked, answer) if part)


class StoredOutput(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a container's output is stored."""

    last_seq: int = 0
    first_at_us: int = 0
    """Time of the first line, in microseconds since 1970-01-01T00:00:00Z; 0 without any."""
    last_at_us: int = 0


class StartOrder(msgspec.Struct, frozen=True, kw_only=True):
    """An order to start a container on an agent."""

    agent_id: str
    container_id: str
    allocation_id: str
    slot_ids: tuple[int, ...]
    spec: ContainerSpec
    pod: PodTerms | None = None
    """For containers that become pods."""


class TaskNote(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a backend for the log of a task."""

    task_id: str
    allocation_id: str
    container_id: str
    agent_id: str
    text: str
    level: str = "INFO"
    key: str = ""
    """Identifies the subject: each key is written once for a task, by whichever master."""
    at: datetime | None = None
    """When it happened (UTC); None for now."""


class ClusterBackend(Protocol):
    """Runs containers."""

    def agents(self) -> Sequence[AgentSnapshot]:
        """All agents that are connected or may still reconnect."""

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """Slots disabled from now on, by agent id; on all other agents all are enabled."""

    async def start_container(self, order: StartOrder) -> None:
        """Start a container once, even if it is ordered repeatedly. Raises NotConnected."""

    async def signal_container(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str = ""
    ) -> None:
        """Send a signal; a container that was never started is reported as ended.

        Raises NotConnected.
        """

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        """The container's end is stored. Raises NotConnected."""


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
        """For people who wait."""
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


class AgentAdmission(Protocol):
    """Admits agents."""

    def open(self, expected: Mapping[str, str], epoch: int) -> None:
        """Accept agents under an epoch; `expected` has the pool of each that runs something."""

    async def close(self) -> None:
        """Disconnect all agents; their containers continue."""


@dataclass(frozen=True)
class WebSocket:
    """The three parts of an ASGI WebSocket that is not accepted yet."""

    scope: MutableMapping[str, Any]
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]]
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]]


class AgentSockets(Protocol):
    """Serves the WebSockets of agents."""

    async def serve(self, socket: WebSocket) -> None:
        """Serve one agent until it disconnects."""
        ...


class AgentEvents(Protocol):
    """Events that a backend reports to the master; each call returns after the commit."""

    async def agent_joined(
        self, agent: AgentSnapshot, containers: tuple[ContainerReport, ...]
    ) -> tuple[str, ...]:
        """An agent has joined; the answer lists the containers that it keeps."""

    def wanted(self, agent_id: str) -> frozenset[str]:
        """The containers that should run on an agent now."""

    async def agent_lost(self, agent_id: str, reason: str) -> None:
        """An agent did not reconnect in time."""

    async def container_changed(
        self, agent_id: str, boot_id: str, number: int, report: ContainerReport
    ) -> None:
        """A container has reached a state."""

    async def machine_ending(self, agent: AgentSnapshot, boot_id: str, reason: str) -> None:
        """The machine of an agent ends soon. It may be reported several times a boot."""

    async def store_logs(self, agent_id: str, batch: LogBatch) -> int:
        """Store lines; return the number of the last stored line."""


class PodEvents(AgentEvents, Protocol):
    """Events that a Kubernetes backend reports; each node acts as an agent."""

    async def stored_output(self, task_id: str, container_id: str) -> StoredOutput:
        """How much of a container's output is stored."""

    async def pod_evicted(self, agent_id: str, report: ContainerReport, reason: str) -> None:
        """A container is asked to end, and not by this master."""

    async def note(self, note: TaskNote) -> None:
        """Write a line of the backend into a task's log; a line with a key is written once."""


class JoinPolicy(Protocol):
    """The policy for agents that join."""

    def check(
        self, hello: Hello, remote_address: str, *, certificate: frozenset[str] | None = None
    ) -> str | None:
        """Why the agent is refused, for its admin; None when it may join.

        Args:
            hello: the agent's own description.
            remote_address: where it calls from.
            certificate: common and DNS names of the certificate that it showed and that was
                verified; None without one.
        """


class MachineSite(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the master that a provider needs for agents on machines."""

    pool: str
    """The pool that they join."""
    join_token: str
    """The secret with which they join."""
    master_scheme: str
    """`http` or `https`, from this master's listener. The option `master_url` has precedence."""
    master_port: int
    master_cert: str
    """The authority of the master's certificate, in PEM; empty without TLS."""
    cluster_id: str


class MachineProvider(Protocol):
    """Starts and ends the machines of one pool; each runs an agent that joins the pool.

    There is one object for each pool; its calls never overlap. Each has its own deadline, of at
    most a minute.
    """

    @property
    def type(self) -> MachineType:
        """The type of each machine, or of the first of several: all have the same slots.

        Known at once; `open` may find out the location.
        """

    def offers(self) -> OfferReport:
        """The machines that may be had now, in the order of launches, and the last launch."""

    async def open(self) -> None:
        """Learn facts from the provider. Call it first, and again after a failure.

        Raises ProviderFailed.
        """

    async def list_machines(self) -> Sequence[Machine]:
        """All machines of the pool, and requests that are not granted yet.

        Includes machines that were started before a restart of the master. Machines that ended may
        be omitted. Raises ProviderFailed.
        """

    async def launch(
        self, count: int, token: str, *, is_repeated: bool = False
    ) -> Sequence[Machine]:
        """Start machines.

        Args:
            count: how many, at least 1.
            is_repeated: whether the token may have been sent before, also by an earlier master.
            token: a UUID. A repeated token (the master died before it got the answer) starts
                nothing more, and returns the machines of the first call.

        Returns:
            The machines started or requested, possibly fewer than `count`, even if `list_machines`
            takes a while to list them.

        Raises:
            LaunchFailed: none could be started; ProviderFailed: the outcome is unknown.
        """

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        """End machines, or withdraw requests; machines that no longer exist are no error.

        It may be repeated while `list_machines` returns them. Raises ProviderFailed.
        """

    async def close(self) -> None:
        """Close connections; the machines continue."""


class Buckets(Protocol):
    """Object storage, by the configuration of checkpoint storage. Every call blocks.

    Raises (every call):
        FailedPrecondition: the admin does not allow it.
        Unavailable: it refuses or does not answer.
        Unimplemented: its client is not installed.
    """

    def close(self) -> None:
        """End its connections."""

    def sizes_below(self, config: Mapping[str, Any], path: str) -> dict[str, int]:
        """Sizes in bytes of the objects below a path, by the rest of their paths."""

    def content(self, config: Mapping[str, Any], path: str) -> bytes | None:
        """The object at a path, if there is one."""

    def pieces(self, config: Mapping[str, Any], path: str) -> Iterator[bytes]:
        """The object at a path, piece by piece."""


class Authenticator(Protocol):
    """Finds the owner of a token. Every request calls it, so it answers from memory."""

    async def authenticate(self, token: str) -> Caller | None:
        """The caller of a token; None for an unknown or expired one.

        The caller may be inactive (a deactivated user). A task's token gives its owner with the
        task's scope, and None once its allocation has ended.

        Raises:
            Unauthenticated: the token was revoked; the text says so.
        """

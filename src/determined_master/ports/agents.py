"""Agents: the backend that runs containers, and the events that it reports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import msgspec

from determined_master.domain.machines.agent_switches import Switches
from determined_master.ports.orders import StartOrder
from determined_wire.agent_link import ContainerReport, Device, Hello, LogBatch


class NotConnected(Exception):
    """The agent is disconnected; the order can be repeated once it reconnects."""


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


class Refusal(msgspec.Struct, frozen=True):
    """Why an agent may not join, for its admin."""

    reason: str
    is_final: bool = True
    """Whether another attempt would fail as well."""


class JoinPolicy(Protocol):
    """The policy for agents that join."""

    async def check(
        self, hello: Hello, remote_address: str, *, certificate: frozenset[str] | None = None
    ) -> Refusal | None:
        """Why the agent is refused; None when it may join. Changes nothing.

        Args:
            hello: the agent's own description, with its key and its join token.
            remote_address: where it calls from.
            certificate: common and DNS names of the certificate that it showed and that was
                verified; None without one.
        """

    async def bind(self, hello: Hello, remote_address: str) -> Refusal | None:
        """Spend its token as it joins: from now on its key admits it.

        Returns:
            Why it may not join any more; None when it may.
        """

"""Which ports of running tasks are reached through the master, and by whom.

Nothing of it is stored: services follow from the live allocations, so a restarted master has the
same. Source: task-contract 7.3, 7.7.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
import ssl
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.domain.task.proxy_port import ProxyPort, find_port, task_of_service
from determined_master.services.tasks.shell_visits import ShellVisits

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.allocation.messages import Allocation, Container
    from determined_master.pools.live import LiveAllocations
    from determined_master.services.access.task_tokens import TaskTokens
    from determined_master.services.containers.cluster_authority import ClusterAuthority


class Forwarding(Protocol):
    """Connects to containers whose addresses cannot be reached."""

    async def connect(self, container_id: str, port: int) -> socket.socket:
        """A socket that leads to a port. Raises ConnectionError."""


class ServiceTarget(msgspec.Struct, frozen=True):
    """Where a service is, and whose."""

    service_id: str
    allocation_id: str
    task_id: str
    port: ProxyPort
    host: str
    host_port: int
    agent_id: str
    container_id: str
    is_trial: bool
    has_own_token: bool
    """A notebook: it may be reached with its own token, too."""
    is_only_shown: bool = True
    """Whether it only displays: a TensorBoard, or a page of a trial."""
    has_ssh_keys: bool = False
    """A shell: its owner reaches it, admins do, and users with whom they share it."""

    @property
    def is_shared_by_name(self) -> bool:
        """Whether its owner decides who else may enter it."""
        return self.has_own_token or self.has_ssh_keys

    @property
    def where(self) -> str:
        """As users know it."""
        return f"service {self.service_id} (port {self.port.port} of its container)"


class Proxies:
    """The services of running tasks."""

    def __init__(
        self,
        live: LiveAllocations,
        tokens: TaskTokens,
        forwarding: Callable[[str], Forwarding | None] = lambda agent_id: None,
    ) -> None:
        """
        Args:
            live: all allocations.
            tokens: of tasks.
            forwarding: connects to the containers of an agent whose addresses cannot be reached;
                None for other agents.
        """
        self._live = live
        self._tokens = tokens
        self._forwarding = forwarding
        self.visits = ShellVisits()
        self._last: dict[str, datetime] = {}
        self._ends: dict[str, asyncio.Future[None]] = {}

    def find(self, service_id: str) -> ServiceTarget | None:
        """A service by its name; None when it is not registered (now)."""
        task_id = task_of_service(service_id)
        for allocation in self._live.of_task(task_id):
            port = find_port(allocation.request.proxy_ports, service_id)
            chief = _running_chief(allocation)
            if port is None or chief is None:
                continue
            host_port = dict(chief.ports).get(port.port)
            if host_port is not None and chief.host_ip:
                kind = TASK_KINDS[allocation.request.task_type]
                return ServiceTarget(
                    service_id=service_id,
                    allocation_id=allocation.id,
                    task_id=task_id,
                    port=port,
                    host=chief.host_ip,
                    host_port=host_port,
                    agent_id=chief.agent_id,
                    container_id=chief.id,
                    is_trial=kind.group == "trial",
                    has_own_token=kind.has_own_token,
                    is_only_shown=kind.is_only_shown,
                    has_ssh_keys=kind.has_ssh_keys,
                )
        return None

    def note_request(self, target: ServiceTarget) -> None:
        """A service is used; a connection that stays open counts once."""
        self._last[target.task_id] = clock.now()

    def last_request_at(self, task_id: str) -> datetime | None:
        """The time of the last request to a service of a task, since this master started."""
        return self._last.get(task_id)

    def is_registered(self, task_id: str) -> bool:
        """Whether any service of a task can be reached."""
        return any(
            a.request.proxy_ports and _running_chief(a) is not None
            for a in self._live.of_task(task_id)
        )

    @cached_property
    def _authority(self) -> ClusterAuthority:
        # 50 modules, for masters whose tasks have a service with TLS.
        from determined_master.services.containers.cluster_authority import ClusterAuthority

        return ClusterAuthority(self._tokens)

    def trust_of(self, target: ServiceTarget) -> ssl.SSLContext | None:
        """The certificate of a service that uses TLS; None for others."""
        return self._authority.client_context if target.port.is_tls else None

    async def forward(self, target: ServiceTarget) -> socket.socket | None:
        """A socket to a service whose address cannot be reached; None where it can.

        Raises:
            ConnectionError: there is no way to its container.
        """
        cluster = self._forwarding(target.agent_id)
        return await cluster.connect(target.container_id, target.port.port) if cluster else None

    def key_of(self, target: ServiceTarget) -> str:
        """The credentials that a service accepts from the proxy alone; empty for others."""
        return self._tokens.service_key(target.task_id) if target.port.is_keyed else ""

    def is_own_token(self, target: ServiceTarget, token: str) -> bool:
        """Whether a token is the one that a notebook was given for itself."""
        if not target.has_own_token or not token:
            return False
        own = self._tokens.notebook_token(target.task_id)
        return hmac.compare_digest(own.encode(), token.encode())

    def reader_token(self, target: ServiceTarget, address: str) -> str:
        """The token that a request without one acts with; empty for none."""
        return self.visits.token_of(target.task_id, address) if target.port.admits_readers else ""

    def check(
        self, caller: Caller, service_id: str, target: ServiceTarget | None
    ) -> ServiceTarget:
        """The service, if there is one and the caller may use it.

        Raises:
            NotFound: in one and the same way for a service that there is not and for one that
                is not the caller's to see.
        """
        thing: access.ThingKind = (
            "experiment" if target is not None and target.is_trial else "task"
        )
        if target is not None and caller.scope is None and access.can(caller, "read", thing):
            return target
        raise unknown(service_id)

    def ending_of(self, target: ServiceTarget) -> asyncio.Future[None]:
        """Is done when the service's allocation has ended; to be waited for, not cancelled."""
        end = self._ends.get(target.allocation_id)
        if end is None:
            end = asyncio.get_running_loop().create_future()
            if self._live.find(target.allocation_id) is None:
                end.set_result(None)  # it has just ended: no later event will say so
                return end
            self._ends[target.allocation_id] = end
        return end

    def ended(self, allocation_id: str, task_id: str) -> None:
        """An allocation has ended: close the connections to its services."""
        end = self._ends.pop(allocation_id, None)
        if end is not None:
            end.set_result(None)
        if not self._live.of_task(task_id):
            self._last.pop(task_id, None)
            self.visits.forget(task_id)


def unknown(service_id: str) -> NotFound:
    """The error for a service that does not exist, and for one that the caller may not see."""
    return NotFound(
        f"service not found: {service_id}: its task does not run (yet, or any more), has no such "
        "port under environment.proxy_ports, or is not yours to see"
    )


def _running_chief(allocation: Allocation) -> Container | None:
    """The container of rank 0, while it runs."""
    chief = next((c for c in allocation.containers if c.rank == 0), None)
    return chief if chief is not None and chief.state == "RUNNING" else None

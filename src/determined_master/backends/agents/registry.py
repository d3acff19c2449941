"""The agents that this master knows: connected ones, and lost ones that may reconnect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace

from determined_master.backends.agents.orders import OrderStream
from determined_master.domain.machines.agent_switches import ALL_ON, Switches
from determined_master.ports.agents import AgentSnapshot, NotConnected
from determined_wire.agent_link import Hello

CLOCK_TOLERANCE_US = 5_000_000
"""Smaller differences may be the time of a message in transit."""


def switched(agent: AgentSnapshot, switches: Mapping[str, Switches]) -> AgentSnapshot:
    """An agent with its switches; the same object when they have not changed."""
    own = switches.get(agent.id, ALL_ON)
    changed = replace(
        agent,
        is_enabled=own.is_enabled,
        is_draining=own.is_draining,
        disabled_slots=own.disabled_slots,
        draining_slots=own.draining_slots,
    )
    return agent if changed == agent else changed


def clock_ahead_us(hello: Hello, now: datetime) -> int:
    """By how many microseconds an agent's clock is ahead of ours; 0 for a little, or unknown."""
    if not hello.sent_at_us:
        return 0
    ahead_us = hello.sent_at_us - int(now.timestamp() * 1e6)
    return ahead_us if abs(ahead_us) > CLOCK_TOLERANCE_US else 0


class LiveSession(Protocol):
    """The interface of an agent's connection."""

    async def is_answering(self) -> bool:
        """Check with a ping that the agent answers."""

    def end(self, reason: str) -> None:
        """Close it."""


class KnownAgent:
    """One agent, over all of its connections to this master."""

    def __init__(self, snapshot: AgentSnapshot) -> None:
        self.snapshot = snapshot
        self.orders = OrderStream()
        self.session: LiveSession | None = None
        self.boot_id = ""
        self.received = 0
        """Number of the last message of that boot that is committed."""
        self.clock_ahead_us = 0
        """Subtracted from the times of its tasks' lines."""
        self.is_ending = False
        """Its cloud takes the machine of that boot back."""

    @property
    def shown(self) -> AgentSnapshot:
        """Its snapshot as others see it: a machine that ends soon drains."""
        return (
            replace(self.snapshot, is_draining=True, is_ending=True)
            if self.is_ending
            else self.snapshot
        )

    def joined(self, hello: Hello, address: str) -> None:
        """Adopt the agent's description of itself; a new boot numbers its messages again."""
        if hello.boot_id != self.boot_id:
            self.boot_id, self.received = hello.boot_id, 0
            self.is_ending = False
        self.snapshot = replace(
            self.snapshot,
            pool=hello.resource_pool,
            hostname=hello.hostname,
            address=address,
            devices=hello.devices,
            version=hello.version,
            account=hello.account,
        )

    def connected(self, session: LiveSession) -> None:
        self.session = session
        self.snapshot = replace(self.snapshot, is_connected=True)

    def disconnected(self) -> None:
        """Its session has ended; it may reconnect."""
        self.session = None
        self.snapshot = replace(self.snapshot, is_connected=False)


class Registry:
    """All known agents by id."""

    def __init__(self, switches: Mapping[str, Switches] | None = None) -> None:
        self._agents: dict[str, KnownAgent] = {}
        self._switches = switches or {}

    def __iter__(self) -> Iterator[KnownAgent]:
        return iter(list(self._agents.values()))

    def snapshots(self) -> Sequence[AgentSnapshot]:
        """All agents that are connected or may still reconnect."""
        return [agent.shown for agent in self._agents.values()]

    def find(self, agent_id: str) -> KnownAgent | None:
        return self._agents.get(agent_id)

    def get_connected(self, agent_id: str) -> KnownAgent:
        """A connected agent. Raises NotConnected."""
        agent = self._agents.get(agent_id)
        if agent is None or agent.session is None:
            raise NotConnected(f"agent {agent_id} is not connected")
        return agent

    def add(self, agent_id: str, pool: str, now: datetime) -> KnownAgent:
        """Add an agent, unless it is known already."""
        if agent_id not in self._agents:
            snapshot = AgentSnapshot(
                id=agent_id,
                pool=pool,
                hostname="",
                address="",
                devices=(),
                is_connected=False,
                registered_at=now,
                version="",
            )
            self._agents[agent_id] = KnownAgent(switched(snapshot, self._switches))
        return self._agents[agent_id]

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """Show disabled agents and slots, by agent id."""
        self._switches = switches
        for agent in self._agents.values():
            agent.snapshot = switched(agent.snapshot, switches)

    def forget(self, agent_id: str) -> None:
        self._agents.pop(agent_id, None)

"""Switching agents and slots off and on; what runs where it may not is ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from determined_master import entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.access import rules as access
from determined_master.domain.allocation.messages import KillRequested
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.ids import AllocationId
from determined_master.domain.machines import agent_switches
from determined_master.domain.machines.agent_switches import ALL_ON, Switches
from determined_master.engine.causes import Occurrence
from determined_master.engine.errors import NotLeader
from determined_master.engine.leadership.epoch_check import hold_lead
from determined_master.store.cluster.agent_switches import read_switches, write_switches

if TYPE_CHECKING:
    from collections.abc import Callable

    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports.agents import AgentSnapshot, ClusterBackend
    from determined_master.store.db import Database


class AgentSwitches:
    """The switches of all agents; the rows are the truth, the backend has a copy."""

    def __init__(
        self,
        engine: Engine,
        db: Database,
        backend: ClusterBackend,
        live: LiveAllocations,
        trigger_planning: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._db = db
        self._backend = backend
        self._live = live
        self._trigger_planning = trigger_planning
        self._known: dict[str, Switches] = {}
        self._turn = asyncio.Lock()

    async def load(self) -> None:
        """Read the rows and give them to the backend; at the begin of each lead."""
        async with self._turn:
            async with self._db.acquire() as conn:
                self._known = await read_switches(conn)
            self._backend.set_switches(self._known)

    async def enforce(self) -> None:
        """End what runs where it may not: now and then, for starts that met a change."""
        for allocation in list(self._live.values()):
            for container in allocation.containers:
                switches = self._known.get(container.agent_id, ALL_ON)
                reason = agent_switches.reason_to_end(switches, container.slot_ids)
                is_over = container.state == "TERMINATED" or allocation.kill_reason is not None
                if reason is not None and not is_over:
                    cause = Occurrence("switched off", entropy.new_uuid())
                    event = KillRequested(reason=reason)
                    await self._engine.post(
                        ALLOCATION, AllocationId(allocation.id), event, cause=cause
                    )
                    break

    async def enable_agent(self, caller: Caller, agent_id: str) -> AgentSnapshot:
        """Let an agent and all of its slots take work."""
        return await self._change(caller, agent_id, lambda _: ALL_ON)

    async def disable_agent(self, caller: Caller, agent_id: str, *, drain: bool) -> AgentSnapshot:
        """Give an agent no more work; without `drain` what runs there starts again elsewhere."""
        return await self._change(
            caller, agent_id, lambda s: agent_switches.disable_agent(s, drain=drain)
        )

    async def enable_slot(self, caller: Caller, agent_id: str, slot: str) -> AgentSnapshot:
        """Let a slot take work."""
        number = self._slot(caller, agent_id, slot)
        return await self._change(
            caller, agent_id, lambda s: agent_switches.enable_slot(s, number)
        )

    async def disable_slot(
        self, caller: Caller, agent_id: str, slot: str, *, drain: bool
    ) -> AgentSnapshot:
        """Give a slot no more work; without `drain` what runs on it starts again elsewhere."""
        number = self._slot(caller, agent_id, slot)
        return await self._change(
            caller, agent_id, lambda s: agent_switches.disable_slot(s, number, drain=drain)
        )

    async def _change(
        self, caller: Caller, agent_id: str, change: Callable[[Switches], Switches]
    ) -> AgentSnapshot:
        access.may(caller, "edit", "agent")
        agent = self._find(agent_id)
        async with self._turn:
            changed = change(self._known.get(agent_id, ALL_ON))
            await self._store(agent_id, changed, caller)
            # As in the rows, agents with all of it on are left out, but for the one just changed:
            # a backend may have to undo something for it.
            off = {id: own for id, own in self._known.items() if own != ALL_ON}
            self._known = {**off, agent_id: changed}
            self._backend.set_switches(self._known)
        self._trigger_planning(agent.pool)
        await self.enforce()
        return self._find(agent_id)

    async def _store(self, agent_id: str, switches: Switches, caller: Caller) -> None:
        """Write the row, if this process leads: the next leader has read the rows already.

        Raises:
            NotLeader: another process leads.
        """
        epoch = self._engine.epoch
        if epoch is None:
            raise NotLeader("this master does not lead: send the request again")
        async with self._db.acquire() as conn, conn.transaction():
            await hold_lead(conn, epoch)
            await write_switches(conn, agent_id, switches, caller.user_id)

    def _find(self, agent_id: str) -> AgentSnapshot:
        for agent in self._backend.agents():
            if agent.id == agent_id:
                return agent
        raise NotFound(f"agent '{agent_id}' not found")

    def _slot(self, caller: Caller, agent_id: str, slot: str) -> int:
        """The number of a slot of the agent; only callers who may switch slots get it."""
        access.may(caller, "edit", "agent")
        agent = self._find(agent_id)
        if not slot.isdecimal():
            raise InvalidArgument(f"invalid slot id: {slot}; it is a number, see `det slot list`")
        if int(slot) not in {device.id for device in agent.devices}:
            raise NotFound(f"slot '{slot}' not found on agent {agent_id}: see `det slot list`")
        return int(slot)

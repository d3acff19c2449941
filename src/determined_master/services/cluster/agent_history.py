"""Agents over time: when they were there, and what held their slots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.schedule.agent_history import AgentRecord, record_of_agent
from determined_master.domain.schedule.frames import FrameHistory
from determined_master.domain.schedule.view import PoolView
from determined_master.pools.recorder import read_frame
from determined_master.store.cluster import agent_stays
from determined_master.store.queue import plan_frames
from determined_master.store.tasks.held_slots import HeldSlots, list_held

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.ports.agents import AgentSnapshot
    from determined_master.services.access.guard import Guard
    from determined_master.store.cluster.agent_stays import AgentStay
    from determined_master.store.db import Database
    from determined_master.store.queue.plan_frames import FrameRow

DEFAULT_HOURS, MAX_HOURS = 24, 168
MAX_MOMENTS = 5000
MAX_HOLDINGS = 500
READ_S = 8.0
"""How long a record is read; of a longer one the first part is returned."""


class HeldBy(msgspec.Struct, frozen=True):
    """A part of the record: an allocation, and what it was of."""

    slots: int
    since: datetime
    until: datetime | None
    of: HeldSlots


class AgentHistory(msgspec.Struct, frozen=True):
    """An agent from `since` until `until`; nothing is recorded before `recorded_since`."""

    pool: str
    since: datetime
    until: datetime
    recorded_since: datetime | None
    stays: Sequence[AgentStay]
    record: AgentRecord
    held: Sequence[HeldBy]


class AgentHistories:
    """The histories of all agents, read in a thread, one at a time."""

    def __init__(
        self, db: Database, guard: Guard, agents: Callable[[], Sequence[AgentSnapshot]]
    ) -> None:
        self._db = db
        self._guard = guard
        self._agents = agents
        self._gate = asyncio.Semaphore(1)

    async def find(self, caller: Caller, agent_id: str, hours: int) -> AgentHistory:
        """The history of an agent; allocations that the caller may not see are left out.

        Raises:
            NotFound: there is and was no such agent.
            InvalidArgument: too many hours.
        """
        access.may(caller, "read", "agent")
        if not 0 <= hours <= MAX_HOURS:
            raise InvalidArgument(
                f"hours is {hours}: it must be 1 to {MAX_HOURS}, or 0 for {DEFAULT_HOURS}"
            )
        until = clock.now()
        since = until - timedelta(hours=hours or DEFAULT_HOURS)
        async with self._gate:
            async with self._db.acquire() as conn:
                stays = await agent_stays.list_stays(conn, agent_id, since)
                pool = self._pool_of(agent_id, stays)
                frames = await plan_frames.list_frames(conn, pool, since, until)
            record = await asyncio.to_thread(_record, agent_id, frames, since)
            held = await self._held(caller, record)
        begin = max(since, frames[0].at) if frames else None
        return AgentHistory(pool, since, until, begin, stays, record, held)

    def _pool_of(self, agent_id: str, stays: Sequence[AgentStay]) -> str:
        live = next((agent.pool for agent in self._agents() if agent.id == agent_id), None)
        if live is not None:
            return live
        if not stays:
            raise NotFound(f"agent '{agent_id}' not found")
        return stays[-1].pool

    async def _held(self, caller: Caller, record: AgentRecord) -> list[HeldBy]:
        newest = record.holdings[-MAX_HOLDINGS:]
        ids = [one.allocation_id for one in newest]
        seen = await self._guard.seen(caller, "allocation", ids)
        async with self._db.acquire() as conn:
            known = await list_held(conn, sorted(seen))
        return [
            HeldBy(one.slots, one.since, one.until, known[one.allocation_id])
            for one in newest
            if one.allocation_id in known
        ]


def _record(agent_id: str, rows: Sequence[FrameRow], since: datetime) -> AgentRecord:
    record = record_of_agent(agent_id, _views(rows, clock.monotonic_s() + READ_S), since)
    return msgspec.structs.replace(record, moments=record.moments[-MAX_MOMENTS:])


def _views(rows: Sequence[FrameRow], end_s: float) -> Iterator[PoolView]:
    history = FrameHistory()
    for row in rows:
        if clock.monotonic_s() > end_s:
            return
        view, _ = history.play(read_frame(row))
        yield view

"""Use cases that running tasks call: rendezvous, leaving, saying that they are ready."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.access import rules as access
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.errors import (
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
)
from determined_master.domain.ids import AllocationId, checked_uuid
from determined_master.engine.causes import Cause, Occurrence, OnlyOnce
from determined_master.records.tasks import AllocationRow
from determined_master.store.tasks import allocations as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations

RENDEZVOUS_DEADLINE_S = 600.0
MAX_PREEMPTION_WAIT_S = 300.0


class Rendezvous(msgspec.Struct, frozen=True):
    """Where the containers of an allocation are; index is rank."""

    addresses: tuple[str, ...]
    rank: int
    slots: tuple[int, ...]


class Allocations:
    """Allocations as their own tasks see them."""

    def __init__(self, engine: Engine, db: asyncpg.Pool, live: LiveAllocations) -> None:
        self._engine = engine
        self._db = db
        self._live = live
        self._rounds: dict[str, _Round] = {}

    async def get(self, caller: Caller, allocation_id: str) -> AllocationRow:
        """One allocation."""
        access.may(caller, "read", "task")
        async with self._db.acquire() as conn:
            row = await rows.find_allocation(conn, _checked(allocation_id))
        if row is None:
            raise NotFound(f"allocation '{allocation_id}' not found")
        return row

    async def list_of(self, caller: Caller, task_id: str) -> list[AllocationRow]:
        """The allocations of a task, newest first."""
        access.may(caller, "read", "task")
        async with self._db.acquire() as conn:
            return await rows.list_allocations(conn, task_id)

    async def rendezvous(
        self, caller: Caller, allocation_id: str, container_id: str
    ) -> Rendezvous:
        """Wait until all containers run, then return their addresses.

        Raises:
            NotFound: no such allocation or container.
            FailedPrecondition: the allocation or a container ended in the meantime.
        """
        await self._may_report(caller, allocation_id)
        state = await self._state(allocation_id)
        if container_id not in {c.id for c in state.containers}:
            raise NotFound(
                f"allocation '{allocation_id}' has no resources '{container_id}': they are of "
                "an earlier attempt"
            )
        if not _all_run(state):
            state = await self._wait(allocation_id, _all_run_or_over, RENDEZVOUS_DEADLINE_S)
        if not _all_run(state):
            raise NotFound(f"allocation '{allocation_id}' has ended before all of it had started")
        await self._post(allocation_id, alloc.BecameReady(), OnlyOnce("ready"))
        ranked = sorted(state.containers, key=lambda c: c.rank)
        own = next(c for c in ranked if c.id == container_id)
        return Rendezvous(
            addresses=tuple(c.host_ip for c in ranked),
            rank=own.rank,
            slots=tuple(len(c.slot_ids) for c in ranked),
        )

    async def preemption_signal(
        self, caller: Caller, allocation_id: str, timeout_s: float
    ) -> bool:
        """Whether the task should save its work and exit; waits for a yes that long."""
        await self._may_report(caller, allocation_id)
        state = await self._state(allocation_id)
        if timeout_s > 0 and not _should_leave(state):
            wait = min(timeout_s, MAX_PREEMPTION_WAIT_S)
            try:
                state = await self._wait(allocation_id, _should_leave, wait)
            except TimeoutError:
                return False
        return _should_leave(state)

    async def acknowledge_preemption(self, caller: Caller, allocation_id: str) -> None:
        """The task has received the request to exit, and will exit."""
        await self._may_report(caller, allocation_id)
        await self._post(
            allocation_id, alloc.PreemptAcknowledged(), OnlyOnce("preemption acknowledged")
        )

    async def request_preemption(self, caller: Caller, allocation_id: str) -> None:
        """The task reports an external request to exit."""
        await self._may_report(caller, allocation_id)
        event = alloc.PreemptRequested(reason="the resource manager asks the task to leave")
        await self._post(allocation_id, event, OnlyOnce("pending preemption"))

    async def report_ready(self, caller: Caller, allocation_id: str) -> None:
        """The task answers requests now."""
        await self._may_report(caller, allocation_id)
        await self._post(allocation_id, alloc.BecameReady(), OnlyOnce("ready"))

    async def report_waiting(self, caller: Caller, allocation_id: str) -> None:
        """The task waits for something of its own."""
        await self._may_report(caller, allocation_id)
        await self._post(
            allocation_id, alloc.BeganWaiting(), Occurrence("waiting", entropy.new_uuid())
        )

    async def mark_daemon(self, caller: Caller, allocation_id: str, container_id: str) -> None:
        """A container only serves the others: it may be ended when they are done."""
        await self._may_report(caller, allocation_id)
        event = alloc.DaemonMarked(container_id=container_id)
        await self._post(allocation_id, event, Occurrence("daemon", container_id))

    async def kill(self, task_id: str) -> None:
        """Kill the live allocations of a task, without a check of the caller."""
        for allocation in self._live.of_task(task_id):
            event = alloc.KillRequested(reason="killed by an admin")
            await self._post(allocation.id, event, Occurrence("kill", entropy.new_uuid()))

    async def report_accelerators(
        self, caller: Caller, allocation_id: str, data: Mapping[str, Any]
    ) -> None:
        """Store which devices a container has found."""
        await self._may_report(caller, allocation_id)
        async with self._db.acquire() as conn:
            await rows.add_accelerators(conn, allocation_id, dict(data))

    async def accelerators(self, caller: Caller, task_id: str) -> list[dict[str, Any]]:
        """The accelerators of a task's containers, by allocation; nothing of an unknown one."""
        access.may(caller, "read", "task")
        async with self._db.acquire() as conn:
            return await rows.list_accelerators(conn, task_id)

    async def all_gather(
        self, caller: Caller, allocation_id: str, request: str, peers: int, data: Any
    ) -> list[Any]:
        """Wait for all peers' data and give all of it to each."""
        await self._may_report(caller, allocation_id)
        if peers < 1:
            raise InvalidArgument(f"numPeers is {peers}: it must be at least 1")
        state = await self._state(allocation_id)
        if state.outcome is not None:
            raise FailedPrecondition(f"allocation '{allocation_id}' has ended")
        peer = checked_uuid(request)
        current = self._rounds.setdefault(allocation_id, _Round())
        current.data[peer] = data
        if len(current.data) >= peers:
            self._rounds.pop(allocation_id, None)
            current.done.set()
            await self._post(allocation_id, alloc.BecameReady(), OnlyOnce("ready"))
        await asyncio.wait_for(current.done.wait(), RENDEZVOUS_DEADLINE_S)
        return list(current.data.values())

    async def _may_report(self, caller: Caller, allocation_id: str) -> None:
        """Check that the caller may speak for an allocation: its task, the task's owner, an admin.

        Others could make it leave, be one of its ranks, or read what its ranks send each other.

        Raises:
            PermissionDenied: it is another user's.
        """
        if caller.scope is not None:  # that of this allocation: the route has checked it
            return
        async with self._db.acquire() as conn:
            owner_id = await rows.find_owner_id(conn, _checked(allocation_id))
        if owner_id is None:
            return  # it is reported as missing
        refusal = (
            f"allocation '{allocation_id}' is of another user's task: only the task itself, its "
            "owner and admins report for it"
        )
        if caller.is_task_session and owner_id != caller.user_id:
            raise PermissionDenied(refusal)
        access.may(caller, "report", "allocation", owner_id=owner_id, refusal=refusal)

    async def _state(self, allocation_id: str) -> alloc.Allocation:
        live = self._live.find(_checked(allocation_id))
        if live is not None:
            return live
        state = await self._engine.read(ALLOCATION, AllocationId(allocation_id))
        if state is None:
            raise NotFound(f"allocation '{allocation_id}' not found")
        return state

    async def _wait(self, allocation_id: str, until: Any, timeout_s: float) -> alloc.Allocation:
        return await self._engine.wait_for(
            ALLOCATION, AllocationId(allocation_id), until, timeout_s
        )

    async def _post(self, allocation_id: str, event: alloc.AllocationEvent, cause: Cause) -> None:
        await self._state(allocation_id)
        await self._engine.post(ALLOCATION, AllocationId(allocation_id), event, cause=cause)


class _Round:
    """One all-gather that waits for its peers."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self.done = asyncio.Event()


def _checked(allocation_id: str) -> str:
    if "." not in allocation_id:
        raise InvalidArgument(
            f"allocation id {allocation_id!r} has no dot: it is a task's id, a dot and a number"
        )
    return allocation_id


def _all_run(state: alloc.Allocation) -> bool:
    return bool(state.containers) and all(c.state == "RUNNING" for c in state.containers)


def _all_run_or_over(state: alloc.Allocation) -> bool:
    is_over = any(c.state == "TERMINATED" for c in state.containers)
    return _all_run(state) or is_over or state.outcome is not None


def _should_leave(state: alloc.Allocation) -> bool:
    asked = state.preempt_reason is not None or state.kill_reason is not None
    return asked or state.outcome is not None

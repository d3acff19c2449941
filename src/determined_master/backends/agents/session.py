"""One connection of one admitted agent: both streams, output, keepalive."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import assert_never

import msgspec

from determined_master import clock
from determined_master.backends.agents.addresses import with_own_addresses
from determined_master.backends.agents.frames import Closed, Frames, Malformed
from determined_master.backends.agents.log_intake import LogIntake, by_our_clock
from determined_master.backends.agents.registry import KnownAgent
from determined_master.ports.agents import AgentEvents
from determined_wire.agent_link import (
    AgentAck,
    ContainerChanged,
    FromAgent,
    FromMaster,
    Hello,
    LogBatch,
    MachineEnding,
    MasterAck,
    Ping,
    Pong,
)
from determined_wire.backoff import Backoff

log = logging.getLogger(__name__)

MAX_QUEUED_CHANGES = 256
MAX_REASON = 300
_TRIES = 6
_BACKOFF = Backoff(0.1, 3.2)
_STALL_S = 2.0


class LinkTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Time limits of the master's end."""

    open_s: float = 5.0
    """How long an agent waits for a master that does not lead yet."""
    hello_s: float = 10.0
    ping_after_s: float = 15.0
    """Time without a message after which the agent gets a ping."""
    answer_s: float = 30.0
    """Time without an answer to it after which the agent counts as lost."""
    probe_s: float = 3.0
    """The same, while another agent uses its id."""
    order_s: float = 60.0
    """An order must be acknowledged within this time."""


class SessionEnded(Exception):
    """Why the master ended a session."""


class Session:
    """Serves one connection until it is lost or ended."""

    def __init__(
        self, frames: Frames, agent: KnownAgent, events: AgentEvents, times: LinkTimes
    ) -> None:
        self._frames = frames
        self._agent = agent
        self._events = events
        self._times = times
        self._answers: deque[FromMaster] = deque()
        self._changes: asyncio.Queue[ContainerChanged] = asyncio.Queue(MAX_QUEUED_CHANGES)
        self._has_received = asyncio.Event()
        self._stop = asyncio.Event()
        self._reason = ""
        self._is_ending = False
        """The end of the machine was announced on this connection."""

    async def serve(self, send_orders_after: int) -> None:
        """Serve the connection; return when it has ended.

        Args:
            send_orders_after: number of the last order that the agent has acknowledged.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                intake = LogIntake(self._agent.snapshot.id, self._events, tasks, self._answer)
                tasks.create_task(self._write(send_orders_after))
                tasks.create_task(self._apply_changes())
                tasks.create_task(self._end_on_request())
                tasks.create_task(self._read(intake))
        except* Closed:
            log.debug("an agent's connection is lost", extra={"agent": self._agent.snapshot.id})
        except* (Malformed, SessionEnded) as group:
            reason = str(_first(group))
            log.warning(
                "ending an agent's connection",
                extra={"agent": self._agent.snapshot.id, "reason": reason},
            )
            await self._frames.refuse(reason, is_final=False)

    async def is_answering(self) -> bool:
        """Check with a ping that the agent answers."""
        self._has_received.clear()
        self._answer(Ping())
        try:
            async with asyncio.timeout(self._times.probe_s):
                await self._has_received.wait()
        except TimeoutError:
            return False
        return not self._stop.is_set()

    def end(self, reason: str) -> None:
        self._reason = reason
        self._stop.set()

    def _answer(self, message: FromMaster) -> None:
        self._answers.append(message)
        self._agent.orders.news.set()

    async def _end_on_request(self) -> None:
        await self._stop.wait()
        raise SessionEnded(self._reason)

    async def _write(self, last: int) -> None:
        orders = self._agent.orders
        while True:
            orders.news.clear()
            while self._answers:
                await self._frames.send(self._answers.popleft())
            for order in orders.after(last):
                await self._frames.send(order)
                last = order.number
            if not self._answers:
                await orders.news.wait()

    async def _read(self, intake: LogIntake) -> None:
        while True:
            message = await self._next()
            self._has_received.set()
            match message:
                case LogBatch():
                    intake.put(by_our_clock(message, self._agent.clock_ahead_us))
                case ContainerChanged():
                    await self._changes.put(message)
                case MachineEnding(reason=reason):
                    await self._end_work(reason)
                case AgentAck(number=number):
                    self._agent.orders.acknowledge(number)
                case Pong():
                    continue
                case Hello():
                    raise Malformed("a second hello on one connection")
                case _:
                    assert_never(message)

    async def _end_work(self, reason: str) -> None:
        """Let the agent's work save itself, and give it no more: its machine ends soon."""
        agent = self._agent
        if self._is_ending:
            return
        self._is_ending = agent.is_ending = True
        text = " ".join(reason.split())[:MAX_REASON] or "its cloud gives no reason"
        log.warning("a machine is taken back", extra={"agent": agent.snapshot.id, "reason": text})
        try:
            await self._events.machine_ending(agent.snapshot, agent.boot_id, text)
        except Exception:  # the agent announces it again on its next connection
            log.exception("a machine's end was not stored", extra={"agent": agent.snapshot.id})

    async def _next(self) -> FromAgent:
        """The next message; the session ends when none comes in time."""
        reading = asyncio.ensure_future(self._frames.receive())
        try:
            is_asked = False
            while True:
                wait_s = self._times.answer_s if is_asked else self._times.ping_after_s
                began_s = clock.monotonic_s()
                await asyncio.wait({reading}, timeout=wait_s)
                if reading.done():
                    return reading.result()
                if clock.monotonic_s() - began_s > wait_s + _STALL_S:
                    continue  # this process was suspended: that says nothing about the agent
                if is_asked:
                    raise SessionEnded(f"no sign of life for {wait_s:g} s")
                self._answer(Ping())
                is_asked = True
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _apply_changes(self) -> None:
        while True:
            change = await self._changes.get()
            if change.number > self._agent.received:
                await self._apply(change)
                self._agent.received = change.number
            self._answer(MasterAck(change.number))

    async def _apply(self, change: ContainerChanged) -> None:
        snapshot = self._agent.snapshot
        report, foreign = with_own_addresses(change.report, snapshot.address)
        if foreign:
            log.warning(
                "dropped addresses of a container that are not of its agent: set the agent's "
                "advertised_address",
                extra={"agent": snapshot.id, "own": snapshot.address, "foreign": foreign},
            )
        for failures in range(1, _TRIES + 1):
            try:
                await self._events.container_changed(
                    self._agent.snapshot.id, self._agent.boot_id, change.number, report
                )
            except Exception:
                log.exception(
                    "a container's change was not stored", extra={"container": report.container_id}
                )
                await asyncio.sleep(_BACKOFF.after(failures))
            else:
                return
        raise SessionEnded("the master cannot store what the agent reports; send it again")


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error

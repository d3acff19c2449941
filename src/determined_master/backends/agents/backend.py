"""The agents' side of the cluster: admits agents, waits for lost ones, sends them orders."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from determined_master import clock
from determined_master.backends.agents.addresses import own_address, with_own_addresses
from determined_master.backends.agents.frames import (
    Closed,
    Frames,
    Malformed,
    Receive,
    Scope,
    Send,
)
from determined_master.backends.agents.handshake import (
    MasterIdentity,
    given_up,
    obeyed,
    receive_hello,
    refusal_of,
)
from determined_master.backends.agents.registry import KnownAgent, Registry, clock_ahead_us
from determined_master.backends.agents.session import LinkTimes, Session
from determined_master.domain.addresses import IPNetwork
from determined_master.domain.machines.agent_switches import Switches
from determined_master.ports.agents import (
    AgentEvents,
    AgentSnapshot,
    JoinPolicy,
    NotConnected,
    Refusal,
    WebSocket,
)
from determined_master.ports.orders import StartOrder
from determined_wire.agent_link import (
    PROTOCOL,
    ForgetContainer,
    Hello,
    Order,
    SignalContainer,
    StartContainer,
    Welcome,
)

__all__ = ["AgentBackend", "MasterIdentity"]

log = logging.getLogger(__name__)

LEAD_ENDED = "the master does not lead any more: it is stopping, or its database is away"

_TICK_S = 1.0


class AgentBackend:
    """All agents of this master; implements `ports.ClusterBackend`."""

    def __init__(
        self,
        identity: MasterIdentity,
        events: AgentEvents,
        joins: JoinPolicy,
        *,
        reconnect_wait_s: Callable[[str], float] = lambda pool: 25.0,
        times: LinkTimes | None = None,
        networks: Sequence[IPNetwork] = (),
    ) -> None:
        """
        Args:
            identity: this master's; `open` adds the epoch that it leads in.
            events: receives what agents report.
            joins: the admission policy.
            reconnect_wait_s: by pool: how long a lost agent may take to reconnect.
            times: how long to wait for what.
            networks: those in which agents may name another address than their connection's.
        """
        self._identity = identity
        self._events = events
        self._joins = joins
        self._reconnect_wait_s = reconnect_wait_s
        self._times = times or LinkTimes()
        self._networks = networks
        self._switches: Mapping[str, Switches] = {}
        self._registry = Registry()
        self._join_locks: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._waits: dict[str, asyncio.Task[None]] = {}
        self._is_open = False
        self._opened = asyncio.Event()

    def open(self, expected: Mapping[str, str], epoch: int) -> None:
        """Accept agents from now on.

        Args:
            expected: id and pool of each agent on which containers run according to the database;
                the time to reconnect starts now.
            epoch: of the lead that has begun; orders are numbered again in it.
        """
        for agent_id in list(self._waits):
            self._stop_waiting(agent_id)
        self._is_open = True
        self._opened.set()
        self._identity = msgspec.structs.replace(self._identity, epoch=epoch)
        self._registry = Registry(self._switches)
        for agent_id, pool in expected.items():
            agent = self._registry.add(agent_id, pool, clock.now())
            if agent.session is None:
                self._await_return(agent)

    async def close(self) -> None:
        self._is_open = False
        self._opened.clear()
        for agent in self._registry:
            if agent.session is not None:
                agent.session.end(LEAD_ENDED)
            agent.orders.fail(LEAD_ENDED)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def serve(self, socket: WebSocket) -> None:
        await self.endpoint(socket.scope, socket.receive, socket.send)

    def agents(self) -> Sequence[AgentSnapshot]:
        return self._registry.snapshots()

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        self._switches = switches
        self._registry.set_switches(switches)

    async def start_container(self, order: StartOrder) -> None:
        """Order a container; return when its agent has recorded the order. Raises NotConnected."""
        await self._order(
            order.agent_id,
            lambda number: StartContainer(
                number=number,
                epoch=self._identity.epoch,
                container_id=order.container_id,
                allocation_id=order.allocation_id,
                slot_ids=order.slot_ids,
                spec=order.spec,
            ),
        )

    async def signal_container(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str = ""
    ) -> None:
        """Order a signal; return when the agent has sent it. Raises NotConnected.

        With the allocation, an agent that does not know the container reports it as ended.
        """
        epoch = self._identity.epoch
        await self._order(
            agent_id,
            lambda number: SignalContainer(number, epoch, container_id, signal, allocation_id),
        )

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        """The container's end is stored. Raises NotConnected.

        A disconnected agent gets the order when it reconnects. Its welcome may not include it,
        since an agent that is joining now may have been asked before to keep the container.
        """
        epoch = self._identity.epoch
        agent = self._registry.find(agent_id)
        if agent is not None and agent.session is None:
            agent.orders.add(lambda number: ForgetContainer(number, epoch, container_id))
            return
        await self._order(agent_id, lambda number: ForgetContainer(number, epoch, container_id))

    async def endpoint(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application of `/agents`; serves one WebSocket."""
        frames = Frames(scope, receive, send)
        try:
            await frames.accept()
            if not await self._is_open_soon():
                reason = "the master is not ready to accept agents; try again"
                await frames.refuse(reason, is_final=False)
                return
            hello = await receive_hello(frames, self._times.hello_s)
            refusal = await refusal_of(hello, frames, self._identity, self._joins)
            if refusal is None:
                await self._admit(hello, frames)
            else:
                await _refuse(hello, frames, refusal)
        except Malformed as error:
            await frames.refuse(str(error), is_final=False)
        except Closed:
            return

    async def _is_open_soon(self) -> bool:
        """Whether agents are admitted, now or soon.

        All agents of a restarted master connect at once, before it has read what they run. If it
        refused them, each would have to connect again.
        """
        try:
            async with asyncio.timeout(self._times.open_s):
                await self._opened.wait()
        except TimeoutError:
            return False
        return self._is_open

    async def _order(self, agent_id: str, make: Callable[[int], Order]) -> None:
        agent = self._registry.get_connected(agent_id)
        acknowledged = agent.orders.add(make)
        try:
            async with asyncio.timeout(self._times.order_s):
                await asyncio.shield(acknowledged)
        except TimeoutError as error:
            raise NotConnected(
                f"agent {agent_id} did not acknowledge an order in {self._times.order_s:g} s"
            ) from error

    async def _admit(self, hello: Hello, frames: Frames) -> None:
        """Admit one agent, after the previous one with the same id has disconnected."""
        lock = self._join_locks.setdefault(hello.agent_id, asyncio.Lock())
        address, warning = await own_address(hello.address, frames.remote_address, self._networks)
        if warning is not None:
            log.warning("an agent's address", extra={"agent": hello.agent_id, "reason": warning})
        async with lock:
            other = self._registry.find(hello.agent_id)
            if other is not None and (before := other.session) is not None:
                if hello.boot_id != other.boot_id and await before.is_answering():
                    here = other.snapshot
                    await frames.refuse(
                        f"an agent with the id '{hello.agent_id}' is connected already, from "
                        f"host {here.hostname} ({here.address}); this one is host "
                        f"{hello.hostname} ({address}): give one of them another `agent_id`",
                        is_final=True,
                        unwanted=given_up(hello, self._identity, self._events),
                    )
                    return
                if other.session is before:  # it may have disconnected during the check
                    before.end("the agent has opened another connection")
                    other.disconnected()
            if other is not None and self._may_return(other, hello):
                self._await_return(other)
                host = other.snapshot.hostname
                wait_s = self._reconnect_wait_s(other.snapshot.pool)
                await frames.refuse(
                    f"the id '{hello.agent_id}' is that of host {host}, which is disconnected and "
                    f"may reconnect to its tasks within {wait_s:g} s; this one is host "
                    f"{hello.hostname} ({address}): give one of them another `agent_id`",
                    is_final=False,
                )
                return
            refusal = await self._joins.bind(hello, frames.remote_address)
            if refusal is not None:
                await _refuse(hello, frames, refusal)
                return
            registry = self._registry
            agent = registry.add(hello.agent_id, hello.resource_pool, clock.now())
            self._stop_waiting(hello.agent_id)
            session = Session(frames, agent, self._events, self._times)
            try:
                await self._welcome(agent, hello, address, frames)
            except BaseException:
                self._await_return(agent)
                raise
            if not self._is_open or registry is not self._registry:
                # Leadership ended while the agent was joining, so `close` did not see the session.
                # If it stayed, the next leader would give the agent up as one that did not
                # reconnect.
                await frames.refuse(LEAD_ENDED, is_final=False)
                return
            agent.connected(session)
        try:
            await session.serve(obeyed(hello, self._identity))
        finally:
            if agent.session is session:
                agent.disconnected()
                self._await_return(agent)

    def _may_return(self, other: KnownAgent, hello: Hello) -> bool:
        """Whether another machine uses the id of an agent that is lost but not yet given up.

        Admitting it would give up at once what the lost one still runs.
        """
        is_other_host = other.snapshot.hostname not in ("", hello.hostname)
        return is_other_host and bool(self._events.wanted(hello.agent_id))

    async def _welcome(
        self, agent: KnownAgent, hello: Hello, address: str, frames: Frames
    ) -> None:
        before = agent.snapshot.devices
        agent.joined(hello, address)
        agent.clock_ahead_us = clock_ahead_us(hello, clock.now())
        if agent.clock_ahead_us:
            log.warning(
                "an agent's clock differs from the master's: set both by the same time server; "
                "until then times in its tasks' logs are corrected",
                extra={"agent": hello.agent_id, "ahead_s": round(agent.clock_ahead_us / 1e6, 1)},
            )
        if before and before != hello.devices:
            log.warning(  # the slots of running containers stay
                "an agent reconnected with other slots",
                extra={"agent": hello.agent_id, "before": len(before), "now": len(hello.devices)},
            )
        agent.orders.resume(obeyed(hello, self._identity))
        reports = tuple(with_own_addresses(r, address)[0] for r in hello.containers)
        joined = msgspec.structs.replace(agent.snapshot, is_connected=True)
        keep = await self._events.agent_joined(joined, reports)
        log.info("an agent joined", extra={"agent": hello.agent_id, "address": address})
        await frames.send(
            Welcome(
                protocol=PROTOCOL,
                epoch=self._identity.epoch,
                master_id=self._identity.master_id,
                cluster_id=self._identity.cluster_id,
                cluster_name=self._identity.cluster_name,
                version=self._identity.version,
                keep=keep,
                acknowledged=agent.received,
            )
        )

    def _await_return(self, agent: KnownAgent) -> None:
        agent_id = agent.snapshot.id
        is_known = self._registry.find(agent_id) is agent
        if self._is_open and is_known and agent_id not in self._waits:
            self._waits[agent_id] = self._spawn(self._expire(agent))

    def _stop_waiting(self, agent_id: str) -> None:
        waiting = self._waits.pop(agent_id, None)
        if waiting is not None:
            waiting.cancel()

    async def _expire(self, agent: KnownAgent) -> None:
        """Give up an agent that does not reconnect.

        Only time in which this process ran counts: an agent cannot reconnect to a stopped master.
        """
        agent_id = agent.snapshot.id
        wait_s = left_s = self._reconnect_wait_s(agent.snapshot.pool)
        while left_s > 0:
            began_s = clock.monotonic_s()
            await asyncio.sleep(min(_TICK_S, left_s))
            left_s -= min(clock.monotonic_s() - began_s, _TICK_S)
        async with self._join_locks.setdefault(agent_id, asyncio.Lock()):
            self._waits.pop(agent_id, None)
            self._registry.forget(agent_id)
            reason = f"it did not reconnect within {wait_s:g} s"
            agent.orders.fail(f"agent {agent_id} is lost: {reason}")
            log.warning("an agent is lost", extra={"agent": agent_id, "reason": reason})
            await self._events.agent_lost(agent_id, reason)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _refuse(hello: Hello, frames: Frames, refusal: Refusal) -> None:
    log.warning("refused an agent", extra={"agent": hello.agent_id, "reason": refusal.reason})
    await frames.refuse(refusal.reason, is_final=refusal.is_final)

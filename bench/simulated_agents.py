"""Agents that only speak: the agent's own link and states over real sockets, many in one process.

Their containers are states that run until they are told to end. So one machine can show what
keeping a thousand agents costs a master; what agents themselves cost it cannot show.

    python -m bench.simulated_agents --master-port 8080 --agents 1000 --slots 1

Reads commands from its standard input, a line each, and answers each with a line of JSON, the
counts of `Fleet.counts`: `counts` does nothing else, `end N` lets so many containers end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import sys
import uuid
from collections.abc import Iterator
from itertools import islice
from typing import assert_never

import uvloop
from msgspec.structs import replace

from determined_agent.container import states
from determined_agent.link.agent_key import AgentKey
from determined_agent.link.connection import MasterLink
from determined_agent.link.hello import AgentIdentity
from determined_agent.logs.shipper import Disconnected
from determined_agent.settings.options import Settings
from determined_agent.supervisor import never_started
from determined_wire.agent_link import (
    Address,
    ContainerReport,
    Device,
    ForgetContainer,
    LogBatch,
    LogStored,
    Order,
    SignalContainer,
    StartContainer,
    UnreadableOrder,
    Welcome,
)

KILLED = 137


def settings_for(master_port: int) -> Settings:
    """What simulated agents of a master on this machine have in common."""
    return Settings(master_host="127.0.0.1", master_port=master_port)


class SimulatedAgent:
    """One agent; implements `determined_agent.link.connection.LinkHandler`."""

    def __init__(self, settings: Settings, slots: int) -> None:
        devices = tuple(
            Device(id=n, brand="simulated", uuid=f"{settings.agent_id}-{n}", type="cpu")
            for n in range(slots)
        )
        self.id = settings.agent_id
        identity = AgentIdentity(
            boot_id=str(uuid.uuid4()),
            version="simulated",
            hostname=settings.agent_id,
            devices=devices,
            key=AgentKey("", is_known=False),
        )
        self.link = MasterLink(settings, identity)
        self.joins = self.orders = self.killed = 0
        self.ignores_signals = False
        self._containers: dict[str, states.Container] = {}
        self._tasks_of: dict[str, str] = {}
        self._master = ("", 0)
        self._sending: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Keep up the link, forever."""
        try:
            await self.link.run(self)
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)

    def running(self) -> list[str]:
        """Ids of the containers that run."""
        return [c.container_id for c in self._containers.values() if c.state == "RUNNING"]

    def end(self, container_id: str, exit_code: int = 0) -> None:
        """Let a container end by itself."""
        self._step(container_id, states.Ended(exit_code))
        self._send_last_lines()

    def reports(self) -> tuple[ContainerReport, ...]:
        """All containers as they are now."""
        return tuple(c.report for c in self._containers.values())

    def newest_master(self) -> tuple[str, int]:
        """Cluster and epoch of the newest master that was obeyed."""
        return self._master

    def welcome(self, welcome: Welcome) -> None:
        """A master is in: what it does not want ends."""
        self._master = (welcome.cluster_id, welcome.epoch)
        self.joins += 1
        for container_id in set(self._containers) - set(welcome.keep):
            self._step(container_id, states.Unwanted())
        self._send_last_lines()

    def handle_order(self, order: Order) -> None:
        """Carry an order out."""
        match order:
            case StartContainer():
                self.orders += 1
                self._start(order)
            case SignalContainer(container_id=container_id, signal=number):
                if container_id not in self._containers:
                    self.link.report(never_started(order))
                self._step(container_id, states.SignalOrdered(number))
            case ForgetContainer(container_id=container_id):
                self._step(container_id, states.ForgetOrdered())
            case _:
                assert_never(order)

    def refuse_order(self, order: UnreadableOrder) -> None:
        """Fail: this process and its master are of one release."""
        raise AssertionError(f"order {order.number} ({order.kind}) cannot be read: {order.reason}")

    def log_stored(self, message: LogStored) -> None:
        """The master knows that no line will come any more."""
        if message.is_last:
            self._step(message.container_id, states.OutputStored())

    def disconnected(self) -> None:
        """The connection is gone; what was not acknowledged is sent again by the link."""

    def _start(self, order: StartContainer) -> None:
        if order.container_id in self._containers:
            return
        container = states.Container(
            container_id=order.container_id, allocation_id=order.allocation_id
        )
        self._containers[order.container_id] = container
        self._tasks_of[order.container_id] = order.spec.task_id
        addresses = tuple(Address("", port, "", port) for port in order.spec.ports)
        self._step(order.container_id, states.Progressed("STARTING"))
        self._step(order.container_id, states.Launched(addresses))

    def _step(self, container_id: str, event: states.ContainerEvent) -> None:
        container = self._containers.get(container_id)
        if container is None:
            return
        self._containers[container_id], effects = states.step(container, event)
        for effect in effects:
            match effect:
                case states.Report(report=report):
                    self.link.report(report)
                case states.SendSignal() if self.ignores_signals:
                    continue  # as a process that waits for a device does
                case states.SendSignal(number=states.SIGKILL) | states.CancelLaunch():
                    self.killed += 1
                    self.end(container_id, KILLED)
                case states.SendSignal():
                    continue  # what is asked to leave runs on until it is told to end
                case states.Remove():
                    del self._containers[container_id], self._tasks_of[container_id]
                case _:
                    assert_never(effect)

    def _send_last_lines(self) -> None:
        """Say of each ended container that it has nothing to say any more."""
        for container in self._containers.values():
            if container.state == "TERMINATED" and not container.is_output_stored:
                sending = asyncio.create_task(self._send_last_line(container))
                self._sending.add(sending)
                sending.add_done_callback(self._sending.discard)

    async def _send_last_line(self, container: states.Container) -> None:
        batch = LogBatch(
            container_id=container.container_id,
            allocation_id=container.allocation_id,
            task_id=self._tasks_of.get(container.container_id, ""),
            first_seq=1,
            is_last=True,
        )
        with contextlib.suppress(Disconnected):  # the next welcome sends it again
            await self.link.send_logs(self.link.connection, batch)


class Fleet:
    """Many simulated agents of one master."""

    def __init__(self, settings: Settings, agents: int, slots: int) -> None:
        """
        Args:
            settings: what all have in common; their ids are made here.
            agents: how many.
            slots: of each.
        """
        self.agents = [
            SimulatedAgent(
                replace(
                    settings,
                    agent_id=f"simulated-{n:04}",
                    advertised_address=f"127.1.{n // 250}.{n % 250 + 1}",  # a machine of its own
                ),
                slots,
            )
            for n in range(agents)
        ]

    async def run(self) -> None:
        """Keep all links up until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for agent in self.agents:
                tasks.create_task(agent.run())

    def counts(self) -> dict[str, int]:
        """`connected` agents, `running` containers; `joins`, `started` and `killed` so far."""
        return {
            "connected": sum(agent.link.connection > 0 for agent in self.agents),
            "running": sum(len(agent.running()) for agent in self.agents),
            "joins": sum(agent.joins for agent in self.agents),
            "started": sum(agent.orders for agent in self.agents),
            "killed": sum(agent.killed for agent in self.agents),
        }

    def end(self, count: int) -> None:
        """Let so many of the running containers end with code 0."""
        for agent, container_id in list(islice(self._running(), count)):
            agent.end(container_id)

    def _running(self) -> Iterator[tuple[SimulatedAgent, str]]:
        for agent in self.agents:
            for container_id in agent.running():
                yield agent, container_id


async def serve(fleet: Fleet) -> None:
    """Do what standard input says until it ends."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    running = asyncio.create_task(fleet.run())
    while (line := await lines.readline()) and not running.done():
        command, _, count = line.decode().strip().partition(" ")
        if command == "end":
            fleet.end(int(count))
        sys.stdout.write(json.dumps(fleet.counts()) + "\n")
        sys.stdout.flush()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def main() -> None:
    """Parse the flags and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--master-port", type=int, required=True)
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--join-token", default="")
    args = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    settings = replace(settings_for(args.master_port), join_token=args.join_token)
    uvloop.run(serve(Fleet(settings, args.agents, args.slots)))


if __name__ == "__main__":
    main()

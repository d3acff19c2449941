"""A machine: its containers, which live on their own, and the agent that keeps them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any, Protocol

from tests.chaos.loop import PROCESS, Process, SimLoop

from determined_agent import entropy
from determined_agent.container.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.container.environment import ContainerStart
from determined_agent.link.agent_key import AgentKey
from determined_agent.link.connection import JoinRefused, MasterLink, MasterUnreachable
from determined_agent.link.hello import AgentIdentity
from determined_agent.runtimes.base import LaunchFailed
from determined_agent.settings.options import Settings
from determined_agent.supervisor import Supervisor
from determined_wire.agent_link import Address, ContainerState, Device, Failure

_RESTART_S = 5.0
_LAUNCH_FAILS = 0.01
_KILL_S = 4.0
"""A process that is killed may take so long to let its devices go; most take an instant."""


class Witness(Protocol):
    """Sees what really happens on machines."""

    def container_began(self, machine: Machine, container: Container) -> None:
        """A task's program runs."""

    def container_ended(self, machine: Machine, container: Container) -> None:
        """It runs no more."""


class Container:
    """A container that was started, until it is removed."""

    def __init__(self, start: ContainerStart) -> None:
        self.id = start.container_id
        self.start = start
        self.slots = tuple(d.id for d in start.devices)
        self.exit: Exit | None = None
        self.ended = asyncio.Event()
        self.asked_to_end = asyncio.Event()
        self.task: asyncio.Task[Any] | None = None


Code = Callable[["Machine", Container], Coroutine[Any, Any, int]]
"""What runs in a container; gives its exit code."""


class Machine:
    """One machine of the cluster."""

    def __init__(
        self,
        loop: SimLoop,
        random: Random,
        root: Path,
        facts: tuple[str, str, int],
        witness: Witness,
        code: Code,
    ) -> None:
        """
        Args:
            facts: its agent's name, its pool, its slots.
            witness: sees what runs.
            code: what containers run.
        """
        self.name, self.pool, self.slots = facts
        self.containers: dict[str, Container] = {}
        self.root = root / self.name
        self.root.mkdir()
        self.host = Process(f"{self.name}'s host", loop)
        self.agent: Process | None = None
        self.random = random
        self._loop, self._witness, self._code = loop, witness, code

    def start_agent(self) -> None:
        """Start the agent; nothing happens while one runs."""
        if self.agent is None or self.agent.is_dead:
            self.agent = Process(self.name, self._loop)
            self.agent.spawn(self._serve())

    def kill_agent(self) -> None:
        """SIGKILL of the agent; containers run on, and it is started again in a while."""
        if self.agent is not None:
            self.agent.kill()

    def reboot(self) -> None:
        """Lose all that runs; what is on the disk stays."""
        self.kill_agent()
        self.host.kill()
        self.host = Process(f"{self.name}'s host", self._loop)
        for container in self.containers.values():
            if container.exit is None:
                went_down = Failure("agent_failed", "the machine went down")
                self._end(container, Exit(failure=went_down))

    def begin(self, start: ContainerStart) -> Container:
        """Start a container's program."""
        container = self.containers[start.container_id] = Container(start)
        self._witness.container_began(self, container)
        container.task = self.host.spawn(self._run(container))
        return container

    def signal(self, container: Container, number: int) -> None:
        """Send a signal; 9 ends it."""
        if container.exit is not None:
            return
        if number != 9:
            container.asked_to_end.set()
        elif container.task is not None:
            self._loop.later(_KILL_S * self.random.random() ** 4, container.task.cancel)

    async def _run(self, container: Container) -> None:
        try:
            code = await self._code(self, container)
        except asyncio.CancelledError:
            code = 137
        failure = None
        if code:
            failure = Failure("container_failed", f"non-zero exit code: {code}", code)
        self._end(container, Exit(exit_code=code, failure=failure))

    def _end(self, container: Container, end: Exit) -> None:
        container.exit = end
        self._witness.container_ended(self, container)
        container.ended.set()

    async def _serve(self) -> None:
        devices = tuple(Device(n, "sim", f"{self.name}-{n}", "cuda") for n in range(self.slots))
        settings = Settings(master_host="master", agent_id=self.name, resource_pool=self.pool)
        boot = str(entropy.new_uuid())
        link = MasterLink(
            settings,
            AgentIdentity(
                boot_id=boot,
                version="sim",
                hostname=self.name,
                devices=devices,
                key=AgentKey("", is_known=True),
            ),
        )
        self.supervisor = supervisor = Supervisor(SimRuntime(self), devices, self.root, link)
        await supervisor.attach_all()
        try:
            await link.run(supervisor)
        except (MasterUnreachable, JoinRefused):
            process = PROCESS.get()
            assert process is not None
            self._loop.later(_RESTART_S, self.start_agent)
            self._loop.later(0.0, process.kill)

    def close(self) -> None:
        """Switch it off for good."""
        self.kill_agent()
        self.host.kill()
        shutil.rmtree(self.root, ignore_errors=True)


class SimHandle:
    """A container as its agent holds it."""

    def __init__(self, machine: Machine, container: Container) -> None:
        self._machine, self._container = machine, container

    async def wait(self) -> Exit:
        """Its end."""
        await self._container.ended.wait()
        assert self._container.exit is not None
        return self._container.exit

    def signal(self, number: int) -> None:
        """Send a signal."""
        self._machine.signal(self._container, number)

    def addresses(self) -> tuple[Address, ...]:
        """It has one port."""
        return (Address("", 1734, "", 1734),)

    def detach(self) -> None:
        """It runs on."""


class SimRuntime:
    """Runs containers on a machine; pulls and starts take their time and fail now and then."""

    name = "docker"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    async def check(self) -> None:
        """It is there."""

    async def launch(
        self,
        directory: ContainerDirectory,
        start: ContainerStart,
        progress: Callable[[ContainerState], None],
    ) -> SimHandle:
        """Pull, start, run."""
        random = self._machine.random
        progress("PULLING")
        await asyncio.sleep(random.choice((0.01, 0.1, 0.5, 5.0)) * random.random())
        if random.random() < _LAUNCH_FAILS:
            raise LaunchFailed(Failure("agent_error", "the daemon is full"))
        progress("STARTING")
        await asyncio.sleep(0.3 * random.random())
        return SimHandle(self._machine, self._machine.begin(start))

    async def attach(
        self, directory: ContainerDirectory, record: ContainerRecord
    ) -> SimHandle | Exit:
        """Find a container again."""
        await asyncio.sleep(0.001)
        container = self._machine.containers.get(record.container_id)
        if container is None:
            return Exit(failure=Failure("restore_error", "the agent ended before it could start"))
        return container.exit or SimHandle(self._machine, container)

    async def remove(self, container_id: str) -> None:
        """Remove what is left of a container."""
        await asyncio.sleep(0.001)
        self._machine.containers.pop(container_id, None)

    async def sweep(self, known: frozenset[str]) -> None:
        """End what nobody knows."""
        for id, container in list(self._machine.containers.items()):
            if id not in known:
                self._machine.signal(container, 9)
                await container.ended.wait()
                self._machine.containers.pop(id, None)

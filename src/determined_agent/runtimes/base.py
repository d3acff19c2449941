"""The interface between the supervisor and a container runtime.

A runtime starts a task, finds it again after a restart of the agent, and writes its output into
the task's directory as records (see `shim.spool`). Each runtime passes the suite
`tests/contracts/runtime_contract.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from determined_agent.container.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.container.environment import ContainerStart
from determined_wire.agent_link import Address, ContainerState, Failure


class RuntimeUnavailable(Exception):
    """The runtime cannot work on this machine; the text names the remedy."""


class LaunchFailed(Exception):
    """A container could not be started."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Handle(Protocol):
    """A running container."""

    async def wait(self) -> Exit:
        """Wait for its end, with all of its output on disk. Canceling only ends the wait."""

    def signal(self, number: int) -> None:
        """Send a signal to the task's processes; 9 kills all of them reliably."""

    def addresses(self) -> tuple[Address, ...]:
        """Return where its ports are; an empty host address stands for that of the agent."""

    def detach(self) -> None:
        """Stop watching it; the container keeps running."""


class Runtime(Protocol):
    @property
    def name(self) -> str:
        """The name in `container_runtime`."""

    async def check(self) -> None:
        """Raises RuntimeUnavailable."""

    async def launch(
        self,
        directory: ContainerDirectory,
        start: ContainerStart,
        progress: Callable[[ContainerState], None],
    ) -> Handle:
        """Start a container whose directory has just been created.

        Canceling it leaves nothing running. Raises LaunchFailed.
        """

    async def attach(
        self, directory: ContainerDirectory, record: ContainerRecord
    ) -> Handle | Exit:
        """Find a container that an earlier agent has started, or how it has ended."""

    async def remove(self, container_id: str) -> None:
        """Remove what is left of a container outside its directory. Canceling is safe."""

    async def sweep(self, containers: frozenset[str]) -> None:
        """Kill and remove containers of this agent that are not among the known ones."""

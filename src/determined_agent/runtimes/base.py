"""What the supervisor needs of a way to run containers.

A runtime starts a task, finds it again after the agent's restart, and brings its output into
the task's directory as records (see `spool`). `tests/contracts/runtime_contract.py` is the
suite that each passes.
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
    """A container that runs."""

    async def wait(self) -> Exit:
        """Wait for its end; all of its output is on disk by then. Cancelling changes nothing."""

    def signal(self, number: int) -> None:
        """Send a signal to the task's processes; 9 ends all of them for sure."""

    def addresses(self) -> tuple[Address, ...]:
        """Where its ports are; an empty host address stands for that of the agent."""

    def detach(self) -> None:
        """Let go of it; it runs on."""


class Runtime(Protocol):
    """A way to run containers."""

    @property
    def name(self) -> str:
        """As `container_runtime` calls it."""

    async def check(self) -> None:
        """Raises RuntimeUnavailable."""

    async def launch(
        self,
        directory: ContainerDirectory,
        start: ContainerStart,
        progress: Callable[[ContainerState], None],
    ) -> Handle:
        """Start a container whose directory was just made.

        Cancelling it before it returns leaves nothing running. Raises LaunchFailed.
        """

    async def attach(
        self, directory: ContainerDirectory, record: ContainerRecord
    ) -> Handle | Exit:
        """Find a container again that an earlier agent started, or how it ended."""

    async def remove(self, container_id: str) -> None:
        """Remove what is left of a container outside of its directory. Cancelling is safe."""

    async def sweep(self, known: frozenset[str]) -> None:
        """End and remove what belongs to this agent and to none of the known containers."""

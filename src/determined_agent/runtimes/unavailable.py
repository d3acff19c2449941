"""Runtimes that a configuration may name and this release does not have."""

from __future__ import annotations

from collections.abc import Callable

from determined_agent.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.environment import Start
from determined_agent.runtimes.base import Handle, RuntimeUnavailable
from determined_wire.agent_link import ContainerState


class Unavailable:
    """Refuses at the agent's start."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def check(self) -> None:
        """Raises RuntimeUnavailable."""
        raise self._refusal()

    async def launch(
        self,
        directory: ContainerDirectory,
        start: Start,
        progress: Callable[[ContainerState], None],
    ) -> Handle:
        """Raises RuntimeUnavailable."""
        raise self._refusal()

    async def attach(
        self, directory: ContainerDirectory, record: ContainerRecord
    ) -> Handle | Exit:
        """Raises RuntimeUnavailable."""
        raise self._refusal()

    async def remove(self, container_id: str) -> None:
        """Raises RuntimeUnavailable."""
        raise self._refusal()

    async def sweep(self, known: frozenset[str]) -> None:
        """Raises RuntimeUnavailable."""
        raise self._refusal()

    def _refusal(self) -> RuntimeUnavailable:
        return RuntimeUnavailable(
            f"container_runtime '{self.name}' is not in this release: the {self.name} runtime "
            "comes with the cluster release; start with `container_runtime: process`"
        )

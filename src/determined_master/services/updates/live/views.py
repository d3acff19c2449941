"""What the API gives the live channel: things as the public API shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from determined_master.domain.errors import DetError
from determined_master.ports.agents import AgentSnapshot
from determined_master.records.live import LiveRun, LiveTask
from determined_master.records.logs import LogRow


class LiveViews(Protocol):
    """Things as JSON text; none of it depends on who watches."""

    def status(self, error: DetError) -> int:
        """The HTTP status of an error."""
        ...

    async def trials(self, ids: Sequence[int]) -> Mapping[int, tuple[int, bytes]]:
        """Trials by id, each with the id of its experiment; missing ones are left out."""
        ...

    async def experiment(self, experiment_id: int) -> bytes | None:
        """An experiment without its configuration; None if there is none."""
        ...

    def run(self, row: LiveRun, state: str) -> bytes:
        """A run in short, in the state that users see."""
        ...

    def task(self, row: LiveTask) -> bytes:
        """A task in short."""
        ...

    def agent(self, agent: AgentSnapshot) -> bytes:
        """An agent with its slots and containers."""
        ...

    def log_lines(self, rows: Sequence[LogRow]) -> bytes:
        """A JSON list of lines."""
        ...

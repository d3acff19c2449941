"""What the backend tells, kept in memory as the master would keep it."""

from __future__ import annotations

from determined_master.ports.agents import AgentSnapshot
from determined_master.ports.orders import LogPlace, StoredOutput, TaskNote
from determined_wire.agent_link import ContainerReport, LogBatch

ORDER = {"ASSIGNED": 0, "PULLING": 1, "STARTING": 2, "RUNNING": 3, "TERMINATED": 4}


class Recorder:
    """Implements `ports.AgentEvents`."""

    def __init__(self) -> None:
        self.joined: list[tuple[str, tuple[str, ...]]] = []
        """Nodes, and the containers that they came with."""
        self.lost: list[str] = []
        self.reports: dict[str, ContainerReport] = {}
        """By container, the furthest that was told."""
        self.lines: dict[str, list[tuple[int, str]]] = {}
        self.places: dict[str, LogPlace] = {}
        self.evicted: dict[str, str] = {}
        self.closed: set[str] = set()
        """Containers whose last line is stored."""
        self.notes: list[TaskNote] = []
        self._told: set[str] = set()
        self.kept: set[str] = set()
        """Containers that the master wants."""

    async def machine_ending(self, agent: AgentSnapshot, boot_id: str, reason: str) -> None:
        raise AssertionError("no cloud takes nodes of Kubernetes back")

    async def agent_joined(
        self, agent: AgentSnapshot, containers: tuple[ContainerReport, ...]
    ) -> tuple[str, ...]:
        self.joined.append((agent.id, tuple(c.container_id for c in containers)))
        for report in containers:
            if report.state == "TERMINATED":
                self._take(report)
        return tuple(self.kept)

    def wanted(self, agent_id: str) -> frozenset[str]:
        return frozenset(self.kept)

    async def agent_lost(self, agent_id: str, reason: str) -> None:
        self.lost.append(agent_id)

    async def container_changed(
        self, agent_id: str, boot_id: str, number: int, report: ContainerReport
    ) -> None:
        self._take(report)

    async def store_logs(
        self, agent_id: str, batch: LogBatch, place: LogPlace | None = None
    ) -> int:
        lines = self.lines.setdefault(batch.container_id, [])
        texts = batch.text.split("\n") if batch.spans else []
        times = [span.at_us for span in batch.spans for _ in range(span.count)]
        new = list(zip(times, texts, strict=True))[max(0, len(lines) + 1 - batch.first_seq) :]
        assert batch.first_seq <= len(lines) + 1, "a gap in the numbers"
        lines += new
        if place is not None:
            self.places[batch.container_id] = place
        if batch.is_last:
            self.closed.add(batch.container_id)
        return len(lines)

    async def stored_output(self, task_id: str, container_id: str) -> StoredOutput:
        lines = self.lines.get(container_id)
        if not lines:
            return StoredOutput()
        return StoredOutput(last_seq=len(lines), place=self.places[container_id])

    async def pod_evicted(self, agent_id: str, report: ContainerReport, reason: str) -> None:
        """Kept by container."""
        self.evicted[report.container_id] = reason

    async def note(self, note: TaskNote) -> None:
        if note.key:
            if note.key in self._told:
                return
            self._told.add(note.key)
        self.notes.append(note)

    def state(self, container_id: str) -> str:
        found = self.reports.get(container_id)
        return found.state if found else ""

    def text(self, container_id: str) -> list[str]:
        return [text for _, text in self.lines.get(container_id, ())]

    def _take(self, report: ContainerReport) -> None:
        known = self.state(report.container_id)
        if ORDER[report.state] > ORDER.get(known, -1):
            self.reports[report.container_id] = report

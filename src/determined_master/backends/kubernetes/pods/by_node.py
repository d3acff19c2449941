"""The slots that this master's pods use, node by node."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from determined_master.backends.kubernetes.pods.steps import PodEntry

NOTHING: dict[str, PodEntry] = {}


class PodsByNode:
    """A change of one pod costs as much as its node has pods, however many others there are."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, PodEntry]] = {}

    def put(self, entry: PodEntry) -> None:
        """A pod is known."""
        self._nodes.setdefault(entry.seen.node, {})[entry.report.container_id] = entry

    def remove(self, entry: PodEntry) -> None:
        """A pod is forgotten."""
        pods = self._nodes.get(entry.seen.node, NOTHING)
        pods.pop(entry.report.container_id, None)
        if not pods:
            self._nodes.pop(entry.seen.node, None)

    def nodes(self) -> Collection[str]:
        """The nodes for which pods were planned."""
        return self._nodes.keys()

    def own_slots(self, node: str) -> set[int] | None:
        """The slots of pods that have not ended; None where no such pod is."""
        return _slots(e for e in self._pods(node) if e.report.state != "TERMINATED")

    def leftover_slots(self, node: str) -> set[int] | None:
        """The slots of pods that nobody waits for and that may still run."""
        return _slots(
            e
            for e in self._pods(node)
            if e.is_forgotten and not e.is_gone and e.report.state != "TERMINATED"
        )

    def _pods(self, node: str) -> Collection[PodEntry]:
        return self._nodes.get(node, NOTHING).values()


def _slots(entries: Iterable[PodEntry]) -> set[int] | None:
    slot_ids = [entry.seen.slot_ids for entry in entries]
    return set().union(*slot_ids) if slot_ids else None

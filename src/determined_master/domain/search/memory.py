"""The rows of a search in memory, sorted: a cache that can be rebuilt from the rows."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field

from determined_master.domain.search.records import (
    BracketMember,
    MemberState,
    RungEntry,
    SearchRecord,
)


@dataclass(slots=True)
class SearchMember:
    """One trial of a halving search.

    `rung` is the next rung that judges the trial; `stopped` means that no rung will judge it any
    more; `metrics` are its entries in rungs 0, 1, …
    """

    bracket: int
    state: MemberState = "open"
    rung: int = 0
    stopped: bool = False
    metrics: dict[int, float] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether the trial still waits for a verdict."""
        return self.state == "open" and not self.stopped


class SearchMemory:
    """Sorted copy of a search's rung entries and members.

    Search methods read it and never change it: the code that stores a decision's records applies
    them here afterwards. Equal sets of rows give equal memories, whatever their order.
    """

    def __init__(self) -> None:
        self._rungs: dict[tuple[int, int], list[float]] = {}
        self._members: dict[str, SearchMember] = {}

    @classmethod
    def rebuild(
        cls, members: Iterable[BracketMember], entries: Iterable[RungEntry]
    ) -> SearchMemory:
        """Build from stored rows in any order. Cost: O(n log n) in rows, one sort a rung."""
        memory = cls()
        for row in members:
            memory._members[row.request_id] = SearchMember(bracket=row.bracket, state=row.state)
        for entry in entries:
            if memory._note(entry):
                memory._rung(entry).append(entry.metric)
        for metrics in memory._rungs.values():
            metrics.sort()
        return memory

    def apply(self, record: SearchRecord) -> None:
        """Add one stored row. Cost: one bisection and one memmove of the rung's list."""
        match record:
            case RungEntry():
                if self._note(record):
                    insort(self._rung(record), record.metric)
            case BracketMember(state="invalid"):
                member = self.member(record.request_id)
                for rung, metric in member.metrics.items():
                    metrics = self._rungs[member.bracket, rung]
                    del metrics[bisect_left(metrics, metric)]
                self._members[record.request_id] = SearchMember(member.bracket, "invalid")
            case BracketMember():
                member = self._members.setdefault(record.request_id, SearchMember(record.bracket))
                member.state = record.state

    def rung(self, bracket: int, rung: int) -> list[float]:
        """Metrics of one rung, best (smallest) first. Callers must not change the list."""
        return self._rungs.get((bracket, rung), [])

    def member(self, request_id: str) -> SearchMember:
        """One trial. Raises ValueError for a trial that the search did not create."""
        if request_id not in self._members:
            raise ValueError(f"the search has no trial with request id {request_id!r}")
        return self._members[request_id]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SearchMemory)
            and self._members == other._members
            and {k: v for k, v in self._rungs.items() if v}
            == {k: v for k, v in other._rungs.items() if v}
        )

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by content

    def _note(self, entry: RungEntry) -> bool:
        """Add an entry to its trial; return False when the trial is invalid and does not count."""
        member = self.member(entry.request_id)
        if member.state == "invalid":
            return False
        member.metrics[entry.rung] = entry.metric
        member.stopped = member.stopped or entry.stopped
        member.rung = max(member.rung, entry.rung if entry.stopped else entry.rung + 1)
        return True

    def _rung(self, entry: RungEntry) -> list[float]:
        return self._rungs.setdefault((entry.bracket, entry.rung), [])

"""New metric reports of one trial, gathered in columns until they are sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.metrics.summary import as_json, as_number

MAX_VALUES = 100_000
"""Values that wait; with more of them the viewers are reset and read the series again."""


class _Group:
    def __init__(self) -> None:
        self.batches: list[int] = []
        self.times: list[datetime] = []
        self.metrics: dict[str, list[Any]] = {}


class ReportColumns:
    """Reports by group; a metric that a report lacks is null there."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._values = 0

    @property
    def are_too_many(self) -> bool:
        """Whether reports were left out."""
        return self._values > MAX_VALUES

    def add(self, group: str, batches: int, at: datetime, metrics: Mapping[str, Any]) -> None:
        """Add one report; values that are no numbers are left out."""
        if self._values > MAX_VALUES:
            return
        found = self._groups.get(group)
        if found is None:
            found = self._groups[group] = _Group()
        before = len(found.batches)
        found.batches.append(batches)
        found.times.append(at)
        for name, value in metrics.items():
            number = as_number(value)
            if number is not None:
                column = found.metrics.setdefault(name, [])
                column += [None] * (before - len(column))
                column.append(as_json(number))
        self._values += len(found.metrics) + 1

    def take(self, trial_id: int) -> Iterator[bytes]:
        """The data of one frame for each group."""
        groups, self._groups, self._values = self._groups, {}, 0
        for name, group in groups.items():
            count = len(group.batches)
            for column in group.metrics.values():
                column += [None] * (count - len(column))
            yield msgspec.json.encode(
                {
                    "trialId": trial_id,
                    "group": name,
                    "batches": group.batches,
                    "metrics": group.metrics,
                    "times": group.times,
                }
            )


def empty_columns(trial_id: int) -> bytes:
    """Data of a frame without reports."""
    columns: dict[str, Any] = {"batches": [], "metrics": {}, "times": []}
    return msgspec.json.encode({"trialId": trial_id, "group": "training", **columns})

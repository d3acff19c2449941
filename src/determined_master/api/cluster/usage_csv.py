"""Reports on usage as CSV tables."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from determined_master.api.http.routes import Reply
from determined_master.domain.usage import Period
from determined_master.records.cluster import Span, UsedAllocation
from determined_master.services.cluster.usage import PeriodUsage

BLOCK_CHARACTERS = 128 * 1024
ALLOCATIONS = (
    "allocation_id",
    "task_type",
    "username",
    "workspace_name",
    "experiment_id",
    "slots",
    "start_time",
    "end_time",
    "imagepulling_time",
    "slot_hours",
    "resource_pool",
)
SPANS = (
    "experiment_id",
    "kind",
    "username",
    "labels",
    "slots",
    "start_time",
    "end_time",
    "seconds",
)
SUMS = ("aggregation_type", "aggregation_key", "date", "seconds")


class Report:
    """A table that is made before its first byte is sent, so that nothing waits for its reader.

    It is kept compressed: there may be a row for every report of a million trials.
    """

    def __init__(self, header: Sequence[str]) -> None:
        self._blocks: list[bytes] = []
        self._text = io.StringIO(newline="")
        self._writer = csv.writer(self._text, lineterminator="\n")
        self.add([header])

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows at its end."""
        self._writer.writerows(rows)
        if self._text.tell() >= BLOCK_CHARACTERS:
            self._close_block()

    def reply(self) -> Reply:
        """The whole table, to be sent."""
        self._close_block()
        return Reply(_pieces(self._blocks), content_type="text/csv")

    def _close_block(self) -> None:
        self._blocks.append(zlib.compress(self._text.getvalue().encode(), 1))
        self._text.seek(0)
        self._text.truncate()


def allocation(row: UsedAllocation) -> tuple[Any, ...]:
    """One row of `ALLOCATIONS`."""
    return (
        row.id,
        row.task_type,
        row.username,
        row.workspace_name,
        row.experiment_id,
        row.slots,
        instant(row.started_at),
        instant(row.ended_at),
        decimal(row.pulling_s),
        decimal(row.slot_s / 3600),
        row.pool,
    )


def span(row: Span) -> tuple[Any, ...]:
    """One row of `SPANS`."""
    return (
        row.experiment_id,
        row.kind,
        row.username,
        ",".join(label.replace("\\", "\\\\").replace(",", "\\,") for label in row.labels),
        row.slots,
        instant(row.began_at),
        instant(row.ended_at),
        decimal(row.seconds),
    )


def sums(entry: PeriodUsage, period: Period) -> Iterator[tuple[Any, ...]]:
    """The rows of `SUMS` for one day or month."""
    start = period_start(entry, period)
    kinds = {
        "total": {"total": entry.total},
        "username": entry.by_username,
        "experiment_label": entry.by_label,
        "resource_pool": entry.by_pool,
    }
    for kind, values in kinds.items():
        for key, seconds in values.items():
            yield kind, key, start, decimal(seconds)


def period_start(entry: PeriodUsage, period: Period) -> str:
    """`YYYY-MM-DD`, or `YYYY-MM` for a month."""
    return entry.start.isoformat()[: 10 if period == "daily" else 7]


def instant(at: datetime | None) -> str:
    """RFC 3339 without zeros at its end; empty when unset."""
    if at is None:
        return ""
    text = at.isoformat().removesuffix("+00:00")
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "Z"


def decimal(value: float) -> str:
    """`0.0`, or six decimals."""
    return f"{value:.6f}" if value else "0.0"


async def _pieces(blocks: Iterable[bytes]) -> AsyncGenerator[bytes]:
    for block in blocks:
        yield zlib.decompress(block)

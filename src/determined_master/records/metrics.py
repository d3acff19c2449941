"""Records of reports of metrics and their points."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


class PointRow(msgspec.Struct, frozen=True):
    """One report with the requested metrics."""

    id: int
    steps: int
    reported_at: datetime
    metrics: dict[str, Any]
    epoch: Any


class MetricName(msgspec.Struct, frozen=True, order=True):
    """A metric and its group, as reported."""

    group: str
    name: str


class SystemSample(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of one group; `metrics` are by agent, then by name."""

    trial_id: int
    run_id: int
    metric_group: str
    reported_at: datetime
    metrics: dict[str, Any]
    batch: int = 0
    id: int = 0


class SeriesLabel(msgspec.Struct, frozen=True, kw_only=True):
    """One number over time: of an agent, or of one of its accelerators (`part`)."""

    metric_group: str
    agent: str
    part: str
    name: str


class StoredReport(msgspec.Struct, frozen=True, kw_only=True):
    """One stored report."""

    id: int
    trial_id: int
    metric_group: str
    steps: int
    run_id: int
    reported_at: datetime
    metrics: dict[str, Any]
    batch_metrics: list[dict[str, Any]] | None
    archived: bool

"""Records of reports of metrics and their points."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_wire.bounds import MAX_STEPS


class PointRow(msgspec.Struct, frozen=True):
    """One report with the requested metrics."""

    id: int
    steps: int
    reported_at: datetime
    metrics: dict[str, Any]
    epoch: Any


class SeriesRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which reports of a trial a series is made of, and the most points of it."""

    trial_id: int
    group: str
    names: Sequence[str]
    from_steps: int = -MAX_STEPS
    to_steps: int = MAX_STEPS
    """Both ends are included."""
    after_id: int = 0
    """Only reports that came after the one with this id."""
    up_to_id: int = 2**63 - 1
    max_points: int = 1000


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

"""Metric reports as they arrive, and facts about their trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec


class MetricReport(msgspec.Struct, frozen=True, kw_only=True):
    """One report as it came in."""

    trial_id: int
    run_id: int
    group: str
    steps: int
    reported_at: datetime
    metrics: Mapping[str, Any]
    batch_metrics: Sequence[Mapping[str, Any]] | None = None
    is_sample: bool = False
    """A system metric: it has no steps, and is stored unchanged."""


class TrialFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What never changes of a trial and matters for its reports."""

    experiment_id: int
    request_id: str
    searcher_metric: str
    smaller_is_better: bool
    wants_validations: bool
    """The search decides on validations."""
    time_metric: str | None = None
    is_detached: bool = False

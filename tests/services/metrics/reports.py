"""Reports of the one trial of these tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from determined_master.services.metrics.reports import MetricReport, TrialFacts

AT = datetime(2026, 1, 2, tzinfo=UTC)
FACTS = TrialFacts(
    experiment_id=1,
    request_id="00000000-0000-4000-8000-000000000001",
    searcher_metric="accuracy",
    smaller_is_better=False,
    wants_validations=False,
)


def report(steps: int, run_id: int = 1, group: str = "validation", **metrics: Any) -> MetricReport:
    return MetricReport(
        trial_id=1,
        run_id=run_id,
        group=group,
        steps=steps,
        reported_at=AT,
        metrics=metrics or {"accuracy": steps / 10},
    )

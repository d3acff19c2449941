"""Reported metrics of trials."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Dict, Iterator, List, Optional, Sequence

from determined.common.api import BaseSession
from determined.common.experimental import lists
from determined.common.util import parse_protobuf_timestamp

_INNER = {"training": "avg_metrics", "validation": "validation_metrics"}


@dataclasses.dataclass
class TrialMetrics:
    """One report of a trial: metrics by name, for a step and a group."""

    trial_id: int
    trial_run_id: int
    steps_completed: int
    end_time: datetime.datetime
    metrics: Dict[str, Any]
    group: str
    batch_metrics: Optional[List[Dict[str, Any]]] = None

    @property
    def total_batches(self) -> int:
        """The older name of `steps_completed`."""
        return self.steps_completed


class TrainingMetrics(TrialMetrics):
    """A report of group `training`."""

    def __init__(self, total_batches: Optional[int] = None, **kwargs: Any) -> None:
        if total_batches is not None:
            kwargs["steps_completed"] = total_batches
        super().__init__(**{"group": "training", **kwargs})


class ValidationMetrics(TrialMetrics):
    """A report of group `validation`."""

    def __init__(self, total_batches: Optional[int] = None, **kwargs: Any) -> None:
        if total_batches is not None:
            kwargs["steps_completed"] = total_batches
        super().__init__(**{"group": "validation", **kwargs})


def iterate(session: BaseSession, trial_ids: Sequence[int], group: str) -> Iterator[TrialMetrics]:
    """All reports of trials in one group, sorted by trial and step."""
    path = "/api/v1/trials/metrics/trial_metrics"
    for message in lists.stream(session, path, {"trialIds": list(trial_ids), "group": group}):
        for row in message["metrics"]:
            yield _report(TrialMetrics, row, group)


def iterate_training(session: BaseSession, trial_ids: Sequence[int]) -> Iterator[TrainingMetrics]:
    """All training reports of trials."""
    path = "/api/v1/trials/metrics/training_metrics"
    for message in lists.stream(session, path, {"trialIds": list(trial_ids)}):
        for row in message["metrics"]:
            yield _report(TrainingMetrics, row, "training")


def iterate_validation(
    session: BaseSession, trial_ids: Sequence[int]
) -> Iterator[ValidationMetrics]:
    """All validation reports of trials."""
    path = "/api/v1/trials/metrics/validation_metrics"
    for message in lists.stream(session, path, {"trialIds": list(trial_ids)}):
        for row in message["metrics"]:
            yield _report(ValidationMetrics, row, "validation")


def report_of(row: Dict[str, Any], group: Optional[str] = None) -> TrialMetrics:
    """A report from a row of the API."""
    report: TrialMetrics = _report(TrialMetrics, row, row.get("group") or group or "validation")
    return report


def _report(kind: Any, row: Dict[str, Any], group: str) -> Any:
    stored = row["metrics"]
    inner = _INNER.get(group, "avg_metrics")
    return kind(
        trial_id=row["trialId"],
        trial_run_id=row["trialRunId"],
        steps_completed=row["totalBatches"],
        end_time=parse_protobuf_timestamp(row["endTime"]),
        metrics=stored.get(inner, stored),
        group=row.get("group") or group,
        batch_metrics=stored.get("batch_metrics"),
    )

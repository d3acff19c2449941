"""Reported metrics of trials."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from determined.common.api import BaseSession
from determined.common.experimental import drawn, lists
from determined.common.util import parse_protobuf_timestamp

_INNER = {"training": "avg_metrics", "validation": "validation_metrics"}
_GROUPS = {key: group for group, key in _INNER.items()}


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


def iterate(
    session: BaseSession, trial_ids: Sequence[int], group: str
) -> drawn.Reports[TrialMetrics]:
    """All reports of trials in one group, sorted by trial and step."""
    params = {"trialIds": list(trial_ids), "group": group}
    return drawn.Reports(_stream(session, "trial_metrics", params, TrialMetrics, group))


def iterate_training(
    session: BaseSession, trial_ids: Sequence[int]
) -> drawn.Reports[TrainingMetrics]:
    """All training reports of trials."""
    params = {"trialIds": list(trial_ids)}
    return drawn.Reports(_stream(session, "training_metrics", params, TrainingMetrics, "training"))


def iterate_validation(
    session: BaseSession, trial_ids: Sequence[int]
) -> drawn.Reports[ValidationMetrics]:
    """All validation reports of trials."""
    params = {"trialIds": list(trial_ids)}
    return drawn.Reports(
        _stream(session, "validation_metrics", params, ValidationMetrics, "validation")
    )


def _stream(
    session: BaseSession, route: str, params: Mapping[str, Any], kind: Any, group: str
) -> Iterator[Any]:
    for message in lists.stream(session, f"/api/v1/trials/metrics/{route}", params):
        for row in message["metrics"]:
            yield _report(kind, row, group)


def last_values(summary: Mapping[str, Mapping[str, Any]]) -> drawn.Row:
    """The last value of each metric, such as `validation.loss`, of a trial's summary."""
    return {
        f"{_GROUPS.get(key, key)}.{name}": numbers.get("last")
        for key, metrics in summary.items()
        for name, numbers in metrics.items()
    }


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

"""Trials of an experiment."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

from determined.common import reasons
from determined.common.api import BaseSession
from determined.common.experimental import checkpoint, drawn, lists, metrics
from determined.common.experimental.enums import (
    CheckpointSortBy,
    LogLevel,
    OrderBy,
    TrialState,
)
from determined.common.experimental.enums import TrialSortBy as TrialSortBy

if TYPE_CHECKING:
    from determined.common.experimental import experiment

TrialOrderBy = OrderBy
"""The older name."""


_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")
"""The start of a time; the master validates the rest."""


class Trial(drawn.Drawn):
    """A trial by its id. `reload` and the calls that return one set its attributes."""

    def __init__(self, trial_id: int, session: BaseSession) -> None:
        self.id = trial_id
        self._session = session
        self.experiment_id: Optional[int] = None
        self.hparams: Optional[Dict[str, Any]] = None
        self.summary_metrics: Optional[Dict[str, Any]] = None
        self.state: Optional[TrialState] = None

    def __repr__(self) -> str:
        return f"Trial(id={self.id})"

    def reload(self) -> None:
        """Read the trial from the master."""
        self._hydrate(self._session.get(self._path()).json()["trial"])

    def reason(self) -> str:
        """Why it is in its state, the cause of a failure first; empty if that needs no reason."""
        return reasons.reason_of(self._session, self._path())

    def iter_logs(
        self,
        follow: bool = False,
        *,
        head: Optional[int] = None,
        tail: Optional[int] = None,
        container_ids: Optional[List[str]] = None,
        rank_ids: Optional[List[int]] = None,
        stdtypes: Optional[List[str]] = None,
        min_level: Optional[LogLevel] = None,
        timestamp_before: Optional[Union[str, int]] = None,
        timestamp_after: Optional[Union[str, int]] = None,
        sources: Optional[List[str]] = None,
        search_text: Optional[str] = None,
    ) -> Iterable[str]:
        """The lines of the log, each with its line end.

        Args:
            follow: continue until the trial has ended.
            head: the number of lines from the start; not with `tail` or `follow`.
            tail: the number of lines from the end.
            timestamp_before: RFC 3339 text or Unix seconds; `timestamp_after` likewise.

        Raises:
            ValueError: `head` together with `tail` or `follow`.
        """
        if head is not None and (tail is not None or follow):
            raise ValueError("head cannot be combined with tail or follow")
        levels = list(LogLevel)
        params: Dict[str, Any] = {
            "containerIds": container_ids,
            "rankIds": rank_ids,
            "stdtypes": stdtypes,
            "levels": [x.value for x in levels[levels.index(min_level) :]] if min_level else None,
            "timestampBefore": _instant(timestamp_before),
            "timestampAfter": _instant(timestamp_after),
            "sources": sources,
            "searchText": search_text,
        }
        return self._log_lines(params, follow, head, tail)

    def logs(self, *args: Any, **kwargs: Any) -> Iterable[str]:
        """The older name of `iter_logs`."""
        return self.iter_logs(*args, **kwargs)

    def kill(self) -> None:
        """Stop the trial immediately."""
        self._session.post(f"{self._path()}/kill")

    def list_checkpoints(
        self,
        sort_by: Optional[Union[str, CheckpointSortBy]] = None,
        order_by: Optional[OrderBy] = None,
        max_results: Optional[int] = None,
    ) -> drawn.DrawnList[checkpoint.Checkpoint]:
        """Its checkpoints, including deleted ones; by default the best first.

        Raises:
            ValueError: none of them has the metric of `sort_by`.
        """
        return self._listed(sort_by, order_by, max_results)

    def get_checkpoints(
        self,
        sort_by: Optional[Union[str, CheckpointSortBy]] = None,
        order_by: Optional[OrderBy] = None,
    ) -> drawn.DrawnList[checkpoint.Checkpoint]:
        """The older name of `list_checkpoints`."""
        return self.list_checkpoints(sort_by, order_by)

    def top_checkpoint(
        self, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> checkpoint.Checkpoint:
        """The best checkpoint with files, by default by the searcher's metric.

        A metric in `sort_by` is better when larger, unless `smaller_is_better` is set.
        """
        smaller = bool(smaller_is_better) if sort_by is not None else None
        return self.select_checkpoint(best=True, sort_by=sort_by, smaller_is_better=smaller)

    def select_checkpoint(
        self,
        latest: bool = False,
        best: bool = False,
        uuid: Optional[str] = None,
        sort_by: Optional[str] = None,
        smaller_is_better: Optional[bool] = None,
    ) -> checkpoint.Checkpoint:
        """The latest checkpoint with files, the best one, or the one with this UUID.

        Raises:
            InvalidArguments: not exactly one of the three is given; only one of `sort_by` and
                `smaller_is_better` is given; or they are given without `best`.
            ValueError: there is no such checkpoint.
        """
        if sum((latest, best, uuid is not None)) != 1:
            raise lists.InvalidArguments("pass exactly one of latest, best and uuid")
        if (sort_by is None) != (smaller_is_better is None):
            raise lists.InvalidArguments("sort_by and smaller_is_better must be passed together")
        if sort_by is not None and not best:
            raise lists.InvalidArguments("sort_by and smaller_is_better require best")
        if uuid is not None:
            found = checkpoint.Checkpoint(self._session, uuid)
            found.reload()
            if found.training is None or found.training.trial_id != self.id:
                raise ValueError(f"trial {self.id} has no checkpoint {uuid}")
            return found
        if latest:
            by, order = CheckpointSortBy.BATCH_NUMBER, OrderBy.DESC
            listed = self._listed(by, order, 1, lists.DOWNLOADABLE)
        else:
            listed = self._best(sort_by, smaller_is_better)
        if not listed:
            raise ValueError(f"trial {self.id} has no such checkpoint")
        return listed[0]

    def iter_metrics(self, group: str) -> drawn.Reports[metrics.TrialMetrics]:
        """All reports of one group."""
        return metrics.iterate(self._session, [self.id], group)

    def stream_metrics(self, group: str) -> drawn.Reports[metrics.TrialMetrics]:
        """The older name of `iter_metrics`."""
        return self.iter_metrics(group)

    def stream_training_metrics(self) -> drawn.Reports[metrics.TrainingMetrics]:
        """All training reports."""
        return metrics.iterate_training(self._session, [self.id])

    def stream_validation_metrics(self) -> drawn.Reports[metrics.ValidationMetrics]:
        """All validation reports."""
        return metrics.iterate_validation(self._session, [self.id])

    def get_experiment(self) -> experiment.Experiment:
        from determined.common.experimental import experiment  # circular import

        if self.experiment_id is None:
            self.reload()
        assert self.experiment_id is not None
        found = experiment.Experiment(self.experiment_id, self._session)
        found.reload()
        return found

    def _path(self) -> str:
        return f"/api/v1/trials/{self.id}"

    def _address(self) -> str:
        return f"{self._session.master}/det/trials/{self.id}"

    def _row(self) -> drawn.Row:
        row: drawn.Row = {"id": self.id}
        if self.state is not None:
            row.update(experiment_id=self.experiment_id, state=self.state.name)
            row.update(drawn.flat("hparams", self.hparams))
            row.update(metrics.last_values(self.summary_metrics or {}))
        return row

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self.experiment_id = body["experimentId"]
        self.hparams = body["hparams"]
        self.summary_metrics = body.get("summaryMetrics")
        self.state = TrialState(body["state"])

    def _best(
        self, sort_by: Optional[str], smaller_is_better: Optional[bool]
    ) -> drawn.DrawnList[checkpoint.Checkpoint]:
        by: Union[str, CheckpointSortBy] = sort_by or CheckpointSortBy.SEARCHER_METRIC
        if smaller_is_better is None:
            config = self.get_experiment().config or {}
            smaller_is_better = config.get("searcher", {}).get("smaller_is_better", True)
        order = OrderBy.ASC if smaller_is_better else OrderBy.DESC
        return self._listed(by, order, 1, lists.DOWNLOADABLE)

    def _listed(
        self,
        sort_by: Optional[Union[str, CheckpointSortBy]],
        order_by: Optional[OrderBy],
        max_results: Optional[int],
        states: Optional[Sequence[str]] = None,
    ) -> drawn.DrawnList[checkpoint.Checkpoint]:
        path = f"{self._path()}/checkpoints"
        found = lists.checkpoints(self._session, path, sort_by, order_by, max_results, states)
        return drawn.DrawnList(_checkpoint(self._session, body) for body in found)

    def _log_lines(
        self, params: Dict[str, Any], follow: bool, head: Optional[int], tail: Optional[int]
    ) -> Iterator[str]:
        path, last = f"{self._path()}/logs", -1
        if tail is not None:
            latest = {**params, "limit": tail, "orderBy": "ORDER_BY_DESC"}
            for line in list(lists.stream(self._session, path, latest))[::-1]:
                last = int(line["id"])
                yield line["message"]
            if not follow:
                return
        for line in lists.stream(self._session, path, {**params, "limit": head, "follow": follow}):
            if int(line["id"]) > last:
                yield line["message"]


class TrialReference(Trial):
    """The older name of `Trial`."""


def _checkpoint(session: BaseSession, body: Dict[str, Any]) -> checkpoint.Checkpoint:
    found = checkpoint.Checkpoint(session, body["uuid"])
    found._hydrate(body)
    return found


def _instant(value: Optional[Union[str, int]]) -> Optional[str]:
    if isinstance(value, int):
        moment = datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if value is not None and not _INSTANT.match(value):
        raise ValueError(f"{value!r} is not a time of the form 2026-01-31T00:00:00Z")
    return value

"""How far the trials of a halving search have come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.config.stored import read_stored
from determined_master.domain.errors import NotFound
from determined_master.domain.search.asha import FAILED, HalvingSearch
from determined_master.domain.search.method import build
from determined_master.store.experiments import experiments as rows
from determined_master.store.experiments import searches
from determined_master.store.experiments.searches import RungCounts

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.experiments import ExperimentRow
    from determined_master.store.db import Conn, Database


class Rung(msgspec.Struct, frozen=True):
    """One rung at `length` of the time metric, with the counts of `RungCounts`.

    `training` is 0 after the end of the search, which leaves trials without a verdict. `stopped`
    is 0 at the top, where every trial has trained as long as it should. `passes` is the worst
    metric that would pass now; None where any would, and at the top.
    """

    length: int
    training: int
    failed: int
    reached: int
    stopped: int
    best: float | None
    passes: float | None


class RungLadder(msgspec.Struct, frozen=True):
    """One bracket: the number of trials that it makes in all, and its rungs."""

    trials: int
    rungs: Sequence[Rung]


class RungOverview(msgspec.Struct, frozen=True):
    """The brackets of a search, in the units of its metrics; none without rungs."""

    metric: str
    time_metric: str
    smaller_is_better: bool
    brackets: Sequence[RungLadder]


class SearchRungs:
    """Rungs of all experiments."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, caller: Caller, experiment_id: int) -> RungOverview:
        """The rungs of a search; an experiment whose search has none has no brackets.

        Raises:
            NotFound: there is no such experiment.

        Cost: two statements over the search's entries, O(n log n) in trials.
        """
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            row = await rows.find_experiment(conn, experiment_id)
            if row is None:
                raise NotFound(f"experiment '{experiment_id}' not found")
            search = _halving(row)
            if search is None:
                return RungOverview(row.searcher_metric, "", row.smaller_is_better, ())
            counts = await searches.list_rung_counts(conn, experiment_id)
            passes = await _passing_metrics(conn, experiment_id, search, counts)
        return _overview(row, search, counts, passes)


def _halving(row: ExperimentRow) -> HalvingSearch | None:
    config = read_stored(row.config)
    method = build(config.searcher, config.hyperparameters, config.seed)
    return method if isinstance(method, HalvingSearch) else None


async def _passing_metrics(
    conn: Conn, experiment_id: int, search: HalvingSearch, counts: Sequence[RungCounts]
) -> dict[tuple[int, int], float]:
    """The worst metric of each rung that would continue, by bracket and rung."""
    places = [
        (each.bracket, each.rung, search.places(each.reached + each.failed + 1))
        for each in counts
        if each.rung < len(search.brackets[each.bracket].thresholds) - 1
    ]
    return await searches.list_metrics_at(conn, experiment_id, places) if places else {}


def _overview(
    row: ExperimentRow,
    search: HalvingSearch,
    counts: Sequence[RungCounts],
    passes: dict[tuple[int, int], float],
) -> RungOverview:
    sign = 1 if row.smaller_is_better else -1
    by_rung = {(each.bracket, each.rung): each for each in counts}

    def rung(bracket: int, rung: int, length: int) -> Rung:
        at = (bracket, rung)
        c = by_rung.get(at) or RungCounts(bracket, rung, 0, 0, 0, 0, None)
        best, bar = _shown(c.best, sign), _shown(passes.get(at), sign)
        stopped = 0 if rung == len(search.brackets[bracket].thresholds) - 1 else c.stopped
        training = c.training if row.ended_at is None else 0
        return Rung(length, training, c.failed, c.reached, stopped, best, bar)

    brackets = [
        RungLadder(
            bracket.trials, [rung(i, j, length) for j, length in enumerate(bracket.thresholds)]
        )
        for i, bracket in enumerate(search.brackets)
    ]
    return RungOverview(row.searcher_metric, search.time_metric, row.smaller_is_better, brackets)


def _shown(metric: float | None, sign: int) -> float | None:
    """As it was reported; None for what stands for a failure or for a value that was NaN."""
    if metric is None or metric >= FAILED or not math.isfinite(metric):
        return None
    return sign * metric

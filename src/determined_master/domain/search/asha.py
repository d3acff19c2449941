"""Asynchronous successive halving, in the form that stops trials and never resumes them.

A bracket is a ladder of rungs, each a length of training. A trial that reaches a rung continues if
its metric is among the best 1/divisor of those that reached it before, and is stopped otherwise.
Source: Li et al. 2020, MLSys 2 230-246 (there with promotion in place of stopping).
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from determined_master.domain.config.sections.hyperparameters import HyperparameterSpace
from determined_master.domain.search.decision import (
    MAX_CREATED,
    Create,
    SearchDecision,
    SearchError,
    Stop,
    TrialCount,
    replacements,
)
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.records import (
    BracketMember,
    RungEntry,
    SearchRecord,
    TrialEnd,
)
from determined_master.domain.search.sampling import draw_trial
from determined_master.domain.search.stream import Stream

FAILED = sys.float_info.max
"""Metric of a failed trial: worse than every finite value, so that its rung can fill."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """One ladder: rising `thresholds` of the time metric; number of trials, in all and at once."""

    thresholds: tuple[int, ...]
    trials: int
    concurrency: int


class MetricNames(NamedTuple):
    """Names of the two metrics, for errors."""

    metric: str
    time_metric: str


class _Counts(NamedTuple):
    """One bracket's part of the state: trials created, invalid and replaced, waiting for a
    verdict, and closed.
    """

    known: int = 0
    invalid: int = 0
    open: int = 0
    closed: int = 0


class HalvingSearch:
    """Successive halving in one or several brackets; each trial stays in its bracket.

    State: `position` in the random stream, `entries` made, and `brackets`: counts of each.
    """

    def __init__(
        self,
        space: HyperparameterSpace,
        seed: int,
        *,
        brackets: Sequence[Bracket],
        divisor: float,
        names: MetricNames,
    ) -> None:
        self._space = space
        self._stream = Stream(seed)
        self._brackets = tuple(brackets)
        self._divisor = divisor
        self._names = names

    @property
    def brackets(self) -> tuple[Bracket, ...]:
        """The ladders, in the order of their numbers."""
        return self._brackets

    @property
    def time_metric(self) -> str:
        """The metric that the thresholds count."""
        return self._names.time_metric

    def places(self, entries: int) -> int:
        """How many of a rung's entries are good enough to continue, the best first."""
        return max(int(entries / self._divisor), 1)

    def initial(self) -> SearchDecision:
        """Every bracket's first trials."""
        return self._refill(0, 0, [_Counts()] * len(self._brackets), [], [])

    def validation_completed(
        self,
        state: Any,
        memory: SearchMemory,
        request_id: str,
        metric: float | None,
        time: float | None,
        reported: tuple[str, ...],
    ) -> SearchDecision:
        """Place a trial in every rung that it has reached; stop it where it falls short.

        A stopped trial makes room for a new one. Reports of a trial after its verdict change
        nothing. Among equals the latest goes ahead, except NaN, which goes behind all.

        Cost: O(log n) comparisons a rung in trials of the bracket.
        """
        member = memory.member(request_id)
        if not member.is_open:
            return SearchDecision(state)
        value, spent = self._read(request_id, metric, time, reported)

        entries = state["entries"]
        thresholds = self._brackets[member.bracket].thresholds
        rung, stopped = member.rung, False
        records: list[SearchRecord] = []
        while not stopped and spent >= thresholds[rung]:
            is_top = rung == len(thresholds) - 1
            stopped = is_top or self._falls_short(memory.rung(member.bracket, rung), value)
            records.append(
                RungEntry(
                    bracket=member.bracket,
                    rung=rung,
                    request_id=request_id,
                    metric=math.inf if math.isnan(value) else value,
                    stopped=stopped,
                    seq=entries + len(records),
                )
            )
            rung += 1

        if not records:
            return SearchDecision(state)
        counts = _read_counts(state)
        if not stopped:
            return SearchDecision({**state, "entries": entries + len(records)}, (), tuple(records))
        _change(counts, member.bracket, open=-1)
        position, entries = state["position"], entries + len(records)
        return self._refill(position, entries, counts, [Stop(request_id)], records)

    def trial_ended(
        self, state: Any, memory: SearchMemory, request_id: str, end: TrialEnd
    ) -> SearchDecision:
        """Create a new trial unless the ended one was stopped before.

        A failed trial takes the last place of the rung that it was training for. An invalid one
        leaves all its rungs and does not count among the bracket's trials.
        """
        member = memory.member(request_id)
        if member.state != "open":
            return SearchDecision(state)
        counts = _read_counts(state)
        entries = state["entries"]
        bracket = member.bracket
        records: list[SearchRecord] = []
        _change(counts, bracket, open=-1 if member.is_open else 0, closed=1)
        if end == "invalid_hp":
            records.append(BracketMember(bracket, request_id, state="invalid"))
            if counts[bracket].invalid < replacements(self._brackets[bracket].trials):
                _change(counts, bracket, invalid=1)
        elif member.is_open and end == "clean":
            records.append(BracketMember(bracket, request_id, state="closed"))
        elif member.is_open:
            records.append(
                RungEntry(bracket, member.rung, request_id, FAILED, stopped=True, seq=entries)
            )
            entries += 1
        return self._refill(state["position"], entries, counts, [], records)

    def create_more(self, state: Any, memory: SearchMemory) -> SearchDecision:
        """More trials, as far as the brackets allow."""
        return self._refill(state["position"], state["entries"], _read_counts(state), [], [])

    def progress(self, state: Any, memory: SearchMemory, trial_progress: float) -> float:
        """Mean over the brackets of the fraction of trials that have reached the first rung.

        That fraction is divided by 1.2 until all have; from then on closed trials count too.
        """
        total = 0.0
        # Computed at every event of a search, so it must be cheap.
        for i, (bracket, row) in enumerate(zip(self._brackets, state["brackets"], strict=True)):
            reached = len(memory.rung(i, 0))
            share = reached / (1.2 * bracket.trials)
            if reached >= bracket.trials:
                counts = _Counts(*row)
                share = max(share, (counts.closed - counts.invalid) / bracket.trials)
            total += min(share, 1.0)
        return total / len(self._brackets)

    def preview(self) -> tuple[TrialCount, ...]:
        """Trials that end at each threshold, if every rung fills before it is judged."""
        ends: dict[int, int] = {}
        for bracket in self._brackets:
            left = bracket.trials
            for threshold in bracket.thresholds[:-1]:
                going_on = max(int(left / self._divisor), 1)
                ends[threshold] = ends.get(threshold, 0) + left - going_on
                left = going_on
            ends[bracket.thresholds[-1]] = ends.get(bracket.thresholds[-1], 0) + left
        unit = self._names.time_metric
        return tuple(TrialCount(ends[at], unit, at) for at in sorted(ends))

    def _falls_short(self, metrics: Sequence[float], value: float) -> bool:
        """Whether a value is not among the best 1/divisor of a rung that it has joined."""
        keep = self.places(len(metrics) + 1)
        if math.isnan(value):
            return bisect_right(metrics, math.inf) >= keep
        return bisect_left(metrics, value) >= keep

    def _read(
        self,
        request_id: str,
        metric: float | None,
        time: float | None,
        reported: tuple[str, ...],
    ) -> tuple[float, int]:
        """The metric, and the time in whole units."""
        names = ((self._names.metric, metric), (self._names.time_metric, time))
        missing = [name for name, value in names if value is None]
        if metric is None or time is None:
            raise SearchError(
                f"the search needs {' and '.join(map(repr, missing))} as a number in every "
                f"validation report; trial {request_id} reported "
                f"{', '.join(reported) or 'no metrics'}. Report it, or name one that is reported "
                "in searcher.metric and searcher.time_metric"
            )
        if not math.isfinite(time):
            raise SearchError(
                f"the search needs {self._names.time_metric!r} as a finite number in every "
                f"validation report; trial {request_id} reported {time}"
            )
        return metric, int(time)

    def _refill(
        self,
        position: int,
        entries: int,
        counts: list[_Counts],
        actions: list[Create | Stop],
        records: list[SearchRecord],
    ) -> SearchDecision:
        """Complete a decision with new trials wherever a bracket has capacity and trials left."""
        self._stream.seek(position)
        left = MAX_CREATED
        for i, bracket in enumerate(self._brackets):
            for _ in range(min(left, _room(bracket, counts[i]))):
                trial = draw_trial(self._stream, self._space)
                actions.append(trial)
                records.append(BracketMember(i, trial.request_id))
                _change(counts, i, known=1, open=1)
                left -= 1
        state = {
            "position": self._stream.position,
            "entries": entries,
            "brackets": [list(c) for c in counts],
        }
        has_more = any(_room(*pair) for pair in zip(self._brackets, counts, strict=True))
        return SearchDecision(state, tuple(actions), tuple(records), has_more)


def _room(bracket: Bracket, counts: _Counts) -> int:
    """The number of trials that a bracket may create now."""
    left = bracket.trials - (counts.known - counts.invalid)
    return max(min(bracket.concurrency - counts.open, left), 0)


def rung_thresholds(rungs: int, divisor: float, max_time: int) -> tuple[int, ...]:
    """The thresholds of the rungs: `max_time` at the top, 1/divisor of the next below it."""
    return tuple(max(int(max_time / divisor ** (rungs - 1 - i)), 1) for i in range(rungs))


def async_bracket(
    rungs: int, divisor: float, max_time: int, trials: int, max_concurrent_trials: int
) -> Bracket:
    """The one bracket of an `async_halving` search.

    Without a limit, as many trials run at once as are needed for one to reach the top.
    """
    concurrency = max_concurrent_trials or max(int(divisor ** (rungs - 1)), 1)
    return Bracket(rung_thresholds(rungs, divisor, max_time), trials, min(concurrency, trials))


def _read_counts(state: Any) -> list[_Counts]:
    return [_Counts(*counts) for counts in state["brackets"]]


def _change(
    counts: list[_Counts],
    bracket: int,
    *,
    known: int = 0,
    invalid: int = 0,
    open: int = 0,
    closed: int = 0,
) -> None:
    c = counts[bracket]
    counts[bracket] = _Counts(
        c.known + known, c.invalid + invalid, c.open + open, c.closed + closed
    )

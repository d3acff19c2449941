"""The interface of a search method, and the only list of methods.

A method has no memory: each event passes in its small state and its rows, and the method returns
the new state and the rows to add. The caller stores both, then applies the rows to the
`SearchMemory`. One seed and one order of events give the same decisions, byte for byte, even when
state and rows were stored and read in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

from determined_master.domain.config.sections.hyperparameters import HyperparameterSpace
from determined_master.domain.config.sections.searcher import (
    AdaptiveAsha,
    AsyncHalving,
    Grid,
    Random,
    Removed,
    SearcherConfig,
    Single,
)
from determined_master.domain.config.sizes import ConfigLimits, remedy
from determined_master.domain.search.adaptive_asha import (
    adaptive_brackets,
    bracket_sizes,
    most_rungs,
)
from determined_master.domain.search.asha import HalvingSearch, MetricNames, async_bracket
from determined_master.domain.search.decision import (
    Create,
    SearchDecision,
    SearchError,
    Stop,
    TrialCount,
)
from determined_master.domain.search.grid import GridSearch
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.random import RandomSearch
from determined_master.domain.search.records import TrialEnd
from determined_master.domain.search.removed import RemovedSearch
from determined_master.domain.search.sampling import check_space

__all__ = [
    "Create",
    "SearchDecision",
    "SearchContext",
    "SearchError",
    "SearchMemory",
    "SearchMethod",
    "Stop",
    "TrialCount",
    "build",
]


MAX_POWER_OF_10 = 300
"""Limit of a divisor's power at the lowest rung; doubles go a little further."""


class SearchMethod(Protocol):
    """The interface of a search method; a new method is one file and one line in `build`."""

    def initial(self) -> SearchDecision:
        """The first trials, at most `MAX_CREATED`; a search without any fails."""
        ...

    def validation_completed(
        self,
        state: Any,
        memory: SearchMemory,
        request_id: str,
        metric: float | None,
        time: float | None,
        reported: tuple[str, ...],
    ) -> SearchDecision:
        """Judge a trial by a validation.

        Args:
            state: the last decision's state, in memory or read back from JSON.
            metric: the searcher's metric with the sign that makes smaller better; None when the
                report lacks it. NaN counts as worse than every other value.
            time: value of the time metric; None when the report lacks it.
            reported: names in the report, for the error's text.

        Raises:
            SearchError: the method needs a value that the report lacks.
        """
        ...

    def trial_ended(
        self, state: Any, memory: SearchMemory, request_id: str, end: TrialEnd
    ) -> SearchDecision:
        """Handle the end of a trial, once a trial; create its replacement if there is one."""
        ...

    def create_more(self, state: Any, memory: SearchMemory) -> SearchDecision:
        """Create more of the trials that earlier decisions postponed."""
        ...

    def progress(self, state: Any, memory: SearchMemory, trial_progress: float) -> float:
        """The search's progress, 0 to 1.

        `trial_progress` is the mean of the trials' own progress; a closed trial counts 1.
        """
        ...

    def preview(self) -> tuple[TrialCount, ...]:
        """How many trials train for how long, shortest first."""
        ...


@dataclass(slots=True)
class SearchContext:
    """The data that an experiment's machine needs besides its state to step its search."""

    method: SearchMethod
    memory: SearchMemory
    is_multitrial: bool = False
    """Whether the search may create more than one trial."""


def build(
    searcher: SearcherConfig,
    space: HyperparameterSpace,
    seed: int,
    limits: ConfigLimits | None = None,
) -> SearchMethod:
    """The search method of a configuration.

    Args:
        seed: the experiment's seed; its low 32 bits are used.
        limits: for a submitted configuration; None for a stored one, which stays valid.

    Raises:
        SearchError: the configuration is valid but no such search can run.
    """
    if not isinstance(searcher, Removed):
        check_space(space)
    match searcher:
        case Single():
            return RandomSearch(
                space, seed, max_trials=1, max_concurrent_trials=1, replaces_invalid=False
            )
        case Random():
            return RandomSearch(
                space,
                seed,
                max_trials=searcher.max_trials,
                max_concurrent_trials=searcher.max_concurrent_trials,
            )
        case Grid():
            return GridSearch(space, seed, max_concurrent_trials=searcher.max_concurrent_trials)
        case AdaptiveAsha() | AsyncHalving():
            return _build_halving(searcher, space, seed, limits)
        case Removed():
            return RemovedSearch(searcher.name)
        case _:
            assert_never(searcher)


def _build_halving(
    searcher: AdaptiveAsha | AsyncHalving,
    space: HyperparameterSpace,
    seed: int,
    limits: ConfigLimits | None,
) -> HalvingSearch:
    trials, divisor, at_once = (
        searcher.max_trials,
        searcher.divisor,
        searcher.max_concurrent_trials,
    )
    if searcher.max_time is None or searcher.time_metric is None:
        raise SearchError(
            "searcher requires `max_time` and `time_metric`: the longest training of a trial, and "
            "the reported metric that measures it (`batches` or `epochs`, or one of your own)"
        )
    if searcher.max_time < 1:
        raise SearchError(f"searcher.max_time is {searcher.max_time}; it must be at least 1")
    if divisor <= 1:
        raise SearchError(f"searcher.divisor is {divisor}; it must be above 1")
    if isinstance(searcher, AsyncHalving):
        rungs = searcher.num_rungs
        _check_rungs("num_rungs", [rungs], divisor, limits)
        brackets = [async_bracket(rungs, divisor, searcher.max_time, trials, at_once)]
    else:
        sizes = sorted(searcher.bracket_rungs, reverse=True)
        if not sizes:
            rungs = most_rungs(searcher.max_rungs, divisor, searcher.max_time, trials)
            _check_rungs("max_rungs", [rungs], divisor, limits)
            sizes = bracket_sizes(searcher.mode, rungs)
        if sizes[-1] < 1:
            raise SearchError(f"searcher.bracket_rungs has {sizes[-1]}; a bracket has 1 or more")
        key = "bracket_rungs" if searcher.bracket_rungs else "max_rungs"
        _check_rungs(key, sizes, divisor, limits)
        brackets = adaptive_brackets(sizes, divisor, searcher.max_time, trials, at_once)
    names = MetricNames(searcher.metric, searcher.time_metric)
    return HalvingSearch(space, seed, brackets=brackets, divisor=divisor, names=names)


def _check_rungs(
    key: str, sizes: Sequence[int], divisor: float, limits: ConfigLimits | None
) -> None:
    """Limit the brackets: every event visits them, and their counts are in the search's state.

    With a divisor close to 1, time and trials would allow any number of rungs.
    """
    for count, noun in ((len(sizes), "brackets"), (sum(sizes), "rungs")):
        limit = getattr(limits, f"max_{noun}", count)
        if count > limit:
            raise SearchError(
                f"searcher.{key} and searcher.divisor {divisor} make {count:,} {noun}, "
                f"{remedy(f'max_{noun}', limit)}"
            )
    if (max(sizes) - 1) * math.log10(divisor) > MAX_POWER_OF_10:
        raise SearchError(
            f"searcher.divisor is {divisor}; to the power of {max(sizes) - 1}, for a bracket of "
            f"{max(sizes)} rungs, it is too large: lower {key} or the divisor"
        )

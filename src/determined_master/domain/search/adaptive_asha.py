"""Adaptive ASHA: successive halving in several brackets that differ in how early they judge.

Early stopping is risky where the order of learning curves changes late. Brackets with fewer rungs
judge later; running a few of them besides the most aggressive one hedges that risk, as in
Hyperband. Source: Li et al. 2018, JMLR 18(185) 1-52; Li et al. 2020, MLSys 2 230-246.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from determined_master.domain.search.asha import Bracket, rung_thresholds

Mode = Literal["aggressive", "standard", "conservative"]


def most_rungs(max_rungs: int, divisor: float, max_time: int, max_trials: int) -> int:
    """The largest number of rungs that time and trials allow.

    The quotient of the logarithms is truncated with float rounding: 5 rungs, not 6, for 243 and a
    divisor of 3. The original does the same, so a search keeps its shape.
    """
    by_time = int(math.log(max_time) / math.log(divisor)) + 1
    by_trials = int(math.log(max_trials) / math.log(divisor)) + 1
    return min(max_rungs, by_time, by_trials)


def bracket_sizes(mode: Mode, rungs: int) -> list[int]:
    """Rungs of each bracket, the most aggressive bracket first."""
    lowest = {"aggressive": rungs, "standard": (rungs - 1) // 2 + 1, "conservative": 1}[mode]
    return list(range(rungs, lowest - 1, -1))


def split_trials(max_trials: int, divisor: float, sizes: Sequence[int]) -> list[int]:
    """Trials of each bracket, so that each bracket trains for about the same time.

    A bracket of n rungs costs n times its top rung for each divisor^(n-1) trials. Every bracket
    gets at least one trial, so that the sum can exceed `max_trials`; the remainder after
    truncation goes to the first.
    """
    weights = [divisor ** (rungs - 1) / rungs for rungs in sizes]
    total = sum(weights)
    trials = [max(int(weight / total * max_trials), 1) for weight in weights]
    trials[0] += max(max_trials - sum(trials), 0)
    return trials


def split_concurrency(
    max_concurrent_trials: int, divisor: float, trials: Sequence[int]
) -> list[int]:
    """Trials of each bracket that may run at once; every bracket runs at least one.

    With 0 (no limit) each may run as many as the last bracket has trials, at least the divisor.
    """
    if max_concurrent_trials == 0:
        return [max(trials[-1], int(divisor))] * len(trials)
    share, rest = divmod(max(max_concurrent_trials, len(trials)), len(trials))
    return [share + (i < rest) for i in range(len(trials))]


def adaptive_brackets(
    sizes: Sequence[int],
    divisor: float,
    max_time: int,
    max_trials: int,
    max_concurrent_trials: int,
) -> list[Bracket]:
    """The brackets of an `adaptive_asha` search, for brackets of these numbers of rungs."""
    trials = split_trials(max_trials, divisor, sizes)
    concurrency = split_concurrency(max_concurrent_trials, divisor, trials)
    return [
        Bracket(rung_thresholds(rungs, divisor, max_time), count, min(at_once, count))
        for rungs, count, at_once in zip(sizes, trials, concurrency, strict=True)
    ]

"""Searchers."""

from __future__ import annotations

from typing import Literal

import msgspec


class Common(msgspec.Struct, frozen=True, kw_only=True):
    metric: str
    smaller_is_better: bool = True
    source_trial_id: int | None = None
    source_checkpoint_uuid: str | None = None


class Single(Common, frozen=True, kw_only=True):
    pass


class Random(Common, frozen=True, kw_only=True):
    max_trials: int
    max_concurrent_trials: int = 16


class Grid(Common, frozen=True, kw_only=True):
    max_concurrent_trials: int = 16


class AdaptiveAsha(Common, frozen=True, kw_only=True):
    max_trials: int
    max_concurrent_trials: int = 16
    max_time: int | None = None
    time_metric: str | None = None
    mode: Literal["aggressive", "standard", "conservative"] = "standard"
    divisor: float = 4
    max_rungs: int = 5
    bracket_rungs: tuple[int, ...] = ()


class AsyncHalving(Common, frozen=True, kw_only=True):
    max_trials: int
    num_rungs: int
    max_concurrent_trials: int = 16
    max_time: int | None = None
    time_metric: str | None = None
    divisor: float = 4


SearcherConfig = Single | Random | Grid | AdaptiveAsha | AsyncHalving

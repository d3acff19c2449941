"""The plan of a training, from the arguments of `Trainer.fit` or from the configuration.

A script passes lengths and periods to `Trainer.fit`. A trial class that is started as
`module:Class` takes them from the configuration.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional

from determined.pytorch._training.checkpoint_policy import SearchGoal
from determined.pytorch._units import Batch, TrainUnit, unit_of

DEFAULT_REPORTING_BATCHES = 100
POLICIES = ("best", "all", "none")


class FitPlan(NamedTuple):
    """The validated arguments of `Trainer.fit`, with defaults from the context."""

    max_length: TrainUnit
    reporting_period: TrainUnit
    checkpoint_period: Optional[TrainUnit]
    """None: only at the end and where the checkpoint policy requires one."""
    validation_period: Optional[TrainUnit]
    """None: only at the end."""
    checkpoint_policy: str
    """After which validations to save a checkpoint: `best`, `all` or `none`."""
    latest_checkpoint: Optional[str]
    step_zero_validation: bool
    test_mode: bool
    profiling_enabled: bool
    goal: SearchGoal


def length_of(config: Optional[Mapping[str, Any]]) -> Optional[TrainUnit]:
    """The training length from the configuration, or None.

    It is `searcher.max_length`, else `searcher.max_time` if `searcher.time_metric` is batches or
    epochs, since the search stops every trial there.
    """
    searcher = (config or {}).get("searcher") or {}
    length = unit_of(searcher.get("max_length"), searcher.get("unit"))
    if length is None and searcher.get("time_metric") in ("batches", "epochs"):
        length = unit_of(searcher.get("max_time"), searcher["time_metric"])
    return length


def fit_arguments(config: Mapping[str, Any]) -> Dict[str, Any]:
    """The arguments of `Trainer.fit` from the merged configuration.

    Raises:
        ValueError: the configuration has no training length.
    """
    length = length_of(config)
    if length is None:
        raise ValueError(
            "the configuration has no training length for the trial class: set "
            "searcher.max_length (such as {epochs: 10}), set searcher.max_time with time_metric "
            "batches or epochs, or write a script that calls Trainer.fit(max_length=...)"
        )
    unit = config.get("scheduling_unit") or DEFAULT_REPORTING_BATCHES
    return {
        "max_length": length,
        "checkpoint_period": unit_of(config.get("min_checkpoint_period")),
        "validation_period": unit_of(config.get("min_validation_period")),
        "reporting_period": Batch(int(unit)),
        "checkpoint_policy": config.get("checkpoint_policy") or "best",
        "step_zero_validation": bool(config.get("perform_initial_validation", False)),
        "profiling_enabled": bool((config.get("profiling") or {}).get("enabled", False)),
    }

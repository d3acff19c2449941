"""What an experiment's configuration says about the training of a trial class.

A script gives `Trainer.fit` its periods itself; a class that is started as `module:Class` has
nobody to do so but the configuration.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional

from determined.pytorch._training.checkpoint_policy import SearchGoal
from determined.pytorch._units import Batch, TrainUnit, unit_of

DEFAULT_REPORTING_BATCHES = 100
POLICIES = ("best", "all", "none")


class FitPlan(NamedTuple):
    """The arguments of `Trainer.fit`, checked, with what the surroundings add."""

    max_length: TrainUnit
    reporting_period: TrainUnit
    checkpoint_period: Optional[TrainUnit]
    """None: only where the policy wants one, and at the end."""
    validation_period: Optional[TrainUnit]
    """None: only at the end."""
    checkpoint_policy: str
    """After which validations a checkpoint is saved: the best, all, or none."""
    latest_checkpoint: Optional[str]
    step_zero_validation: bool
    test_mode: bool
    profiling_enabled: bool
    goal: SearchGoal


def length_of(config: Optional[Mapping[str, Any]]) -> Optional[TrainUnit]:
    """How long a trial trains by its configuration; None when that does not say.

    `searcher.max_length`, else `searcher.max_time` where the search counts its time in batches
    or epochs: it stops every trial there.
    """
    searcher = (config or {}).get("searcher") or {}
    length = unit_of(searcher.get("max_length"), searcher.get("unit"))
    if length is None and searcher.get("time_metric") in ("batches", "epochs"):
        length = unit_of(searcher.get("max_time"), searcher["time_metric"])
    return length


def fit_arguments(config: Mapping[str, Any]) -> Dict[str, Any]:
    """Arguments of `Trainer.fit` for a trial class, from the merged configuration.

    Raises:
        ValueError: the configuration does not say how long to train.
    """
    length = length_of(config)
    if length is None:
        raise ValueError(
            "a trial class trains for as long as searcher.max_length says, and the configuration "
            "has none: set it (such as {epochs: 10}), set searcher.max_time with time_metric "
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

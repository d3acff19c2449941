"""What an experiment's configuration says about the training of a trial class.

A script gives `Trainer.fit` its periods itself; a class that is started as `module:Class` has
nobody to do so but the configuration.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional

from determined.pytorch._units import Batch, TrainUnit, unit_of

DEFAULT_REPORTING_BATCHES = 100


class SearchGoal(NamedTuple):
    """What the search looks at."""

    metric: Optional[str]
    """Name of a validation metric; None where there is no search."""
    smaller_is_better: bool

    def is_better(self, value: float, than: float) -> bool:
        """Whether a value is as good as another, or better; NaN never is."""
        return value <= than if self.smaller_is_better else value >= than


def goal_of(config: Optional[Mapping[str, Any]]) -> SearchGoal:
    """The searcher's metric in a configuration."""
    searcher = (config or {}).get("searcher") or {}
    return SearchGoal(searcher.get("metric"), bool(searcher.get("smaller_is_better", True)))


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

"""What one call of `Trainer.fit` is to do."""

from __future__ import annotations

from typing import NamedTuple, Optional

from determined.pytorch._configured import SearchGoal
from determined.pytorch._units import TrainUnit

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

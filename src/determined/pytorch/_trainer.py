"""Training a PyTorch trial from a script."""

from __future__ import annotations

import logging
import warnings
from typing import Optional

from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._training.checkpoint_policy import goal_of
from determined.pytorch._training.controller import _PyTorchTrialController
from determined.pytorch._training.plan import POLICIES, FitPlan, length_of
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._units import Batch, TrainUnit

logger = logging.getLogger("determined.pytorch")


class Trainer:
    """Trains a trial, on a cluster or off it.

    Args:
        trial: the trial.
        context: the one it was built with.
    """

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        self._trial = trial
        self._context = context
        self._profiles = False

    def configure_profiler(
        self,
        sync_timings: bool = True,
        enabled: bool = False,
        begin_on_batch: int = 0,
        end_after_batch: Optional[int] = None,
    ) -> None:
        """Deprecated: pass `profiling_enabled` to `fit`. Only `enabled` has an effect."""
        warnings.warn(
            "Trainer.configure_profiler is deprecated: call Trainer.fit(profiling_enabled=True)",
            FutureWarning,
            stacklevel=2,
        )
        self._profiles = enabled

    def fit(
        self,
        checkpoint_period: Optional[TrainUnit] = None,
        validation_period: Optional[TrainUnit] = None,
        max_length: Optional[TrainUnit] = None,
        reporting_period: TrainUnit = Batch(100),  # noqa: B008  # as published; never changed
        checkpoint_policy: str = "best",
        latest_checkpoint: Optional[str] = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> None:
        """Train until `max_length`, or until search or scheduler want the trial to leave.

        At the end, and before leaving, a checkpoint is saved.

        Args:
            checkpoint_period: when to save in between.
            validation_period: when to validate; at the end in any case.
            max_length: how long to train, counted from the trial's first run; by default as
                the experiment's `searcher.max_length` says.
            reporting_period: when to report metrics of training.
            checkpoint_policy: after which validations to save: "best", "all" or "none".
            latest_checkpoint: where to go on; on a cluster that of the trial is the default.
            step_zero_validation: whether to validate before the first batch.
            test_mode: train and validate one batch only; off a cluster.
            profiling_enabled: whether to report what the machine does meanwhile.

        Raises:
            ValueError: an argument, or what the trial returns, cannot be used.
        """
        config = self._context.get_experiment_config()
        managed = self._context._managed_training
        if checkpoint_policy not in POLICIES:
            raise ValueError(
                f"checkpoint_policy is one of {', '.join(POLICIES)}; got {checkpoint_policy!r}"
            )
        if test_mode and managed:
            raise ValueError("test_mode is for trying a trial off a cluster")
        length = max_length or length_of(config) or (Batch(1) if test_mode else None)
        if length is None:
            raise ValueError("fit needs max_length, such as pytorch.Epoch(10)")
        info = self._context._core.info
        if managed and latest_checkpoint is None and info is not None:
            latest_checkpoint = info.latest_checkpoint
        plan = FitPlan(
            max_length=length,
            reporting_period=reporting_period,
            checkpoint_period=checkpoint_period,
            validation_period=validation_period,
            checkpoint_policy=checkpoint_policy,
            latest_checkpoint=latest_checkpoint,
            step_zero_validation=step_zero_validation,
            test_mode=test_mode,
            profiling_enabled=profiling_enabled or self._profiles,
            goal=goal_of(config),
        )
        _PyTorchTrialController(self._trial, self._context, plan).run()

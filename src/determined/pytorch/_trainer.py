"""The trainer, which runs a PyTorch trial."""

from __future__ import annotations

import abc
import warnings
from typing import Any, Optional

from determined.pytorch._base_context import BaseTrialContext
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._training.checkpoint_policy import goal_of
from determined.pytorch._training.controller import _PyTorchTrialController
from determined.pytorch._training.loop import TrainingLoop
from determined.pytorch._training.plan import POLICIES, FitPlan, length_of
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._units import Batch, TrainUnit


class BaseTrainer(abc.ABC):
    """Trains a trial of PyTorch or DeepSpeed."""

    _profiles = False

    def __init__(self, trial: Any, context: BaseTrialContext) -> None:
        self._trial = trial
        self._context = context

    def fit(
        self,
        checkpoint_period: Optional[TrainUnit] = None,
        validation_period: Optional[TrainUnit] = None,
        max_length: Optional[TrainUnit] = None,
        reporting_period: TrainUnit = Batch(100),  # noqa: B008  # the published default; never modified
        checkpoint_policy: str = "best",
        latest_checkpoint: Optional[str] = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> None:
        """Train until `max_length`, or until the search or the scheduler stops the trial.

        A checkpoint is saved at the end and before a stop.

        Args:
            checkpoint_period: how often to save a checkpoint.
            validation_period: how often to validate; the end is always validated.
            max_length: the training length from the trial's first run on; by default
                `searcher.max_length` of the experiment.
            reporting_period: how often to report training metrics.
            checkpoint_policy: after which validations to save: "best", "all" or "none".
            latest_checkpoint: the checkpoint to resume from; on a cluster the trial's by default.
            step_zero_validation: whether to validate before the first batch.
            test_mode: train and validate one batch only; not on a cluster.
            profiling_enabled: whether to report system metrics.

        Raises:
            ValueError: an argument, or a value that the trial returns, is invalid.
        """
        config = self._context.get_experiment_config()
        managed = self._context._managed_training
        if checkpoint_policy not in POLICIES:
            raise ValueError(
                f"checkpoint_policy must be one of {', '.join(POLICIES)}; "
                f"got {checkpoint_policy!r}"
            )
        if test_mode and managed:
            raise ValueError("test_mode cannot be used on a cluster")
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
        self._loop(plan).run()

    @abc.abstractmethod
    def _loop(self, plan: FitPlan) -> TrainingLoop:
        """The loop that trains the trial by a plan."""


class Trainer(BaseTrainer):
    """Trains a PyTorchTrial, on or off a cluster.

    Args:
        trial: the trial.
        context: the context that the trial was built with.
    """

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        super().__init__(trial, context)

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

    def _loop(self, plan: FitPlan) -> TrainingLoop:
        assert isinstance(self._context, PyTorchTrialContext)
        return _PyTorchTrialController(self._trial, self._context, plan)

"""The trainer, which runs a DeepSpeed trial."""

from __future__ import annotations

from determined.pytorch._trainer import BaseTrainer
from determined.pytorch._training.loop import TrainingLoop
from determined.pytorch._training.plan import FitPlan
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._controller import DeepSpeedTrialController
from determined.pytorch.deepspeed._trial import DeepSpeedTrial


class Trainer(BaseTrainer):
    """Trains a DeepSpeedTrial, on or off a cluster.

    Args:
        trial: the trial.
        context: the context that the trial was built with.
    """

    def __init__(self, trial: DeepSpeedTrial, context: DeepSpeedTrialContext) -> None:
        super().__init__(trial, context)

    def _loop(self, plan: FitPlan) -> TrainingLoop:
        assert isinstance(self._context, DeepSpeedTrialContext)
        return DeepSpeedTrialController(self._trial, self._context, plan)

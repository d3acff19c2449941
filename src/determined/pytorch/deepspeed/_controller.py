"""The training loop of a DeepSpeed trial."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

from determined.pytorch import _values
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._torch import torch
from determined.pytorch._training import loading
from determined.pytorch._training.loop import TrainingLoop
from determined.pytorch._training.plan import FitPlan
from determined.pytorch.deepspeed._checkpoint import EngineCheckpointer
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._validation import EngineValidation

_ANY_LOADER = "context.disable_dataset_reproducibility_checks()"


class DeepSpeedTrialController(TrainingLoop):
    """Trains a DeepSpeed trial: a batch is what an engine accumulates before a step.

    Raises:
        ValueError: the trial has wrapped no engine.
    """

    _context: DeepSpeedTrialContext

    def __init__(self, trial: Any, context: DeepSpeedTrialContext, plan: FitPlan) -> None:
        if not context.models:
            raise ValueError(
                f"{type(trial).__name__} has wrapped no engine: call context.wrap_model_engine in "
                "its __init__"
            )
        named: Dict[str, PyTorchCallback] = dict(trial.build_callbacks())
        super().__init__(context, plan, named)
        self._trial = trial
        mpu = context._mpu
        self._reports_own = mpu.should_report_metrics
        self._share = loading.Share(mpu.data_parallel_world_size, mpu.data_parallel_rank)
        validating = None
        self._loader = None
        if mpu.should_build_data_loader:
            self._loader = self._checked(trial.build_training_data_loader(), "training")
            validating = self._checked(trial.build_validation_data_loader(), "validation")
        self._validation = EngineValidation(
            trial, context, self._callbacks, validating, plan.test_mode
        )
        self._checkpointer = EngineCheckpointer(context, named, trial)
        self._set_length(self._own_batches(), context.models[0].train_batch_size())

    def _train_one(self, batches: Optional[Iterator[Any]], epoch: int, batch: int) -> Any:
        outputs: List[Dict[str, Any]] = []
        for _ in range(self._context._calls_per_batch):
            metrics = self._trial.train_batch(batches, epoch, batch)
            if not self._reports_own:
                continue
            if isinstance(metrics, torch.Tensor):
                metrics = {"loss": metrics}
            if not isinstance(metrics, dict):
                raise TypeError(
                    "train_batch must return the loss as a tensor or a dict of metrics, got "
                    f"{type(metrics).__name__}"
                )
            outputs.append(_values.detached(metrics))
        return _values.mean_of_micro_batches(outputs)

    def _batches(self) -> Optional[Iterator[Any]]:
        skip = self._at.batches * self._context.num_micro_batches_per_slot
        return loading.endless(self._loader, self._share, skip)

    def _own_batches(self) -> int:
        """Batches of an epoch on this rank: those that it has all micro batches of, at least one.

        Raises:
            ValueError: there is no data.
        """
        if self._loader is None:
            return 0
        micro_batches = len(loading.share_of(self._loader, self._share))
        return micro_batches and max(1, micro_batches // self._context.num_micro_batches_per_slot)

    def _checked(self, loader: Any, name: str) -> Any:
        remedy = _ANY_LOADER if self._context._checks_loaders else ""
        return loading.checked(loader, name, self._context.get_trial_seed(), remedy)

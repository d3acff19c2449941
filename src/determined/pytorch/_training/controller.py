"""The training loop of a PyTorch trial."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, Optional

from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._lr_scheduler import step_counts
from determined.pytorch._torch import torch
from determined.pytorch._training import loading
from determined.pytorch._training.loop import TrainingLoop
from determined.pytorch._training.model_states import ModelCheckpointer
from determined.pytorch._training.plan import FitPlan
from determined.pytorch._training.validation import Validation, autocast
from determined.pytorch._trial import PyTorchTrial

_ANY_LOADER = "context.experimental.disable_dataset_reproducibility_checks()"


class _PyTorchTrialController(TrainingLoop):
    """Trains a PyTorch trial: its gradients, mixed precision and learning rates."""

    _context: PyTorchTrialContext

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext, plan: FitPlan) -> None:
        named: Dict[str, PyTorchCallback] = dict(trial.build_callbacks())
        super().__init__(context, plan, named)
        self._trial = trial
        self._share = loading.Share(context.distributed.size, context.distributed.rank)
        self._loader = self._checked(trial.build_training_data_loader(), "training")
        validating = self._checked(trial.build_validation_data_loader(), "validation")
        self._validation = Validation(trial, context, self._callbacks, validating, plan.test_mode)
        self._checkpointer = ModelCheckpointer(context, named, type(trial))
        length = len(loading.share_of(self._loader, self._share))
        self._set_length(length, self._batch_records())

    def _train_one(self, batches: Optional[Iterator[Any]], epoch: int, batch: int) -> Any:
        context = self._context
        data = next(batches) if batches is not None else None
        if context.experimental._auto_to_device:
            data = context.to_device(data)
        with self._gradient_exchange(), autocast(context):
            metrics = self._trial.train_batch(data, epoch, batch)
        if isinstance(metrics, torch.Tensor):
            metrics = {"loss": metrics}
        if not isinstance(metrics, dict):
            raise TypeError(
                "train_batch must return the loss as a tensor or a dict of metrics, got "
                f"{type(metrics).__name__}"
            )
        if context.experimental._auto_amp and context._ends_aggregation():
            context._scaler.update()
        at = step_counts(batch + 1, self._units.epoch_batches, context._aggregation_frequency)
        for scheduler in context.lr_schedulers:
            if scheduler._is_due(at):
                scheduler.step()
        return metrics

    def _is_step(self) -> bool:
        return self._at.batches % self._context._aggregation_frequency == 0

    def _batches(self) -> Optional[Iterator[Any]]:
        return loading.endless(self._loader, self._share, self._at.batches)

    @contextlib.contextmanager
    def _gradient_exchange(self) -> Iterator[None]:
        """Let ranks exchange gradients only in the last batch of an aggregation."""
        with contextlib.ExitStack() as stack:
            if not self._context._ends_aggregation():
                for model in self._context.models:
                    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
                        stack.enter_context(model.no_sync())
            yield

    def _checked(self, loader: Any, name: str) -> Any:
        remedy = _ANY_LOADER if self._context.experimental._reproducible else ""
        return loading.checked(loader, name, self._context.get_trial_seed(), remedy)

    def _batch_records(self) -> Any:
        if "global_batch_size" in self._context.get_hparams():
            return self._context.get_global_batch_size()
        size = getattr(self._loader, "batch_size", None)
        return size and size * self._context.distributed.size

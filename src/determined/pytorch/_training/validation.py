"""The validation of a trial on all ranks."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Sequence

from determined import util
from determined.pytorch import _values
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._reducers import reduce_batches, reduce_ranks
from determined.pytorch._torch import torch
from determined.pytorch._training import rng
from determined.pytorch._training.loading import Share, share_of
from determined.pytorch._trial import evaluates_batches


class Validation:
    """Validates a trial.

    Models are in evaluation mode during a validation, and random states are restored after it. The
    training is thus the same however often it is validated.

    Args:
        trial: the PyTorchTrial to evaluate.
        context: its PyTorchTrialContext.
        callbacks: the callbacks to call.
        loader: the trial's validation data loader.
        is_short: whether to evaluate one batch only.
    """

    def __init__(
        self,
        trial: Any,
        context: Any,
        callbacks: Sequence[PyTorchCallback],
        loader: Any,
        is_short: bool = False,
    ) -> None:
        self._trial = trial
        self._context = context
        self._callbacks = callbacks
        self._loader = loader
        self._is_short = is_short
        self._by_batch = evaluates_batches(trial)

    def run(self) -> Dict[str, Any]:
        """Run one validation; return the metrics on every rank.

        Raises:
            ValueError: there is no data, or batches or ranks differ in their metrics.
        """
        dist = self._context.distributed
        with contextlib.ExitStack() as stack:
            stack.enter_context(rng.preserved())
            stack.enter_context(_evaluating(self._context.models))
            stack.enter_context(torch.no_grad())
            for callback in self._callbacks:
                callback.on_validation_start()
            self._context.reset_reducers(for_training=False)
            metrics = self._batch_by_batch() if self._by_batch else self._at_once()
            metrics = {**metrics, **self._context.reduce_metrics(for_training=False)}
            shared: Dict[str, Any] = dist.broadcast(_values.plain(metrics))
            for callback in self._callbacks:
                callback.on_validation_end(shared)
        return shared

    def _batch_by_batch(self) -> Dict[str, Any]:
        for callback in self._callbacks:
            callback.on_validation_epoch_start()
        dist = self._context.distributed
        outputs = self._outputs()
        for callback in self._callbacks:
            callback.on_validation_epoch_end(outputs)
        parts = dist.gather(reduce_batches(outputs, self._trial.evaluation_reducer()))
        any_batches = any(dist.allgather(len(outputs) > 0))
        if not any_batches:
            raise ValueError("the validation data loader returned no batches")
        return reduce_ranks(parts) if parts is not None else {}

    def _outputs(self) -> List[Dict[str, Any]]:
        """The metrics of each batch of this rank."""
        outputs: List[Dict[str, Any]] = []
        with_index = util.has_param(self._trial.evaluate_batch, "batch_idx", 1)
        own = Share(self._context.distributed.size, self._context.distributed.rank)
        for index, batch in enumerate(share_of(self._loader, own)):
            if self._context.experimental._auto_to_device:
                batch = self._context.to_device(batch)
            with autocast(self._context):
                output: Any = (
                    self._trial.evaluate_batch(batch, index)
                    if with_index
                    else self._trial.evaluate_batch(batch)
                )
            outputs.append(_values.detached(checked_metrics(output, "evaluate_batch")))
            if self._is_short:
                break
        return outputs

    def _at_once(self) -> Dict[str, Any]:
        if self._context.distributed.rank > 0:
            return {}
        with autocast(self._context):
            metrics = self._trial.evaluate_full_dataset(share_of(self._loader, Share(1, 0)))
        return checked_metrics(metrics, "evaluate_full_dataset")


def checked_metrics(metrics: Any, method: str) -> Dict[str, Any]:
    """The metrics that a method of a trial returned.

    Raises:
        TypeError: they are no dict.
    """
    if not isinstance(metrics, dict):
        raise TypeError(f"{method} must return a dict of metrics, got {type(metrics).__name__}")
    return metrics


def autocast(context: PyTorchTrialContext) -> Any:
    """The mixed-precision context, if the trial uses it."""
    if context.experimental._auto_amp:
        return torch.autocast(context.device.type)
    return contextlib.nullcontext()


@contextlib.contextmanager
def _evaluating(models: Sequence[Any]) -> Iterator[None]:
    """Put models in evaluation mode, with the same buffers on all ranks.

    Ranks may run a model a different number of times in the block. They would deadlock if each
    forward pass broadcast the buffers, so broadcasting is disabled.
    """
    kind = torch.nn.parallel.DistributedDataParallel
    shared = [model for model in models if isinstance(model, kind)]
    exchanges = [model.broadcast_buffers for model in shared]
    were_training = [model.training for model in models]
    for model in shared:
        if model.broadcast_buffers:
            for buffer in model.module.buffers():
                torch.distributed.broadcast(buffer, 0)
        model.broadcast_buffers = False
    for model in models:
        model.eval()
    try:
        yield
    finally:
        for model, exchange in zip(shared, exchanges):
            model.broadcast_buffers = exchange
        for model, was_training in zip(models, were_training):
            model.train(was_training)

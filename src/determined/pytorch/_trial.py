"""The base class of PyTorch trials."""

from __future__ import annotations

import abc
from typing import Any, Dict, Union

from determined import util
from determined._trial_context import LegacyTrial
from determined.pytorch._batches import data_length
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._reducers import Reducer


class PyTorchTrial(LegacyTrial):
    """Defines a model, its data, and how to train one batch.

    A subclass implements `train_batch`, both `build_..._data_loader` methods and exactly one of
    `evaluate_batch` and `evaluate_full_dataset`. Its `__init__` takes a PyTorchTrialContext,
    builds models, optimizers and schedulers, and wraps them with the context.
    """

    trial_context_class = PyTorchTrialContext

    @abc.abstractmethod
    def __init__(self, context: PyTorchTrialContext) -> None:
        super().__init__(context)

    @abc.abstractmethod
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        """Train one batch: compute a loss, `context.backward`, `context.step_optimizer`.

        Args:
            batch: a batch of the data loader, on this rank's device.
            epoch_idx: the epoch, from 0.
            batch_idx: the batch, from 0, counted over all epochs.

        Returns:
            The loss as a tensor, or a dict of metrics.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """A `determined.pytorch.DataLoader` with the training data."""
        raise NotImplementedError

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """A `determined.pytorch.DataLoader` with the validation data."""
        raise NotImplementedError

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        """Callbacks by name. Keep the names stable, since their states are saved by name."""
        return {}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        """The metrics of one batch; every batch must return the same metrics."""
        raise NotImplementedError

    def evaluation_reducer(self) -> Union[Reducer, Dict[str, Reducer]]:
        """The reducer of the metrics of `evaluate_batch`: one for all, or a dict by name."""
        return Reducer.AVG

    def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
        """The metrics of all validation data, computed on rank 0; `data_loader` is torch's."""
        raise NotImplementedError

    def get_batch_length(self, batch: Any) -> int:
        """The number of records of a batch."""
        return data_length(batch)


def evaluates_batches(trial: LegacyTrial) -> bool:
    """Whether a trial implements `evaluate_batch`.

    Raises:
        ValueError: it implements both evaluation methods or none.
    """
    base = next(one for one in type(trial).__mro__ if LegacyTrial in one.__bases__)
    by_batch, at_once = (
        util.is_overridden(getattr(trial, name), base)
        for name in ("evaluate_batch", "evaluate_full_dataset")
    )
    if by_batch == at_once:
        raise ValueError(
            f"{type(trial).__name__} must implement exactly one of evaluate_batch and "
            f"evaluate_full_dataset; it implements {'both' if by_batch else 'none'}"
        )
    return by_batch

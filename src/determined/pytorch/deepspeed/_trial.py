"""The base class of DeepSpeed trials."""

from __future__ import annotations

import abc
import pathlib
from typing import Any, Dict, Iterator, Optional, Union

from determined._trial_context import LegacyTrial
from determined.pytorch._batches import data_length
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._reducers import Reducer
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._controller import DeepSpeedTrialController


class DeepSpeedTrial(LegacyTrial):
    """Defines a model, its data, and how to train one batch.

    A subclass implements `train_batch`, both `build_..._data_loader` methods and exactly one of
    `evaluate_batch` and `evaluate_full_dataset`. Its `__init__` takes a DeepSpeedTrialContext,
    calls `deepspeed.initialize`, and wraps the engines with `context.wrap_model_engine`.
    """

    trial_controller_class = DeepSpeedTrialController
    trial_context_class = DeepSpeedTrialContext

    @abc.abstractmethod
    def __init__(self, context: DeepSpeedTrialContext) -> None:
        super().__init__(context)

    @abc.abstractmethod
    def train_batch(
        self, dataloader_iter: Optional[Iterator[Any]], epoch_idx: int, batch_idx: int
    ) -> Any:
        """Train a micro batch of the iterator with `backward` and `step` of the engine.

        It is called for each micro batch of a batch. With a pipeline, or after
        `context.disable_auto_grad_accumulation()`, it is called once a batch.

        Args:
            dataloader_iter: the micro batches; None on a rank that reads no data.
            epoch_idx: the epoch, from 0.
            batch_idx: the batch, from 0, counted over all epochs.

        Returns:
            The loss as a tensor, or a dict of metrics; None on a rank that reports none.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """A `determined.pytorch.DataLoader` with the training data, in micro batches."""
        raise NotImplementedError

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """A `determined.pytorch.DataLoader` with the validation data, in micro batches."""
        raise NotImplementedError

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        """Callbacks by name. Keep the names stable, since their states are saved by name."""
        return {}

    def evaluate_batch(
        self, dataloader_iter: Optional[Iterator[Any]], batch_idx: int
    ) -> Dict[str, Any]:
        """The metrics of one micro batch; with a pipeline, those of a batch.

        Args:
            dataloader_iter: as in `train_batch`.
            batch_idx: the number of the call in this validation, from 0.
        """
        raise NotImplementedError

    def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
        """The metrics of all validation data; every rank calls, and the first result counts.

        `data_loader` is torch's; it is None on a rank that reads no data.
        """
        raise NotImplementedError

    def evaluation_reducer(self) -> Union[Reducer, Dict[str, Reducer]]:
        """The reducer of the metrics of `evaluate_batch`: one for all, or a dict by name."""
        return Reducer.AVG

    def save(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """Write the engines below `path`; every rank calls."""
        for index, engine in enumerate(context.models):
            engine.save_checkpoint(str(path), tag=_tag(index))

    def load(self, context: DeepSpeedTrialContext, load_path: pathlib.Path) -> None:
        """Load the engines that `save` wrote; every rank calls.

        Raises:
            ValueError: the checkpoint lacks an engine.
        """
        for index, engine in enumerate(context.models):
            if engine.load_checkpoint(str(load_path), tag=_tag(index))[0] is None:
                raise ValueError(f"the checkpoint has no engine {_tag(index)!r}")

    def get_batch_length(self, batch: Any) -> int:
        """The number of records of a batch."""
        return data_length(batch)


def _tag(index: int) -> str:
    return f"model{index}"

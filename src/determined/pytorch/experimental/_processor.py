"""The class that processes batches, and the context that it receives."""

from __future__ import annotations

import abc
import contextlib
import logging
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Set, Type

from determined.pytorch import _batches
from determined.pytorch._init import gpus_of
from determined.pytorch._reducers import _PyTorchReducerContext
from determined.pytorch._torch import torch

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.pytorch")


class TorchBatchProcessor(abc.ABC):
    """Processes the batches of a data set; `torch_batch_process` makes one object on each rank.

    A run that was preempted or killed continues with the batches after its last checkpoint. The
    batches between that checkpoint and a kill are processed again, so results must be stored in
    `on_checkpoint_start`, under names that a repetition replaces (such as one with `batch_idx`).
    """

    def __init__(self, context: TorchBatchProcessorContext) -> None:  # noqa: B027
        """Load the model; called once on each rank."""

    @abc.abstractmethod
    def process_batch(self, batch: Any, batch_idx: int) -> None:
        """Process a batch.

        Args:
            batch: the batch as the data loader yields it; to move it to the device, see
                `context.to_device`.
            batch_idx: the number of batches that this rank has processed before, in all runs.
        """

    def on_checkpoint_start(self) -> None:  # noqa: B027
        """Store results. Afterwards the batches processed so far are never processed again."""

    def on_finish(self) -> None:  # noqa: B027
        """Called after the last batch and the last checkpoint; not by a preempted run."""


class TorchBatchProcessorContext(_PyTorchReducerContext):
    """What a processor uses of its trial.

    Args:
        core_context: the Core API context of this rank.
        storage_path: the directory in the checkpoint storage for `upload_path`.
    """

    def __init__(self, core_context: core.Context, storage_path: str) -> None:
        super().__init__()
        self._core = core_context
        self._storage_path = storage_path
        self._warned_types: Set[Type[Any]] = set()
        self._earlier_values: List[List[Any]] = []
        """For each reducer, the values of the runs before this one."""
        self.device = get_default_device(core_context)

    def get_hparams(self) -> Dict[str, Any]:
        """The trial's hyperparameters; empty off the cluster."""
        info = self._core.info
        return info.trial.hparams if info is not None and info.task_type == "TRIAL" else {}

    def to_device(self, data: Any, warned_types: Optional[Set[Type[Any]]] = None) -> Any:
        """A batch with its tensors on this rank's device.

        Args:
            warned_types: types already warned about; this adds to it.
        """
        types = self._warned_types if warned_types is None else warned_types
        return _batches.to_device(data, self.device, types)

    def get_tensorboard_path(self) -> pathlib.Path:
        """The directory for TensorBoard files."""
        return self._core.train.get_tensorboard_path()

    def prepare_model_for_inference(self, model: torch.nn.Module) -> torch.nn.Module:
        """The model in evaluation mode, on this rank's device."""
        return model.eval().to(self.device)

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """Yield an empty directory; when the block ends, its files are stored.

        All ranks store into one directory of the checkpoint storage, whose name is logged at the
        start. A file of the same name is replaced, so a name needs the rank. If the block raises,
        nothing is stored.
        """
        with tempfile.TemporaryDirectory(prefix="determined-output-") as folder:
            yield pathlib.Path(folder)
            self._core.checkpoint._storage_manager.upload(folder, self._storage_path)

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Report metrics; as `core_context.train.report_metrics`."""
        self._core.train.report_metrics(group, steps_completed, metrics)

    def report_task_using_model_version(self, model_version: Any) -> None:
        """Report that this trial uses a version of a registered model."""
        self._core.experimental.report_task_using_model_version(model_version)

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Report that this trial uses a checkpoint."""
        self._core.experimental.report_task_using_checkpoint(checkpoint)

    def get_distributed_rank(self) -> int:
        """This process's rank."""
        return self._core.distributed.rank

    def get_distributed_size(self) -> int:
        """The number of ranks."""
        return self._core.distributed.size

    def _collected(self, for_training: Optional[bool]) -> List[List[Any]]:
        parts = super()._collected(for_training)
        if not self._earlier_values or not parts:
            return parts
        if len(parts) != len(self._earlier_values):
            raise ValueError(
                f"the run before wrapped {len(self._earlier_values)} reducers and this one wraps "
                f"{len(parts)}: start a new experiment, or wrap the same reducers"
            )
        return [earlier + part for earlier, part in zip(self._earlier_values, parts)]

    def _gather(self, value: Any) -> Optional[List[Any]]:
        return self._core.distributed.gather(value)


def get_default_device(core_context: core.Context) -> torch.device:
    """The device of this rank: one of the slots' GPUs, or the CPU without GPUs."""
    return _batches.device_of(gpus_of(core_context.info), core_context.distributed.local_rank)

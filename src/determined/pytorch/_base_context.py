"""What the contexts of trials of PyTorch and of DeepSpeed share."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple, Type

from determined import util
from determined.pytorch import _batches
from determined.pytorch._reducers import _PyTorchReducerContext
from determined.pytorch._torch import torch

if TYPE_CHECKING:
    from determined import core


class BaseTrialContext(_PyTorchReducerContext):
    """The trial, its device, its place in the training, and its TensorBoard files."""

    def __init__(
        self,
        core_context: core.Context,
        trial_seed: Optional[int],
        hparams: Optional[Dict[str, Any]],
        slots_per_trial: int,
        num_gpus: int,
        exp_conf: Optional[Dict[str, Any]],
        steps_completed: int,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        super().__init__()
        self._core = core_context
        self.distributed = core_context.distributed
        self._trial_seed = 0 if trial_seed is None else trial_seed
        self._hparams = hparams or {}
        self._slots_per_trial = slots_per_trial
        self._num_gpus = num_gpus
        self._exp_conf = exp_conf or {}
        self._steps_completed = steps_completed
        self._managed_training = False  # the subclass knows
        self._enable_tensorboard_logging = enable_tensorboard_logging
        self.device = self._init_device()
        self.models: List[Any] = []
        self.profiler: Any = None
        self._current_batch: Optional[int] = None
        self._stop_requested = False
        self._epoch_len: Optional[int] = None
        self._tbd_writer: Any = None
        self._warned_types: Set[Type[Any]] = set()

    def get_global_batch_size(self) -> int:
        """Records of a batch over all ranks: `global_batch_size` rounded down to equal shares.

        Raises:
            ValueError: the hyperparameter is missing or smaller than the number of ranks.
        """
        _, total = self._batch_sizes()
        return total

    def get_per_slot_batch_size(self) -> int:
        """Records of a batch on one rank; errors as `get_global_batch_size`."""
        own, _ = self._batch_sizes()
        return own

    def get_experiment_config(self) -> Dict[str, Any]:
        """The merged configuration; off the cluster the one passed to `init`, or empty."""
        return self._exp_conf

    def get_data_config(self) -> Dict[str, Any]:
        """The configuration's `data`."""
        return dict(self._exp_conf.get("data") or {})

    def get_hparams(self) -> Dict[str, Any]:
        """This trial's hyperparameters."""
        return self._hparams

    def get_hparam(self, name: str) -> Any:
        """One hyperparameter.

        Raises:
            ValueError: it does not exist.
        """
        if name not in self._hparams:
            raise ValueError(
                f"there is no hyperparameter {name!r}; this trial has "
                f"{', '.join(sorted(self._hparams)) or 'none'}"
            )
        return self._hparams[name]

    def get_experiment_id(self) -> int:
        """The id of the experiment; 0 off the cluster."""
        return self._core.info.trial.experiment_id if self._core.info else 0

    def get_trial_id(self) -> int:
        """The id of the trial; 0 off the cluster."""
        return self._core.info.trial.trial_id if self._core.info else 0

    def get_trial_seed(self) -> int:
        """The seed of this trial's random generators."""
        return self._trial_seed

    def get_initial_batch(self) -> int:
        """Batches trained before this run."""
        return self._steps_completed

    def get_stop_requested(self) -> bool:
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Request to stop after this batch, with a checkpoint; any rank may call it."""
        if not isinstance(stop_requested, bool):
            raise TypeError(f"stop_requested must be a bool, got {stop_requested!r}")
        self._stop_requested = stop_requested

    def is_epoch_start(self) -> bool:
        """Whether the current batch is the first of an epoch."""
        return self.current_train_batch() % self._epoch_length() == 0

    def is_epoch_end(self) -> bool:
        """Whether the current batch is the last of an epoch."""
        return (self.current_train_batch() + 1) % self._epoch_length() == 0

    def current_train_epoch(self) -> int:
        """The current epoch, from 0."""
        return self.current_train_batch() // self._epoch_length()

    def current_train_batch(self) -> int:
        """The current batch, from 0, counted over all epochs.

        Raises:
            RuntimeError: training has not started.
        """
        if self._current_batch is None:
            raise RuntimeError("training has not started: there is no current batch")
        return self._current_batch

    def to_device(self, data: Any) -> Any:
        """A batch with its tensors on this rank's device."""
        return _batches.to_device(data, self.device, self._warned_types)

    def set_profiler(self, *args: Any, **kwargs: Any) -> None:
        """Profile training with `torch.profiler.profile` and write traces for TensorBoard.

        Takes the arguments of that function; `on_trace_ready` has a default.
        """
        path = str(self.get_tensorboard_path())
        kwargs.setdefault("on_trace_ready", torch.profiler.tensorboard_trace_handler(path))
        self.profiler = torch.profiler.profile(*args, **kwargs)

    def get_tensorboard_path(self) -> pathlib.Path:
        """The directory for TensorBoard files."""
        return self._core.train.get_tensorboard_path()

    def get_tensorboard_writer(self) -> Any:
        """A `torch.utils.tensorboard.SummaryWriter` of this trial, created by the first call.

        Raises:
            ImportError: the package tensorboard is not installed.
        """
        if self._tbd_writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._tbd_writer = SummaryWriter(log_dir=str(self.get_tensorboard_path()))
        return self._tbd_writer

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        """Set whether reported metrics are also written for TensorBoard."""
        if not isinstance(enable_tensorboard_logging, bool):
            raise TypeError(
                f"enable_tensorboard_logging must be a bool, got {enable_tensorboard_logging!r}"
            )
        self._enable_tensorboard_logging = enable_tensorboard_logging
        self._core.train._writes_events = enable_tensorboard_logging

    def get_enable_tensorboard_logging(self) -> bool:
        """Whether reported metrics are also written for TensorBoard."""
        return self._enable_tensorboard_logging

    def _batch_sizes(self) -> Tuple[int, int]:
        return util.calculate_batch_sizes(self._hparams, self._slots_per_trial, "the trial")

    def _epoch_length(self) -> int:
        if self._epoch_len is None:
            raise RuntimeError("training has not started: the length of an epoch is not known")
        return self._epoch_len

    def _init_device(self) -> torch.device:
        return _batches.device_of(self._num_gpus, self.distributed.local_rank)

    def _gather(self, value: Any) -> Optional[List[Any]]:
        return self.distributed.gather(value)

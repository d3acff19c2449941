"""The context of a PyTorch trial."""

from __future__ import annotations

import logging
import pathlib
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple, Type

from determined import util
from determined.pytorch import _batches
from determined.pytorch._experimental import PyTorchExperimentalContext
from determined.pytorch._gradients import GradientContext
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._reducers import _PyTorchReducerContext
from determined.pytorch._torch import torch

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.pytorch")


class PyTorchTrialContext(GradientContext, _PyTorchReducerContext):
    """The context of a trial, created by `determined.pytorch.init()`.

    Wrapped models, optimizers and learning rate schedulers use this rank's device, stay in sync on
    all ranks, and are saved in checkpoints.
    """

    def __init__(
        self,
        core_context: core.Context,
        trial_seed: Optional[int],
        hparams: Optional[Dict[str, Any]],
        slots_per_trial: int,
        num_gpus: int,
        exp_conf: Optional[Dict[str, Any]],
        aggregation_frequency: int,
        steps_completed: int,
        managed_training: bool,
        debug_enabled: bool,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        optimizations = (exp_conf or {}).get("optimizations") or {}
        averaged = optimizations.get("average_aggregated_gradients", True)
        GradientContext.__init__(self, aggregation_frequency, bool(averaged))
        _PyTorchReducerContext.__init__(self)
        self._core = core_context
        self.distributed = core_context.distributed
        self._trial_seed = 0 if trial_seed is None else trial_seed
        self._hparams = hparams or {}
        self._slots_per_trial = slots_per_trial
        self._num_gpus = num_gpus
        self._exp_conf = exp_conf or {}
        self._steps_completed = steps_completed
        self._managed_training = managed_training
        self._debug_enabled = debug_enabled
        self._enable_tensorboard_logging = enable_tensorboard_logging
        self.device = self._init_device()
        self.models: List[torch.nn.Module] = []
        self.optimizers: List[torch.optim.Optimizer] = []
        self.profiler: Any = None
        self.lr_schedulers: List[LRScheduler] = []
        self.experimental = PyTorchExperimentalContext(self)
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

    def wrap_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """Move a model to this rank's device and keep it in sync; use the returned model."""
        model = model.to(self.device)
        distributed = torch.nn.parallel.DistributedDataParallel
        is_trained = any(parameter.requires_grad for parameter in model.parameters())
        if self.distributed.size > 1 and is_trained and not isinstance(model, distributed):
            ids = [self.device] if self.device.type == "cuda" else None
            model = distributed(model, device_ids=ids)
        self.models.append(model)
        return model

    def wrap_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        backward_passes_per_step: int = 1,
        fp16_compression: Optional[bool] = None,
        average_aggregated_gradients: Optional[bool] = None,
    ) -> torch.optim.Optimizer:
        """Register an optimizer to be saved and resumed; use the returned optimizer.

        Args:
            optimizer: an optimizer of parameters of wrapped models.
            backward_passes_per_step: ignored.
            fp16_compression: ignored; gradients are never compressed.
            average_aggregated_gradients: divide gradients aggregated over several batches by the
                number of batches.
        """
        if fp16_compression:
            logger.warning("fp16_compression has no effect: gradients are never compressed")
        if average_aggregated_gradients is not None:
            self._average_aggregated_gradients = average_aggregated_gradients
        self.optimizers.append(optimizer)
        return optimizer

    def wrap_lr_scheduler(
        self, lr_scheduler: Any, step_mode: LRScheduler.StepMode, frequency: int = 1
    ) -> Any:
        """Register a learning rate scheduler to be stepped, saved and resumed.

        Raises:
            ValueError: its optimizer is not wrapped, or `frequency` is below 1.
        """
        optimizer = getattr(lr_scheduler, "optimizer", None)
        if optimizer is not None and not any(optimizer is known for known in self.optimizers):
            raise ValueError(
                "the scheduler's optimizer is not wrapped: pass it the optimizer that "
                "context.wrap_optimizer returns"
            )
        self.lr_schedulers.append(LRScheduler(lr_scheduler, step_mode, frequency))
        return lr_scheduler

    def wrap_scaler(self, scaler: Any) -> Any:
        """Register a loss scaler (`torch.amp.GradScaler`) to be saved and resumed.

        Raises:
            RuntimeError: a scaler is already wrapped.
        """
        if self._scaler is not None:
            raise RuntimeError("a trial can have only one loss scaler, and one is already wrapped")
        self._scaler = scaler
        return scaler

    def autocast_forward_pass(self, to_wrap: torch.nn.Module) -> torch.nn.Module:
        """Run a model's forward pass in mixed precision on a GPU; use the returned model."""
        if self.device.type == "cuda":
            to_wrap.forward = torch.autocast(self.device.type)(to_wrap.forward)
        return to_wrap

    def configure_apex_amp(self, models: Any, optimizers: Any, **_: Any) -> Any:
        """Raise RuntimeError: Apex is not supported."""
        raise RuntimeError(
            "Apex is not supported: use context.experimental.use_amp(), or torch.autocast with "
            "context.wrap_scaler"
        )

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

    def _is_amp(self) -> bool:
        return self.experimental._auto_amp

    def _gather(self, value: Any) -> Optional[List[Any]]:
        return self.distributed.gather(value)


def unwrap_model(model: torch.nn.Module) -> torch.nn.Module:
    """The model inside a DistributedDataParallel wrapper, if it has one."""
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        return model.module
    return model

"""The context of a PyTorch trial."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from determined.pytorch._base_context import BaseTrialContext
from determined.pytorch._experimental import PyTorchExperimentalContext
from determined.pytorch._gradients import GradientContext
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._torch import torch

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.pytorch")


class PyTorchTrialContext(GradientContext, BaseTrialContext):
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
        BaseTrialContext.__init__(
            self,
            core_context,
            trial_seed,
            hparams,
            slots_per_trial,
            num_gpus,
            exp_conf,
            steps_completed,
            enable_tensorboard_logging,
        )
        self._managed_training = managed_training
        self._debug_enabled = debug_enabled
        self.models: List[torch.nn.Module] = []
        self.optimizers: List[torch.optim.Optimizer] = []
        self.lr_schedulers: List[LRScheduler] = []
        self.experimental = PyTorchExperimentalContext(self)

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

    def _is_amp(self) -> bool:
        return self.experimental._auto_amp


def unwrap_model(model: torch.nn.Module) -> torch.nn.Module:
    """The model inside a DistributedDataParallel wrapper, if it has one."""
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        return model.module
    return model

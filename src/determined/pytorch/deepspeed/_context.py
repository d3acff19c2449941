"""The context of a DeepSpeed trial."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from determined.pytorch._base_context import BaseTrialContext
from determined.pytorch.deepspeed._deepspeed import deepspeed
from determined.pytorch.deepspeed._mpu import (
    ModelParallelUnit,
    make_data_parallel_mpu,
    make_deepspeed_mpu,
)

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.pytorch")


class DeepSpeedTrialContext(BaseTrialContext):
    """The context of a trial, created by `determined.pytorch.deepspeed.init()`.

    Wrapped engines are trained and saved in checkpoints.
    """

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
        super().__init__(
            core_context,
            trial_seed,
            hparams,
            slots_per_trial,
            num_gpus,
            exp_conf,
            steps_completed,
            enable_tensorboard_logging,
        )
        info = core_context.info
        self._managed_training = info is not None and info.task_type == "TRIAL"
        self.models: List[deepspeed.DeepSpeedEngine] = []
        self._mpu = make_data_parallel_mpu(self.distributed)
        self._has_own_mpu = False
        self._use_pipeline_parallel = False
        self._accumulates_itself = False
        self._checks_loaders = True

    def set_mpu(self, mpu: ModelParallelUnit) -> None:
        """Set the role of this rank, for a model that is divided in another way than by DeepSpeed.

        By default each rank has the whole model. A pipeline engine brings its own roles.

        Raises:
            RuntimeError: an engine is wrapped already.
            ValueError: no rank would report metrics, or no rank would read data.
        """
        if self.models:
            raise RuntimeError("call context.set_mpu before context.wrap_model_engine")
        for name in ("should_report_metrics", "should_build_data_loader"):
            if not any(self.distributed.allgather(getattr(mpu, name))):
                raise ValueError(f"{name} is False on all ranks: set it on at least one")
        self._mpu = mpu
        self._has_own_mpu = True

    def wrap_model_engine(self, model: deepspeed.DeepSpeedEngine) -> deepspeed.DeepSpeedEngine:
        """Register an engine, which `deepspeed.initialize` returned; use the returned engine.

        Raises:
            TypeError: it is no engine.
        """
        if not isinstance(model, deepspeed.DeepSpeedEngine):
            raise TypeError(
                "wrap_model_engine takes the engine that deepspeed.initialize returns, got "
                f"{type(model).__name__}"
            )
        if isinstance(model, deepspeed.PipelineEngine):
            self._use_pipeline_parallel = True
            if not self._has_own_mpu:
                self._mpu = make_deepspeed_mpu(model.grid)
        self.models.append(model)
        first = self.models[0]
        if _sizes_of(model) != _sizes_of(first) and not self._accumulates_itself:
            logger.warning(
                "the engines differ in their micro batches: %s and %s; train_batch is called by "
                "those of the first, unless context.disable_auto_grad_accumulation() is called",
                _sizes_of(first),
                _sizes_of(model),
            )
        return model

    def disable_auto_grad_accumulation(self) -> None:
        """Call `train_batch` and `evaluate_batch` once a batch, not once a micro batch.

        `train_batch` must then train on all micro batches of a batch.
        """
        self._accumulates_itself = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Allow torch data loaders.

        The trial must then divide the data among the ranks itself, and a resumed run starts with
        the first batch of the data loader.
        """
        self._checks_loaders = False

    @property
    def use_pipeline_parallel(self) -> bool:
        """Whether a wrapped engine is a pipeline."""
        return self._use_pipeline_parallel

    def get_train_micro_batch_size_per_gpu(self) -> int:
        """Records of a micro batch, by the first engine.

        Raises:
            RuntimeError: no engine is wrapped.
        """
        return int(self._engine().train_micro_batch_size_per_gpu())

    @property
    def train_micro_batch_size_per_gpu(self) -> int:
        """As `get_train_micro_batch_size_per_gpu`."""
        return self.get_train_micro_batch_size_per_gpu()

    def get_num_micro_batches_per_slot(self) -> int:
        """Micro batches of a batch on one slot, by the first engine.

        Raises:
            RuntimeError: no engine is wrapped.
        """
        return int(self._engine().gradient_accumulation_steps())

    @property
    def num_micro_batches_per_slot(self) -> int:
        """As `get_num_micro_batches_per_slot`."""
        return self.get_num_micro_batches_per_slot()

    @property
    def _calls_per_batch(self) -> int:
        """How often `train_batch` is called for a batch."""
        if self._use_pipeline_parallel or self._accumulates_itself:
            return 1
        return self.get_num_micro_batches_per_slot()

    def _batch_sizes(self) -> Tuple[int, int]:
        """By the hyperparameter `global_batch_size`; without one by the first engine."""
        if "global_batch_size" in self._hparams or not self.models:
            return super()._batch_sizes()
        own = self.train_micro_batch_size_per_gpu * self.num_micro_batches_per_slot
        return own, int(self._engine().train_batch_size())

    def _engine(self) -> deepspeed.DeepSpeedEngine:
        if not self.models:
            raise RuntimeError(
                "no engine is wrapped yet: first call context.wrap_model_engine(engine)"
            )
        return self.models[0]


def _sizes_of(engine: deepspeed.DeepSpeedEngine) -> Tuple[int, int]:
    """Records of a micro batch, and micro batches of a batch."""
    return engine.train_micro_batch_size_per_gpu(), engine.gradient_accumulation_steps()

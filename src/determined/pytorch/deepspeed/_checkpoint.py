"""The checkpoints of a DeepSpeed trial.

Every rank writes its part of the engines, and `det_state_dict_rank<rank>.pth` with the states of
its callbacks, of the training loop and of its random generators.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._torch import torch
from determined.pytorch._training import rng
from determined.pytorch._training.checkpointing import Checkpointer, TrainingPosition
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._deepspeed import deepspeed


class EngineCheckpointer(Checkpointer):
    """Saves and restores the engines of a trial; all ranks write."""

    trial_type = "DeepSpeedTrial"
    _context: DeepSpeedTrialContext

    def __init__(
        self,
        context: DeepSpeedTrialContext,
        callbacks: Mapping[str, PyTorchCallback],
        trial: Any,
    ) -> None:
        super().__init__(context, callbacks, type(trial))
        self._trial = trial
        self._loaded_rng_state: Any = None

    def save(self, position: TrainingPosition) -> Optional[str]:
        is_chief = self._context.distributed.rank == 0
        metadata = self._metadata(position, f"deepspeed-{deepspeed.__version__}")
        store_path = self._context._core.checkpoint.store_path
        with store_path(metadata if is_chief else None, shard=True) as (path, uuid):
            self._trial.save(self._context, path)
            state = {"rng_state": rng.get_state(), **self._progress(position)}
            for callback in self._callbacks.values():
                callback.on_checkpoint_save_start(state)
            torch.save(state, path / self._state_file())
            if is_chief:
                self._write_load_data(path)
                for callback in self._callbacks.values():
                    callback.on_checkpoint_write_end(str(path))
                    callback.on_checkpoint_end(str(path))
        if is_chief:
            for callback in self._callbacks.values():
                callback.on_checkpoint_upload_end(uuid)
        return uuid if is_chief else None

    def load(self, uuid: str) -> TrainingPosition:
        with self._context._core.checkpoint.restore_path(uuid) as path:
            # A checkpoint of fewer ranks has no state of this one.
            state: Any = {}
            if (path / self._state_file()).exists():
                state = torch.load(
                    path / self._state_file(), map_location="cpu", weights_only=False
                )
            for callback in self._callbacks.values():
                callback.on_checkpoint_load_start(state)
            self._trial.load(self._context, path)
        position = self._restored(uuid, state)
        shared: Optional[TrainingPosition] = self._context.distributed.broadcast(position)
        if shared is None:
            return TrainingPosition()
        self._loaded_rng_state = state.get("rng_state")
        return TrainingPosition(*shared)

    def restore_generators(self) -> None:
        if self._loaded_rng_state is not None:
            rng.set_state(self._loaded_rng_state)
        self._loaded_rng_state = None

    def _state_file(self) -> str:
        return f"det_state_dict_rank{self._context.distributed.rank}.pth"

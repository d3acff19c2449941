"""The checkpoints of a PyTorch trial.

`state_dict.pth` has the states of all wrapped objects, of the callbacks, of the training loop and
of every rank's random generators.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Type

from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext, unwrap_model
from determined.pytorch._torch import torch
from determined.pytorch._training import rng
from determined.pytorch._training.checkpointing import Checkpointer, TrainingPosition

STATE_FILE = "state_dict.pth"


class ModelCheckpointer(Checkpointer):
    """Saves and restores wrapped models, optimizers and schedulers; rank 0 writes."""

    trial_type = "PyTorchTrial"
    _context: PyTorchTrialContext

    def __init__(
        self,
        context: PyTorchTrialContext,
        callbacks: Mapping[str, PyTorchCallback],
        trial_class: Type[Any],
    ) -> None:
        super().__init__(context, callbacks, trial_class)
        self._loaded_rng_states: List[Any] = []
        """The random states of all ranks from the loaded checkpoint."""

    def save(self, position: TrainingPosition) -> Optional[str]:
        dist = self._context.distributed
        generators = dist.gather(_sendable(rng.get_state()))
        if dist.rank > 0 or generators is None:
            return None
        metadata = self._metadata(position, f"torch-{torch.__version__}")
        with self._context._core.checkpoint.store_path(metadata) as (path, uuid):
            state = self._state(position, generators)
            for callback in self._callbacks.values():
                callback.on_checkpoint_save_start(state)
            torch.save(state, path / STATE_FILE)
            self._write_load_data(path)
            for callback in self._callbacks.values():
                callback.on_checkpoint_write_end(str(path))
                callback.on_checkpoint_end(str(path))
        for callback in self._callbacks.values():
            callback.on_checkpoint_upload_end(uuid)
        return uuid

    def load(self, uuid: str) -> TrainingPosition:
        with self._context._core.checkpoint.restore_path(uuid) as path:
            state = torch.load(path / STATE_FILE, map_location="cpu", weights_only=False)
        for callback in self._callbacks.values():
            callback.on_checkpoint_load_start(state)
        restore_models(self._context, state)
        _restore_each("optimizers", self._context.optimizers, state)
        _restore_each("lr_schedulers", self._context.lr_schedulers, state)
        if self._context._scaler is not None and state.get("scaler_state_dict"):
            self._context._scaler.load_state_dict(state["scaler_state_dict"])
        position = self._restored(uuid, state)
        if position is None:
            return TrainingPosition()
        self._loaded_rng_states = state.get("rng_states") or []
        return position

    def restore_generators(self) -> None:
        rank = self._context.distributed.rank
        if rank < len(self._loaded_rng_states):
            rng.set_state(_received(self._loaded_rng_states[rank]))
        self._loaded_rng_states = []

    def _state(self, position: TrainingPosition, generators: List[Any]) -> Dict[str, Any]:
        context = self._context
        return {
            "models_state_dict": [unwrap_model(model).state_dict() for model in context.models],
            "optimizers_state_dict": [one.state_dict() for one in context.optimizers],
            "lr_schedulers_state_dict": [one.state_dict() for one in context.lr_schedulers],
            "scaler_state_dict": context._scaler.state_dict() if context._scaler else None,
            "rng_states": generators,
            **self._progress(position),
        }


def restore_models(context: PyTorchTrialContext, state: Dict[str, Any]) -> None:
    """Load the weights of a checkpoint's state into the wrapped models.

    Raises:
        ValueError: the checkpoint and the trial differ in the number of models.
        RuntimeError: a model's parameters differ.
    """
    weights = state["models_state_dict"]
    if len(weights) != len(context.models):
        raise ValueError(
            f"the checkpoint has {len(weights)} models and the trial wraps {len(context.models)}"
        )
    for wrapped, values in zip(context.models, weights):
        model = unwrap_model(wrapped)
        if _is_prefixed(values) and not _is_prefixed(model.state_dict()):
            values = {name[len("module.") :]: value for name, value in values.items()}
        model.load_state_dict(values)


def _restore_each(name: str, things: List[Any], state: Dict[str, Any]) -> None:
    states = state.get(f"{name}_state_dict") or []
    if len(states) != len(things):
        raise ValueError(
            f"the checkpoint has {len(states)} {name} and the trial wraps {len(things)}"
        )
    for thing, one in zip(things, states):
        thing.load_state_dict(one)


def _is_prefixed(weights: Dict[str, Any]) -> bool:
    """Whether the weights were saved from a DistributedDataParallel wrapper."""
    return bool(weights) and all(name.startswith("module.") for name in weights)


def _sendable(generators: Dict[str, Any]) -> Dict[str, Any]:
    """Random states with byte tensors as bytes, which ranks can send."""
    return {
        name: bytes(value.tolist()) if isinstance(value, torch.Tensor) else value
        for name, value in generators.items()
    }


def _received(generators: Dict[str, Any]) -> Dict[str, Any]:
    return {
        name: torch.tensor(list(value), dtype=torch.uint8) if isinstance(value, bytes) else value
        for name, value in generators.items()
    }

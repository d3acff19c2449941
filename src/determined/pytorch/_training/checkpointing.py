"""Saving and loading the checkpoints of a PyTorch trial.

`state_dict.pth` has the states of all wrapped objects, of the callbacks, of the training loop and
of every rank's random generators. `load_data.json` has the data to build the trial again, and
`code/` the trial's source.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import sys
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Type

from determined import util
from determined.__version__ import __version__
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext, unwrap_model
from determined.pytorch._torch import torch
from determined.pytorch._training import rng

logger = logging.getLogger("determined.pytorch")

STATE_FILE = "state_dict.pth"
LOAD_FILE = "load_data.json"


class TrainingPosition(NamedTuple):
    """The progress of a training."""

    batches: int = 0
    validated_batches: int = -1
    """Batches done at the last validation; -1 before the first."""
    best: Optional[float] = None
    """The best value of the searcher's metric in this trial."""


class Checkpointer:
    """Saves and restores a trial.

    Args:
        context: the trial's context.
        callbacks: the callbacks by name.
        trial_class: the trial's class, recorded in the checkpoint.
    """

    def __init__(
        self,
        context: PyTorchTrialContext,
        callbacks: Mapping[str, PyTorchCallback],
        trial_class: Type[Any],
    ) -> None:
        self._context = context
        self._callbacks = callbacks
        self._trial_class = trial_class
        self._loaded_rng_states: List[Any] = []
        """The random states of all ranks from the loaded checkpoint."""

    def save(self, position: TrainingPosition) -> Optional[str]:
        """Store a checkpoint. Every rank calls; rank 0 writes it and returns its UUID."""
        dist = self._context.distributed
        generators = dist.gather(_sendable(rng.get_state()))
        if dist.rank > 0 or generators is None:
            return None
        metadata = {
            "steps_completed": position.batches,
            "determined_version": __version__,
            "framework": f"torch-{torch.__version__}",
            "format": "pickle",
        }
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
        """Load a checkpoint; every rank calls.

        From another trial's checkpoint, only models, optimizers, schedulers and callbacks are
        loaded, and training starts at the first batch.
        """
        with self._context._core.checkpoint.restore_path(uuid) as path:
            state = torch.load(path / STATE_FILE, map_location="cpu", weights_only=False)
        for callback in self._callbacks.values():
            callback.on_checkpoint_load_start(state)
        restore_models(self._context, state)
        _restore_each("optimizers", self._context.optimizers, state)
        _restore_each("lr_schedulers", self._context.lr_schedulers, state)
        if self._context._scaler is not None and state.get("scaler_state_dict"):
            self._context._scaler.load_state_dict(state["scaler_state_dict"])
        for name, callback in self._callbacks.items():
            if name in (state.get("callbacks") or {}):
                callback.load_state_dict(state["callbacks"][name])
            elif util.is_overridden(callback.load_state_dict, PyTorchCallback):
                logger.warning("checkpoint %s has no state of the callback %r", uuid, name)
        found = state.get("trainer_state") or {}
        if found.get("trial_id") != self._context.get_trial_id():
            logger.info("starting from checkpoint %s of another trial", uuid)
            return TrainingPosition()
        self._loaded_rng_states = state.get("rng_states") or []
        return TrainingPosition(found["batches"], found["validated_batches"], found["best"])

    def restore_generators(self) -> None:
        """Restore this rank's random generators from the loaded checkpoint."""
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
            "callbacks": {name: one.state_dict() for name, one in self._callbacks.items()},
            "rng_states": generators,
            "trainer_state": {**position._asdict(), "trial_id": context.get_trial_id()},
        }

    def _write_load_data(self, path: pathlib.Path) -> None:
        util.write_user_code(path, on_cluster=self._context._managed_training)
        spec = {
            "trial_type": "PyTorchTrial",
            "experiment_config": util.mask_config_dict(self._context.get_experiment_config()),
            "hparams": self._context.get_hparams(),
            "trial_cls_spec": spec_of(self._trial_class),
            "is_trainer": True,
        }
        (path / LOAD_FILE).write_text(util.json_encode(spec, indent="  "), encoding="utf-8")


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
    for model, found in zip(context.models, weights):
        wanted = unwrap_model(model)
        if _is_prefixed(found) and not _is_prefixed(wanted.state_dict()):
            found = {name[len("module.") :]: value for name, value in found.items()}
        wanted.load_state_dict(found)


def spec_of(trial_class: Type[Any]) -> Optional[str]:
    """A class as `module:Class`, for a later import from the checkpoint's code.

    None for a class that cannot be imported by name, such as one defined in a function.
    """
    if "<locals>" in trial_class.__qualname__:
        return None
    module = trial_class.__module__
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        if not file:
            return None
        place = os.path.relpath(os.path.abspath(file), os.getcwd())
        if place.startswith(os.pardir) or not place.endswith(".py"):
            return None
        module = place[: -len(".py")].replace(os.sep, ".")
    return f"{module}:{trial_class.__qualname__}"


def read_load_data(path: pathlib.Path) -> Dict[str, Any]:
    """The content of a checkpoint's `load_data.json`; empty if the file is missing."""
    try:
        found: Dict[str, Any] = json.loads((path / LOAD_FILE).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return found


def _restore_each(name: str, things: List[Any], state: Dict[str, Any]) -> None:
    found = state.get(f"{name}_state_dict") or []
    if len(found) != len(things):
        raise ValueError(
            f"the checkpoint has {len(found)} {name} and the trial wraps {len(things)}"
        )
    for thing, one in zip(things, found):
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

"""The checkpoints of a training: what all frameworks with trial classes save and restore.

`load_data.json` has the data to build the trial again, and `code/` the trial's source.
"""

from __future__ import annotations

import abc
import json
import logging
import os
import pathlib
import sys
from typing import Any, Dict, Mapping, NamedTuple, Optional, Type

from determined import util
from determined.__version__ import __version__
from determined.pytorch._base_context import BaseTrialContext
from determined.pytorch._callback import PyTorchCallback

logger = logging.getLogger("determined.pytorch")

LOAD_FILE = "load_data.json"


class TrainingPosition(NamedTuple):
    """The progress of a training."""

    batches: int = 0
    validated_batches: int = -1
    """Batches done at the last validation; -1 before the first."""
    best: Optional[float] = None
    """The best value of the searcher's metric in this trial."""


class Checkpointer(abc.ABC):
    """Saves and restores a trial.

    Args:
        context: the trial's context.
        callbacks: the callbacks by name.
        trial_class: the trial's class, recorded in the checkpoint.
    """

    trial_type: str
    """The name of the base class, recorded in the checkpoint."""

    def __init__(
        self,
        context: BaseTrialContext,
        callbacks: Mapping[str, PyTorchCallback],
        trial_class: Type[Any],
    ) -> None:
        self._context = context
        self._callbacks = callbacks
        self._trial_class = trial_class

    @abc.abstractmethod
    def save(self, position: TrainingPosition) -> Optional[str]:
        """Store a checkpoint. Every rank calls; rank 0 returns its UUID."""

    @abc.abstractmethod
    def load(self, uuid: str) -> TrainingPosition:
        """Load a checkpoint; every rank calls.

        From another trial's checkpoint, only models, optimizers, schedulers and callbacks are
        loaded, and training starts at the first batch.
        """

    @abc.abstractmethod
    def restore_generators(self) -> None:
        """Restore this rank's random generators from the loaded checkpoint."""

    def _metadata(self, position: TrainingPosition, framework: str) -> Dict[str, Any]:
        return {
            "steps_completed": position.batches,
            "determined_version": __version__,
            "framework": framework,
            "format": "pickle",
        }

    def _progress(self, position: TrainingPosition) -> Dict[str, Any]:
        """What `_restored` reads: the states of the callbacks, and the position."""
        return {
            "callbacks": {name: one.state_dict() for name, one in self._callbacks.items()},
            "trainer_state": {**position._asdict(), "trial_id": self._context.get_trial_id()},
        }

    def _restored(self, uuid: str, state: Mapping[str, Any]) -> Optional[TrainingPosition]:
        """Restore the callbacks; return the position, None in a checkpoint of another trial."""
        for name, callback in self._callbacks.items():
            if name in (state.get("callbacks") or {}):
                callback.load_state_dict(state["callbacks"][name])
            elif util.is_overridden(callback.load_state_dict, PyTorchCallback):
                logger.warning("checkpoint %s has no state of the callback %r", uuid, name)
        progress = state.get("trainer_state") or {}
        if progress.get("trial_id") != self._context.get_trial_id():
            logger.info("starting from checkpoint %s of another trial", uuid)
            return None
        return TrainingPosition(
            progress["batches"], progress["validated_batches"], progress["best"]
        )

    def _write_load_data(self, path: pathlib.Path) -> None:
        util.write_user_code(path, on_cluster=self._context._managed_training)
        spec = {
            "trial_type": self.trial_type,
            "experiment_config": util.mask_config_dict(self._context.get_experiment_config()),
            "hparams": self._context.get_hparams(),
            "trial_cls_spec": spec_of(self._trial_class),
            "is_trainer": True,
        }
        (path / LOAD_FILE).write_text(util.json_encode(spec, indent="  "), encoding="utf-8")


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
        data: Dict[str, Any] = json.loads((path / LOAD_FILE).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return data

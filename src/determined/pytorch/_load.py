"""Building a trial again from one of its checkpoints."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any, Dict, Optional, Type

from determined import core
from determined._import import import_from_path
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._torch import torch
from determined.pytorch._training.checkpointing import STATE_FILE, read_load_data, restore_models
from determined.pytorch._trial import PyTorchTrial


class CheckpointLoadContext(PyTorchTrialContext):
    """A context to build a trial with that is not trained.

    Args:
        hparams: hyperparameters, as the checkpoint's trial had them.
        exp_conf: a configuration.
    """

    def __init__(
        self, hparams: Optional[Dict[str, Any]] = None, exp_conf: Optional[Dict[str, Any]] = None
    ) -> None:
        super().__init__(
            core_context=core.make_dummy_context(),
            trial_seed=0,
            hparams=hparams,
            slots_per_trial=1,
            num_gpus=1 if torch.cuda.is_available() else 0,
            exp_conf=exp_conf,
            aggregation_frequency=1,
            steps_completed=0,
            managed_training=False,
            debug_enabled=False,
            enable_tensorboard_logging=False,
        )


def load_trial_from_checkpoint_path(
    path: str,
    trial_class: Optional[Type[PyTorchTrial]] = None,
    trial_kwargs: Optional[Dict[str, Any]] = None,
    torch_load_kwargs: Optional[Dict[str, Any]] = None,
    **kwargs: Any,
) -> PyTorchTrial:
    """A trial with the weights of a checkpoint. It runs the code that lies in the checkpoint.

    Args:
        path: a directory with the checkpoint's files.
        trial_class: its class; by default the one saved with it.
        trial_kwargs: further arguments for the class, after the context.
        torch_load_kwargs: for `torch.load`.
        kwargs: likewise; deprecated.

    Raises:
        FileNotFoundError: there is no checkpoint of a PyTorch trial at `path`.
        ValueError: the checkpoint does not name its class, and none was given.
    """
    folder = pathlib.Path(path)
    if not (folder / STATE_FILE).is_file():
        raise FileNotFoundError(
            f"{folder} holds no {STATE_FILE}: no checkpoint of a PyTorch trial"
        )
    about = read_load_data(folder)
    if trial_class is None:
        trial_class = _class_of(folder, about)
    context = CheckpointLoadContext(about.get("hparams"), about.get("experiment_config"))
    trial = trial_class(context, **(trial_kwargs or {}))
    options = {
        "map_location": "cpu",
        "weights_only": False,
        **kwargs,
        **(torch_load_kwargs or {}),
    }
    restore_models(context, torch.load(folder / STATE_FILE, **options))
    return trial


def _class_of(folder: pathlib.Path, about: Dict[str, Any]) -> Any:
    spec = about.get("trial_cls_spec")
    if not spec:
        raise ValueError(
            f"the checkpoint in {folder} does not name the class of its trial: pass trial_class"
        )
    module, _, name = spec.partition(":")
    with import_from_path(folder / "code"):
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    return found

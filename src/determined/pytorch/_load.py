"""Loading a trial from a checkpoint."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any, Dict, Optional, Type

from determined import core
from determined._import import import_from_path
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._torch import torch
from determined.pytorch._training.checkpointing import read_load_data
from determined.pytorch._training.model_states import STATE_FILE, restore_models
from determined.pytorch._trial import PyTorchTrial


class CheckpointLoadContext(PyTorchTrialContext):
    """A context for a trial that is loaded but not trained.

    Args:
        hparams: the hyperparameters of the checkpoint's trial.
        exp_conf: the configuration.
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
    """Load a trial with the weights of a checkpoint. This executes code from the checkpoint.

    Args:
        path: a directory with the checkpoint's files.
        trial_class: the trial's class; by default the one saved with the checkpoint.
        trial_kwargs: arguments for the class besides the context.
        torch_load_kwargs: arguments for `torch.load`.
        kwargs: deprecated; as `torch_load_kwargs`.

    Raises:
        FileNotFoundError: `path` has no checkpoint of a PyTorch trial.
        ValueError: the checkpoint does not name its class, and `trial_class` is missing.
    """
    folder = pathlib.Path(path)
    if not (folder / STATE_FILE).is_file():
        raise FileNotFoundError(
            f"{folder} has no {STATE_FILE}: it is not a checkpoint of a PyTorch trial"
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

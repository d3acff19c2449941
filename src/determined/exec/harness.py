"""Trains a trial class `module:Class` as one rank of a launcher."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from typing import Any, Callable, Dict, List, Optional

from determined import _constants
from determined._info import ClusterInfo, get_cluster_info
from determined.exec._log import EntryFailed, log


def load_class(spec: str) -> Any:
    """Import the class `module:Class`; search the working directory first.

    Raises:
        EntryFailed: the module or the class does not exist.
    """
    name, _, path = spec.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise
        raise EntryFailed(
            f"the entrypoint {spec!r} names the module {name!r}, which is not in the model "
            "directory"
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise EntryFailed(f"the entrypoint {spec!r}: {name!r} has no class {path!r}")
        found = getattr(found, part)
    return found


def train_pytorch(trial_class: Any, info: ClusterInfo) -> None:
    """Train a PyTorch trial by the experiment's configuration.

    Raises:
        EntryFailed: the configuration has no training length.
    """
    from determined import pytorch

    arguments = _fit_arguments(info)
    optimizations = info.trial._config.get("optimizations") or {}
    aggregation = int(optimizations.get("aggregation_frequency") or 1)
    with pytorch.init(aggregation_frequency=aggregation) as context:
        pytorch.Trainer(trial_class(context), context).fit(**arguments)


def train_deepspeed(trial_class: Any, info: ClusterInfo) -> None:
    """Train a DeepSpeed trial by the experiment's configuration.

    Raises:
        EntryFailed: the configuration has no training length.
    """
    from determined.pytorch import deepspeed

    arguments = _fit_arguments(info)
    with deepspeed.init() as context:
        deepspeed.Trainer(trial_class(context), context).fit(**arguments)


def _fit_arguments(info: ClusterInfo) -> Dict[str, Any]:
    from determined.pytorch._training.plan import fit_arguments

    try:
        return {**fit_arguments(info.trial._config), "latest_checkpoint": info.latest_checkpoint}
    except ValueError as error:
        raise EntryFailed(str(error)) from error


def train_keras(trial_class: Any, info: ClusterInfo) -> None:
    """Train a Keras trial by the experiment's configuration.

    Raises:
        EntryFailed: it has several slots, or the configuration does not fit its data.
    """
    from determined import core
    from determined.keras import _fit

    if len(info.container_addrs) * max(1, len(info.slot_ids)) > 1:
        raise EntryFailed(
            "a TFKerasTrial is trained on one slot: set resources.slots_per_trial to 1, or write "
            "a script with determined.keras.DeterminedCallback and a distribution of Keras"
        )
    with core.init() as core_context:
        context = trial_class.trial_context_class(core_context, _env_of(info))
        try:
            _fit.train(trial_class(context), context, info.trial.trial_id)
        except _fit.PlanError as error:
            raise EntryFailed(str(error)) from error


def _env_of(info: ClusterInfo) -> Any:
    from determined._env_context import EnvContext

    trial = info.trial
    return EnvContext(
        master_url=info.master_url,
        master_cert_file=info.master_cert_file,
        master_cert_name=info.master_cert_name,
        experiment_config=trial._config,
        hparams=trial.hparams,
        latest_checkpoint=info.latest_checkpoint,
        steps_completed=trial._steps_completed,
        use_gpu=bool(info.gpu_uuids),
        container_gpus=info.gpu_uuids,
        slot_ids=info.slot_ids,
        debug=trial._debug,
        det_trial_id=str(trial.trial_id),
        det_experiment_id=str(trial.experiment_id),
        det_agent_id=info.agent_id,
        det_cluster_id=info.cluster_id,
        trial_seed=trial.trial_seed,
        trial_run_id=trial._trial_run_id,
        allocation_id=info.allocation_id,
        managed_training=True,
        test_mode=False,
        on_cluster=True,
    )


TRAINERS: Dict[str, Callable[[Any, ClusterInfo], None]] = {
    "determined.pytorch.PyTorchTrial": train_pytorch,
    "determined.pytorch.deepspeed.DeepSpeedTrial": train_deepspeed,
    "determined.keras.TFKerasTrial": train_keras,
}
"""The function that trains a subclass of a trial class, by the name of that class."""


def trainer_of(trial_class: Any) -> Optional[Callable[[Any, ClusterInfo], None]]:
    """The function that trains a class; None for a class that is no trial of a framework."""
    for name, trainer in TRAINERS.items():
        module, _, base = name.rpartition(".")
        if f"{module}._trial" in sys.modules:  # imports no other framework
            bases = getattr(sys.modules[f"{module}._trial"], base)
            if isinstance(trial_class, type) and issubclass(trial_class, bases):
                return trainer
    return None


def main(argv: List[str]) -> int:
    """Train the class; return the exit code.

    Raises:
        EntryFailed: it cannot be trained here.
    """
    if len(argv) != 1 or ":" not in argv[0]:
        raise EntryFailed("determined.exec.harness takes one argument, module:Class")
    info = get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        raise EntryFailed("determined.exec.harness runs only in trials")
    level = logging.DEBUG if info.trial._debug else logging.INFO
    logging.basicConfig(level=level, format=_constants.LOG_FORMAT)
    trial_class = load_class(argv[0])
    trainer = trainer_of(trial_class)
    if trainer is None:
        *names, last = TRAINERS
        raise EntryFailed(
            f"the entrypoint {argv[0]!r} is not a subclass of {', '.join(names)} or {last}: "
            "other trial classes are not supported. Write a script that calls "
            "determined.core.init() and make it the entrypoint, such as 'python3 train.py'"
        )
    trainer(trial_class, info)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except EntryFailed as error:
        log(str(error), "ERROR")
        sys.exit(error.code)

"""Recording of the Trainer of Hugging Face transformers, by a callback."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Optional

from determined._autolog import _session
from determined._autolog._hooks import is_ours, replace
from determined.transformers._transformers import transformers

FRAMEWORK = "transformers"
_ALWAYS = (
    *("learning_rate", "lr_scheduler_type", "num_train_epochs", "optim"),
    *("per_device_train_batch_size", "seed", "weight_decay"),
)
"""Arguments that are recorded when they have their defaults, too."""
_OF_MACHINE = ("output_dir", "logging_dir", "run_name", "report_to", "resume_from_checkpoint")


def install(_imported: str) -> None:
    """Record the trainers of transformers."""
    for name in ("train", "evaluate"):
        replace(transformers.trainer.Trainer, name, _run)


class _Reports(transformers.TrainerCallback):
    """Reports what a trainer logs."""

    def __init__(self, run: Any) -> None:
        self._run = run

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **_: Any
    ) -> None:
        if state.is_world_process_zero:
            self._run.report(state.global_step, lambda: logs or {})


def _run(original: Any, trainer: Any, *args: Any, **kwargs: Any) -> Any:
    session = _session.current()
    if session is None:
        return original(trainer, *args, **kwargs)
    if any(map(is_ours, trainer.callback_handler.callbacks)):
        with session.paused():
            return original(trainer, *args, **kwargs)
    model = type(trainer.model).__name__
    with session.run(FRAMEWORK, model, lambda: _params(trainer.args)) as run:
        if run is None:
            return original(trainer, *args, **kwargs)
        reports = _Reports(run)
        trainer.add_callback(reports)
        try:
            return original(trainer, *args, **kwargs)
        finally:
            trainer.remove_callback(reports)


def _params(args: Any) -> Dict[str, Any]:
    """The arguments that differ from their defaults, and those that matter always."""
    values = args.to_dict()
    params = {}
    for field in dataclasses.fields(args):
        value = values.get(field.name)
        is_default = field.name in values and value in (field.default, None, [], {})
        if field.name not in _OF_MACHINE and (field.name in _ALWAYS or not is_default):
            params[field.name] = value
    return params

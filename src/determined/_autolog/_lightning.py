"""Recording of Lightning's trainers, by a logger."""

from __future__ import annotations

import sys
import types
from argparse import Namespace
from typing import Any, Dict, Mapping, Union

from determined._autolog import _session
from determined._autolog._hooks import is_ours, replace
from determined.lightning._logger import DetLogger, is_chief

FRAMEWORK = "lightning"
_OF_TRAINER = ("max_epochs", "max_steps", "accumulate_grad_batches", "gradient_clip_val")


def install(imported: str) -> None:
    """Record the trainers of one of the two names of Lightning."""
    trainer = sys.modules[imported].Trainer
    for name in ("fit", "validate", "test"):
        replace(trainer, name, _run)


class _Reports(DetLogger):
    """Reports to a run what a trainer logs, and its hyperparameters."""

    def __init__(self, run: Any, trainer: Any) -> None:
        super().__init__()
        self._run = run
        self._has_optimizer = False
        reports = types.SimpleNamespace(
            report_training_metrics=lambda step, values: run.report(step, lambda: values),
            report_metrics=lambda group, step, values: run.report(step, lambda: values),
        )
        self._bind(types.SimpleNamespace(train=reports, info=None), trainer, None)  # type: ignore[arg-type]

    def log_hyperparams(self, params: Union[Mapping[str, Any], Namespace]) -> None:
        values = vars(params) if isinstance(params, Namespace) else dict(params or {})
        if is_chief():
            self._run.note(lambda: values)

    def log_metrics(self, metrics: Mapping[str, Any], step: Any) -> None:
        optimizers = self._trainer.optimizers
        if is_chief() and optimizers and not self._has_optimizer:
            self._has_optimizer = True
            self._run.note(lambda: {"optimizer": optimizer_params(optimizers[0])})
        super().log_metrics(metrics, step)


def _run(original: Any, trainer: Any, *args: Any, **kwargs: Any) -> Any:
    session = _session.current()
    if session is None:
        return original(trainer, *args, **kwargs)
    if any(map(is_ours, [*trainer.callbacks, *trainer.loggers])):
        with session.paused():
            return original(trainer, *args, **kwargs)
    model = args[0] if args else kwargs.get("model")
    name = type(model or trainer).__name__
    with session.run(FRAMEWORK, name, lambda: _params(trainer)) as run:
        if run is None:
            return original(trainer, *args, **kwargs)
        reports = _Reports(run, trainer)
        trainer.loggers = [*trainer.loggers, reports]
        try:
            return original(trainer, *args, **kwargs)
        finally:
            trainer.loggers = [one for one in trainer.loggers if one is not reports]


def _params(trainer: Any) -> Dict[str, Any]:
    values = {name: getattr(trainer, name, None) for name in _OF_TRAINER}
    return {name: value for name, value in values.items() if value not in (None, -1)}


def optimizer_params(optimizer: Any) -> Dict[str, Any]:
    """The class and the defaults of an optimizer of PyTorch."""
    return {"name": type(optimizer).__name__, **optimizer.defaults}

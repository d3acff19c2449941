"""Recording of `xgboost.train`, which the estimators of XGBoost call too, by a callback."""

from __future__ import annotations

from typing import Any

import xgboost

from determined._autolog import _session
from determined._autolog._hooks import bound, replacement

FRAMEWORK = "xgboost"


def install(_imported: str) -> None:
    """Record the trainings of XGBoost."""
    original = xgboost.training.train
    recorded = replacement(original, _train)
    for module in (xgboost, xgboost.training, xgboost.sklearn):
        if module.train is original:
            module.train = recorded


class _Reports(xgboost.callback.TrainingCallback):
    """Reports the evaluations after each iteration."""

    def __init__(self, run: Any) -> None:
        super().__init__()
        self._run = run

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._run.report(
            epoch + 1,
            lambda: {
                f"{data}-{name}": values[-1]
                for data, metrics in evals_log.items()
                for name, values in metrics.items()
            },
        )
        return False


def _train(original: Any, *args: Any, **kwargs: Any) -> Any:
    session = _session.current()
    call = None
    if session is not None and session.records(FRAMEWORK):
        call = bound(original, *args, **kwargs)
    if session is None or call is None:
        return original(*args, **kwargs)
    params = {**dict(call.arguments["params"]), "rounds": call.arguments["num_boost_round"]}
    with session.run(FRAMEWORK, FRAMEWORK, lambda: params) as run:
        call.arguments["callbacks"] = [*(call.arguments["callbacks"] or ()), _Reports(run)]
        return original(*call.args, **call.kwargs)

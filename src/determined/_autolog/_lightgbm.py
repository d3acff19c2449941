"""Recording of `lightgbm.train`, which the estimators of LightGBM call too, by a callback."""

from __future__ import annotations

from typing import Any

import lightgbm

from determined._autolog import _session
from determined._autolog._hooks import bound, replacement

FRAMEWORK = "lightgbm"


def install(_imported: str) -> None:
    """Record the trainings of LightGBM."""
    original = lightgbm.engine.train
    recorded = replacement(original, _train)
    for module in (lightgbm, lightgbm.engine, lightgbm.sklearn):
        if module.train is original:
            module.train = recorded


def _train(original: Any, *args: Any, **kwargs: Any) -> Any:
    session = _session.current()
    call = None
    if session is not None and session.records(FRAMEWORK):
        call = bound(original, *args, **kwargs)
    if session is None or call is None:
        return original(*args, **kwargs)
    params = {**call.arguments["params"], "rounds": call.arguments["num_boost_round"]}
    with session.run(FRAMEWORK, FRAMEWORK, lambda: params) as run:

        def report(env: Any) -> None:
            results = env.evaluation_result_list or ()
            values = {f"{data}-{name}": value for data, name, value, *_ in results}
            run.report(env.iteration + 1, lambda: values)

        report.order = 15  # type: ignore[attr-defined]  # before that of early stopping, 30
        call.arguments["callbacks"] = [*(call.arguments["callbacks"] or ()), report]
        return original(*call.args, **call.kwargs)

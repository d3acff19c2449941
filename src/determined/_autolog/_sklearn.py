"""Recording of the estimators of scikit-learn: `fit` and `score`."""

from __future__ import annotations

import contextlib
import time
import types
import weakref
from typing import Any, Dict, Iterator, Optional

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from determined._autolog import _session
from determined._autolog._hooks import replace, replacement

FRAMEWORK = "sklearn"
TRAINING_SCORE = "training_score"
SCORE = "val_score"
_WITH_OWN_HOOKS = ("lightgbm.", "xgboost.")
"""Estimators of frameworks that record by callbacks."""

_trained_on: Optional[weakref.ref[Any]] = None
"""The data of the last fit."""


def install(_imported: str) -> None:
    """Record estimators, also those of classes that the script makes later."""
    base: Any = BaseEstimator
    for cls in (base, ClassifierMixin, RegressorMixin):
        _replace_methods(cls)
    for cls in _subclasses(base):
        _replace_methods(cls)
    before = vars(base).get("__init_subclass__")

    def init_subclass(cls: Any, /, **kwargs: Any) -> None:
        if before is not None:
            before.__get__(None, cls)(**kwargs)
        else:
            super(base, cls).__init_subclass__(**kwargs)
        _replace_methods(cls)

    base.__init_subclass__ = classmethod(init_subclass)


def _subclasses(cls: Any) -> Iterator[Any]:
    for one in cls.__subclasses__():
        yield one
        yield from _subclasses(one)


def _replace_methods(cls: Any) -> None:
    for name, around in (("fit", _fit), ("score", _score)):
        method = vars(cls).get(name)
        if isinstance(method, types.FunctionType):
            replace(cls, name, around)
        elif isinstance(getattr(method, "fn", None), types.FunctionType):
            method.fn = replacement(method.fn, around)


def _fit(original: Any, estimator: Any, *args: Any, **kwargs: Any) -> Any:
    session = _session.current()
    if session is None or not hasattr(type(estimator), "predict"):
        return original(estimator, *args, **kwargs)
    if session.records(FRAMEWORK):
        _remember(_data(args, kwargs)[0])
    if type(estimator).__module__.startswith(_WITH_OWN_HOOKS):
        return original(estimator, *args, **kwargs)
    with session.run(FRAMEWORK, type(estimator).__name__, estimator.get_params) as run:
        begin = time.perf_counter()
        result = original(estimator, *args, **kwargs)
        if run is not None:
            seconds = time.perf_counter() - begin
            is_scored = session.has_training_score
            run.report(1, lambda: _results(estimator, seconds, is_scored, _data(args, kwargs)))
            if hasattr(estimator, "best_params_"):
                run.note(lambda: {"best_params": estimator.best_params_})
        return result


def _score(original: Any, estimator: Any, *args: Any, **kwargs: Any) -> Any:
    session = _session.current()
    if session is None or not hasattr(type(estimator), "predict"):
        return original(estimator, *args, **kwargs)
    with session.run(FRAMEWORK, type(estimator).__name__) as run:
        result = original(estimator, *args, **kwargs)
        if run is not None and not _is_trained_on(_data(args, kwargs)[0]):
            run.report_last({SCORE: result})
        return result


def _results(estimator: Any, seconds: float, is_scored: bool, data: Any) -> Dict[str, Any]:
    values: Dict[str, Any] = {"fit_seconds": seconds}
    if hasattr(estimator, "best_score_"):
        values["val_best_score"] = estimator.best_score_
    if is_scored and hasattr(estimator, "score"):
        # An estimator may have no score of this data, such as a classifier without labels.
        with contextlib.suppress(Exception):
            values[TRAINING_SCORE] = estimator.score(*data)
    return values


def _data(args: Any, kwargs: Any) -> Any:
    """`X` and `y` of a call."""
    whole = dict(zip(("X", "y"), args))
    whole.update({name: kwargs[name] for name in ("X", "y") if name in kwargs})
    return whole.get("X"), whole.get("y")


def _remember(data: Any) -> None:
    global _trained_on
    try:
        _trained_on = weakref.ref(data)
    except TypeError:  # such as a list
        _trained_on = None


def _is_trained_on(data: Any) -> bool:
    return _trained_on is not None and _trained_on() is data

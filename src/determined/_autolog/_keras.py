"""Recording of `fit` and `evaluate` of Keras models, by a callback."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from determined._autolog import _session
from determined._autolog._hooks import bound, is_ours, replace
from determined.keras._keras import keras

FRAMEWORK = "keras"
Logs = Optional[Dict[str, Any]]


def install(_imported: str) -> None:
    """Record the models of Keras."""
    model = next(cls for cls in keras.Model.__mro__ if "fit" in vars(cls))
    replace(model, "fit", _fit)
    replace(model, "evaluate", _evaluate)


class _Reports(keras.callbacks.Callback):
    """Reports each epoch of a training, and the end of an evaluation."""

    async_safe = True
    """Keras need not fetch the metrics of each batch for it."""

    def __init__(self, run: Any) -> None:
        super().__init__()
        self._run = run
        self._batches = 0
        self._before = 0
        """Batches before this epoch."""
        self._is_training = False

    def on_train_begin(self, logs: Logs = None) -> None:
        self._is_training = True

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._batches = self._before + batch + 1

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self._before = self._batches
        self._run.report(self._batches, lambda: {"epochs": epoch + 1, **(logs or {})})

    def on_test_end(self, logs: Logs = None) -> None:
        if not self._is_training:
            self._run.report_last({f"val_{name}": value for name, value in (logs or {}).items()})


def _fit(original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
    return _record(original, _params, model, args, kwargs)


def _evaluate(original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
    return _record(original, lambda _model, _call: {}, model, args, kwargs)


def _record(original: Any, params: Any, model: Any, args: Any, kwargs: Any) -> Any:
    session = _session.current()
    if session is None or not session.records(FRAMEWORK):
        return original(model, *args, **kwargs)
    call = _with_callbacks(original, model, args, kwargs)
    if call is None:
        with session.paused():
            return original(model, *args, **kwargs)
    with session.run(FRAMEWORK, type(model).__name__, lambda: params(model, call)) as run:
        call.arguments["callbacks"].append(_Reports(run))
        return original(*call.args, **call.kwargs)


def _with_callbacks(original: Any, model: Any, args: Any, kwargs: Any) -> Any:
    """The arguments of a call, with a list of callbacks; None if it is not recorded."""
    call = bound(original, model, *args, **kwargs)
    callbacks: Any = [] if call is None else call.arguments["callbacks"] or []
    if call is None or not isinstance(callbacks, (list, tuple, keras.callbacks.Callback)):
        return None  # a CallbackList, which has begun
    one_by_one: List[Any] = (
        [callbacks] if isinstance(callbacks, keras.callbacks.Callback) else list(callbacks)
    )
    if any(is_ours(one) for one in one_by_one):
        return None
    call.arguments["callbacks"] = one_by_one
    return call


def _params(model: Any, call: Any) -> Dict[str, Any]:
    params: Dict[str, Any] = {name: call.arguments[name] for name in ("epochs", "batch_size")}
    if model.built:
        params["weights"] = model.count_params()
    optimizer, loss = getattr(model, "optimizer", None), getattr(model, "loss", None)
    if optimizer is not None:
        params["optimizer"] = {**optimizer.get_config(), "name": type(optimizer).__name__}
    if loss is not None:
        params["loss"] = loss if isinstance(loss, str) else getattr(loss, "name", str(loss))
    return params

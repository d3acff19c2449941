"""Reduction of metrics over batches and ranks."""

from __future__ import annotations

import abc
import enum
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

from determined.pytorch import _values


class Reducer(enum.Enum):
    """How to reduce the values of all batches. AVG weights every batch equally."""

    AVG = 1
    SUM = 2
    MAX = 3
    MIN = 4


class MetricReducer(abc.ABC):
    """A custom reduction of a metric, such as a confusion matrix."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Drop all values; called at the start of a validation and after each training report."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """This rank's values: numbers, text, tensors, and lists and dicts of them."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        """The metric from the values of all ranks, in order of rank."""


class _FunctionReducer(MetricReducer):
    """Collects values and applies a function to those of all ranks."""

    def __init__(self, function: Callable[[List[Any]], Any]) -> None:
        self._function = function
        self._updates: List[Any] = []

    def update(self, value: Any) -> None:
        """Add a value."""
        self._updates.append(value)

    def reset(self) -> None:
        """Drop all values."""
        self._updates = []

    def per_slot_reduce(self) -> Any:
        """The values of this rank."""
        return self._updates

    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        """The function's result for the values of all ranks."""
        return self._function([value for values in per_slot_metrics for value in values])


class _Wrapped(NamedTuple):
    reducer: MetricReducer
    name: Optional[str]
    for_training: bool
    for_validation: bool


class _PyTorchReducerContext:
    """The reducers of a trial; a base of its context."""

    def __init__(self) -> None:
        self._wrapped: List[_Wrapped] = []

    def wrap_reducer(
        self,
        reducer: Union[Callable[[List[Any]], Any], MetricReducer],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> Any:
        """Register a reducer for training metrics, validation metrics, or both.

        Args:
            reducer: a MetricReducer, or a function of the values of all ranks.
            name: the metric's name; without it the reducer must return a dict of metrics.
            for_training: whether to use it for training metrics.
            for_validation: whether to use it for validation metrics.

        Returns:
            The reducer; for a function, one whose `update(value)` adds a value.

        Raises:
            TypeError: `reducer` is neither.
            ValueError: neither `for_training` nor `for_validation` is set.
        """
        if not isinstance(reducer, MetricReducer):
            if not callable(reducer):
                raise TypeError(f"a reducer is a MetricReducer or a function, got {reducer!r}")
            reducer = _FunctionReducer(reducer)
        if not (for_training or for_validation):
            raise ValueError("a reducer must be for training or for validation")
        self._wrapped.append(_Wrapped(reducer, name, for_training, for_validation))
        return reducer

    def reset_reducers(self, for_training: Optional[bool] = None) -> None:
        """Reset the reducers of training (True), of validation (False), or all (None)."""
        for wrapped in self._of(for_training):
            wrapped.reducer.reset()

    def reduce_metrics(self, for_training: Optional[bool]) -> Dict[str, Any]:
        """The metrics of the reducers of training (True), of validation (False), or all (None).

        Every rank calls; only rank 0 gets the metrics.

        Raises:
            ValueError: a reducer without a name returned no dict, or two return the same name.
        """
        metrics: Dict[str, Any] = {}
        parts = self._collected(for_training)
        for wrapped, every in zip(self._of(for_training), parts):
            made = wrapped.reducer.cross_slot_reduce([_values.unpacked(one) for one in every])
            _add(metrics, wrapped.name, made)
        return metrics

    def _collected(self, for_training: Optional[bool]) -> List[List[Any]]:
        """For each reducer the packed values of all ranks; empty on ranks other than 0."""
        reducers = self._of(for_training)
        if not reducers:
            return []
        mine = [_values.packed(wrapped.reducer.per_slot_reduce()) for wrapped in reducers]
        every = self._gather(mine)
        return [] if every is None else [list(part) for part in zip(*every)]

    def _gather(self, value: Any) -> Optional[List[Any]]:
        return [value]

    def _of(self, for_training: Optional[bool]) -> List[_Wrapped]:
        if for_training is None:
            return list(self._wrapped)
        return [w for w in self._wrapped if (w.for_training if for_training else w.for_validation)]


def _add(metrics: Dict[str, Any], name: Optional[str], made: Any) -> None:
    if name is not None:
        made = {name: made}
    if not isinstance(made, dict):
        raise ValueError(
            f"a reducer without a name must return a dict of metrics, got {type(made).__name__}: "
            "pass a name to wrap_reducer"
        )
    twice = sorted(set(made) & set(metrics))
    if twice:
        raise ValueError(f"two reducers return the metric {twice[0]!r}")
    metrics.update(made)


def reduce_batches(
    outputs: List[Dict[str, Any]], reducers: Union[Reducer, Dict[str, Reducer]]
) -> Dict[str, Any]:
    """One rank's part of the metrics: by name, the number of batches and their reduced value.

    Raises:
        ValueError: batches differ in their metrics, or a reducer is missing.
    """
    names = list(outputs[0]) if outputs else []
    for at, output in enumerate(outputs):
        if set(output) != set(names):
            raise ValueError(
                f"evaluate_batch returned {sorted(output)} for batch {at}, and "
                f"{sorted(names)} before"
            )
    parts = {}
    for name in names:
        kind = _kind(name, reducers)
        values = [_values.as_float64(name, output[name]) for output in outputs]
        parts[name] = (kind.value, len(values), _values.reduced(values, _summing(kind)).tolist())
    return parts


def reduce_ranks(parts: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The metrics from the parts of all ranks; a rank without batches has an empty part.

    Raises:
        ValueError: ranks differ in their metrics.
    """
    filled = [part for part in parts if part]
    names = list(filled[0]) if filled else []
    metrics = {}
    for name in names:
        if any(set(part) != set(names) for part in filled):
            raise ValueError(f"ranks differ in their metrics: {[sorted(p) for p in filled]}")
        kind = Reducer(filled[0][name][0])
        values = [_values.as_float64(name, part[name][2]) for part in filled]
        value = _values.reduced(values, _summing(kind))
        if kind is Reducer.AVG:
            value = value / sum(part[name][1] for part in filled)
        metrics[name] = value.tolist()
    return metrics


def _summing(kind: Reducer) -> str:
    return {"AVG": "sum", "SUM": "sum", "MAX": "max", "MIN": "min"}[kind.name]


def _kind(name: str, reducers: Union[Reducer, Dict[str, Reducer]]) -> Reducer:
    if isinstance(reducers, Reducer):
        return reducers
    if not isinstance(reducers, dict) or not isinstance(reducers.get(name), Reducer):
        raise ValueError(
            f"evaluation_reducer() returns no Reducer for the metric {name!r}: return one Reducer "
            "for all metrics, or a dict with one for each"
        )
    return reducers[name]

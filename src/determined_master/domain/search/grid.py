"""Grid search: every point of a lattice, computed from its number and never listed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, assert_never

from determined_master.domain.config.sections.hyperparameters import (
    Categorical,
    Const,
    Double,
    Hyperparameter,
    HyperparameterSpace,
    Int,
    LogScale,
    Nested,
)
from determined_master.domain.search.decision import (
    MAX_CREATED,
    SearchDecision,
    SearchError,
    TrialCount,
    unit_interval,
)
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.records import TrialEnd
from determined_master.domain.search.sampling import seeded_trial
from determined_master.domain.search.stream import Stream


@dataclass(frozen=True, slots=True)
class Axis:
    """One hyperparameter of a grid: `at(i)` is its value for i in [0, size)."""

    path: tuple[str, ...]
    size: int
    at: Callable[[int], Any]


class GridPoints:
    """The points of a grid in order: axes sorted by name, the last one varying fastest.

    Cost: O(axes) per point, nothing for points that are not used.
    """

    def __init__(self, space: HyperparameterSpace) -> None:
        self._axes = tuple(_axes(space, ()))
        self._size = math.prod(axis.size for axis in self._axes) if self._axes else 0

    def __len__(self) -> int:
        return self._size

    @property
    def size(self) -> int:
        """Number of points, of any magnitude; 0 without hyperparameters."""
        return self._size

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < self._size:
            raise IndexError(f"a grid of {self._size} points has no point {index}")
        values: list[Any] = []
        for axis in reversed(self._axes):
            index, i = divmod(index, axis.size)
            values.append(axis.at(i))
        point: dict[str, Any] = {}
        for axis, value in zip(self._axes, reversed(values), strict=True):
            group = point
            for name in axis.path[:-1]:
                group = group.setdefault(name, {})
            group[axis.path[-1]] = value
        return point


class GridSearch:
    """Runs every point once, from the last to the first, and repeats none.

    State: `position` in the random stream (ids and trial seeds), `left` points, and `due`: those
    of them that may run at once and are not created yet.
    """

    def __init__(
        self, space: HyperparameterSpace, seed: int, *, max_concurrent_trials: int
    ) -> None:
        self._points = GridPoints(space)
        self._stream = Stream(seed)
        self._first = min(self._points.size, max_concurrent_trials or self._points.size)

    def initial(self) -> SearchDecision:
        """As many points as may run at once; 0 for `max_concurrent_trials` means all."""
        nothing = {"position": 0, "left": self._points.size, "due": self._first}
        return self._create(nothing, self._first)

    def validation_completed(
        self,
        state: Any,
        memory: SearchMemory,
        request_id: str,
        metric: float | None,
        time: float | None,
        reported: tuple[str, ...],
    ) -> SearchDecision:
        """Nothing: all points are tried."""
        return SearchDecision(state)

    def trial_ended(
        self, state: Any, memory: SearchMemory, request_id: str, end: TrialEnd
    ) -> SearchDecision:
        """The next point, regardless of how the last one ended."""
        due = state.get("due", 0)  # states of older releases have none
        if state["left"] <= due:
            return SearchDecision({**state, "due": due}, has_more=due > 0)
        return self._create({**state, "due": due + 1}, 1)

    def create_more(self, state: Any, memory: SearchMemory) -> SearchDecision:
        """More of the first points."""
        return self._create(state, state.get("due", 0))

    def progress(self, state: Any, memory: SearchMemory, trial_progress: float) -> float:
        """The mean over the trials created so far."""
        return unit_interval(trial_progress)

    def preview(self) -> tuple[TrialCount, ...]:
        """Every point trains as long as it takes."""
        return (TrialCount(self._points.size),)

    def _create(self, state: Any, count: int) -> SearchDecision:
        count, left = min(count, MAX_CREATED), state["left"]
        self._stream.seek(state["position"])
        trials = tuple(
            seeded_trial(self._stream, self._points[left - 1 - i]) for i in range(count)
        )
        due = state.get("due", 0) - count
        after = {"position": self._stream.position, "left": left - count, "due": due}
        return SearchDecision(after, trials, has_more=due > 0)


def _axes(space: HyperparameterSpace, path: tuple[str, ...]) -> Iterator[Axis]:
    for name in sorted(space):
        spec = space[name]
        if isinstance(spec, Nested) and spec.children:
            yield from _axes(spec.children, (*path, name))
        else:
            yield _axis(spec, (*path, name))


def _axis(spec: Hyperparameter, path: tuple[str, ...]) -> Axis:
    match spec:
        case Const():
            return Axis(path, 1, lambda _: spec.val)
        case Nested():
            return Axis(path, 1, lambda _: {})
        case Categorical():
            return Axis(path, len(spec.vals), lambda i: spec.vals[i])
        case Int():
            size = min(_count(spec, path), spec.maxval - spec.minval + 1)
            return Axis(path, size, lambda i: _whole_step(spec.minval, spec.maxval, i, size))
        case Double():
            size = _count(spec, path)
            return Axis(path, size, lambda i: _step(spec.minval, spec.maxval, i, size))
        case LogScale():
            size = _count(spec, path)
            base = float(spec.base)
            return Axis(path, size, lambda i: base ** _step(spec.minval, spec.maxval, i, size))
        case _:
            assert_never(spec)


def _count(spec: Int | Double | LogScale, path: tuple[str, ...]) -> int:
    if spec.count is None:
        raise SearchError(
            f"hyperparameter {'.'.join(path)} has no count; a grid search needs one for every "
            "int, double and log hyperparameter"
        )
    return spec.count


def _step(low: float, high: float, i: int, size: int) -> float:
    if size == 1:
        return low + (high - low) / 2
    return low + i * (high - low) / (size - 1) if i < size - 1 else float(high)


def _whole_step(low: int, high: int, i: int, size: int) -> int:
    if size == 1:
        return _round_half_away(low + high, 2)
    return _round_half_away(low * (size - 1) + i * (high - low), size - 1)


def _round_half_away(numerator: int, denominator: int) -> int:
    size = (2 * abs(numerator) + denominator) // (2 * denominator)
    return size if numerator >= 0 else -size

"""Random points of a hyperparameter space, and trials at these points."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
from determined_master.domain.search.decision import Create, SearchError
from determined_master.domain.search.stream import Stream

_LARGEST_SEED = (1 << 31) - 1
_WIDEST_INT = (1 << 64) - 1


def check_space(space: HyperparameterSpace) -> None:
    """Reject a space without points.

    Raises:
        SearchError: names the hyperparameter, its value and a valid one.
    """
    _check(space, "")


def draw_trial(stream: Stream, space: HyperparameterSpace) -> Create:
    """The next trial at a random point. Draws in order: point (by sorted name), id, seed."""
    return seeded_trial(stream, draw_point(stream, space))


def seeded_trial(stream: Stream, hparams: dict[str, Any]) -> Create:
    """The next trial at a given point. Draws in order: id, seed."""
    request_id = stream.uuid4()
    return Create(request_id=request_id, seed=stream.up_to(_LARGEST_SEED), hparams=hparams)


def draw_point(stream: Stream, space: Mapping[str, Hyperparameter]) -> dict[str, Any]:
    """A random point: `int` includes both ends, `double` and `log` exclude the upper one.

    Members of a nested group are drawn at the place of the group, sorted by name as well.
    """
    return {name: _draw(stream, space[name]) for name in sorted(space)}


def _draw(stream: Stream, spec: Hyperparameter) -> Any:
    match spec:
        case Const():
            return spec.val
        case Int():
            return spec.minval + stream.up_to(spec.maxval - spec.minval)
        case Double():
            return _between(spec.minval, spec.maxval, stream.double())
        case LogScale():
            return float(spec.base) ** _between(spec.minval, spec.maxval, stream.double())
        case Categorical():
            return spec.vals[stream.up_to(len(spec.vals) - 1)]
        case Nested():
            return draw_point(stream, spec.children)
        case _:
            assert_never(spec)


def _between(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


def _check(space: Mapping[str, Hyperparameter], prefix: str) -> None:
    for name, spec in space.items():
        path = f"{prefix}{name}"
        match spec:
            case Nested():
                _check(spec.children, f"{path}.")
            case Categorical(vals=vals) if not vals:
                raise SearchError(f"hyperparameter {path}: vals is empty; give at least one value")
            case Int() | Double() | LogScale() if spec.minval > spec.maxval:
                raise SearchError(
                    f"hyperparameter {path}: minval {spec.minval} is above maxval {spec.maxval}"
                )
            case Int() if spec.maxval - spec.minval > _WIDEST_INT:
                raise SearchError(f"hyperparameter {path}: the range is wider than 64 bits")
            case LogScale():
                _check_log(spec, path)
            case _:
                pass


def _check_log(spec: LogScale, path: str) -> None:
    if spec.base <= 0:
        raise SearchError(f"hyperparameter {path}: base {spec.base} must be above 0")
    for exponent in (spec.minval, spec.maxval):
        try:
            is_finite = math.isfinite(float(spec.base) ** exponent)
        except OverflowError:
            is_finite = False
        if not is_finite:
            raise SearchError(
                f"hyperparameter {path}: {spec.base} to the power {exponent} is too large; "
                "minval and maxval of a log hyperparameter are exponents"
            )

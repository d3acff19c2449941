"""What a figure is: its targets, its load, and how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.cluster import Cluster

Direction = Literal["at_least", "at_most"]
Needs = Literal["nothing", "shared", "own"]
"""Which cluster a figure is measured on: none, the one that figures share, or a fresh one."""

Judged = Literal["calibrated", "count", "ratio", "reported"]
"""How a small run compares a value with its target.

- `count`: what no load of the machine changes, as it is.
- `ratio`: a comparison within the run, at `SMOKE_FACTOR` times the target.
- `calibrated`: a time or a rate. Where nothing else runs, at `SMOKE_FACTOR` times the target on a
  machine as slow as a bare peer has seen it meanwhile (`bench/weather.py`); elsewhere not at all,
  because programs that wait for each other slow down more than any of them.
- `reported`: not at all, because another limit of the figure covers it better.
"""
QUIET_PERCENT = 25.0
"""The most that other programs may use of all cores where times and rates are judged."""
SMOKE_FACTOR = 2.0
"""How far from its target a figure may be where only a tenth of its load is given."""
_SECONDS = {"s": 1.0, "ms": 1000.0}


@dataclass(frozen=True)
class Conditions:
    """The machine while a figure was measured."""

    slowness: float = 1.0
    """The time of a fixed piece of work over that on the machines of the targets; at least 1."""
    late_s: float = 0.0
    """The longest delay of a process that had slept."""
    others_percent: float = 0.0
    """Of all cores in use just before or just after it, the lesser of both: programs that run at
    both times are not the figure's own."""


class CannotMeasure(Exception):
    """This machine lacks what a figure needs; the text says what."""


@dataclass(frozen=True)
class Limit:
    """One number that is held to a target."""

    name: str
    unit: str
    target: float
    direction: Direction = "at_least"
    judged: Judged = "calibrated"

    def is_met(self, value: float) -> bool:
        """Whether the value reaches the target."""
        return value >= self.target if self.direction == "at_least" else value <= self.target

    def is_met_in_smoke(self, value: float, conditions: Conditions) -> bool:
        """Whether the value of a small load is good enough on a machine that others use."""
        if self.judged == "reported":
            return True
        if self.judged == "count":
            return self.is_met(value)
        if self.judged == "calibrated" and conditions.others_percent > QUIET_PERCENT:
            return True
        factor = SMOKE_FACTOR * (conditions.slowness if self.judged == "calibrated" else 1.0)
        if self.direction == "at_least":
            return value >= self.target / factor
        late = conditions.late_s * _SECONDS.get(self.unit, 0.0)
        return value <= self.target * factor + (late if self.judged == "calibrated" else 0.0)


@dataclass(frozen=True)
class Load:
    """How much is done: `runs` times `seconds` of load, or `count` things."""

    runs: int = 3
    seconds: float = 0.0
    count: int = 0


@dataclass(frozen=True)
class Measured:
    """One run: a value for each limit, in their order, and what else is worth telling."""

    values: Sequence[float]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """One line of the table; the first limit is the figure itself."""

    name: str
    limits: Sequence[Limit]
    measure: Callable[[Cluster, Load], Measured] | None
    full: Load
    smoke: Load
    needs: Needs = "shared"
    warm_up: bool = False
    """Measured once before it counts: new connections and first plans are not its subject."""
    measure_alone: Callable[[Load], Measured] | None = None
    """Instead of `measure` for a figure that needs no cluster."""
    in_smoke: bool = True
    """False for times of frames, which say nothing on a machine that others use, for a figure
    whose known miss stands in docs/performance/limits.md, for one whose small load is that of
    another figure, for `image_size`, whose packages take minutes to install, and for
    `mlflow_ratio`: what would miss its target misses that of `metric_points` first, and MLflow
    takes minutes too."""

"""What a figure is: its targets, its load, and how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.cluster import Cluster

Direction = Literal["at_least", "at_most"]
Needs = Literal["nothing", "shared", "own"]
"""Which cluster a figure is measured on: none, the one that figures share, or a fresh one."""

SMOKE_FACTOR = 2.0
"""How far from its target a figure may be where only a tenth of its load is given."""


class CannotMeasure(Exception):
    """This machine lacks what a figure needs; the text says what."""


@dataclass(frozen=True)
class Limit:
    """One number that is held to a target."""

    name: str
    unit: str
    target: float
    direction: Direction = "at_least"

    def is_met(self, value: float, factor: float = 1.0) -> bool:
        """Whether the value is good enough; `factor` times worse than the target still is."""
        if self.direction == "at_least":
            return value >= self.target / factor
        return value <= self.target * factor


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
    whose known miss stands in docs/performance.md, for one whose small load is that of another
    figure, and for `mlflow_ratio`: what would miss its target misses that of `metric_points`
    first, and MLflow takes minutes to install."""

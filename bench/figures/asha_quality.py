"""Adaptive ASHA over random search, in simulation; no cluster, no clock."""

from __future__ import annotations

from bench.asha_quality import compare
from bench.figure import Figure, Limit, Load, Measured

SEEDS = range(1, 21)


def measure_alone(load: Load) -> Measured:
    """The ratio of the instants at which the two searches arrive."""
    quality = compare(load.count, SEEDS)
    facts = quality._asdict()
    return Measured([facts.pop("near_best")], {"trials": load.count, **facts})


FIGURE = Figure(
    name="asha_quality",
    limits=[Limit("ratio", "of random's time", 0.5, "at_most", judged="ratio")],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, count=10_000),
    smoke=Load(runs=1, count=1000),
    needs="nothing",
)

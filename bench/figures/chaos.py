"""Histories in simulated time, with random kills, cuts and delays: what is lost or doubled."""

from __future__ import annotations

from bench.figure import Figure, Limit, Load, Measured
from bench.figures.program import lines_of

_EVENTS = 5000
_LIMIT_S = 1800


def measure_alone(load: Load) -> Measured:
    """Run `tests.chaos`: `count` seeds, each victim killed at half as many instants."""
    [line] = lines_of(
        "tests.chaos",
        *("--seeds", str(load.count), "--events", str(_EVENTS if load.count >= 200 else 500)),
        *("--instants", str(load.count // 2)),
        limit_s=_LIMIT_S,
        may_fail=True,
    )
    kinds = ("lost", "doubled", "leased twice", "left behind", "other")
    facts = {name: line[name] for name in ("seeds", "instants", "events", "seconds")}
    return Measured([float(line[kind]) for kind in kinds], facts)


FIGURE = Figure(
    name="chaos",
    limits=[
        Limit("lost", "violations", 0, "at_most", judged="count"),
        Limit("doubled", "violations", 0, "at_most", judged="count"),
        Limit("leased_twice", "violations", 0, "at_most", judged="count"),
        Limit("left_behind", "violations", 0, "at_most", judged="count"),
        Limit("other", "violations", 0, "at_most", judged="count"),
    ],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, count=200),
    smoke=Load(runs=1, count=20),
    needs="nothing",
)

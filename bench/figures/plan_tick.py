"""The time from a committed change to the next plan, for a large queue, by each policy."""

from __future__ import annotations

from bench.figure import Figure, Limit, Load, Measured
from bench.figures.program import lines_of

TARGET_MS = 100.0
LARGE_TARGET_MS = 250.0


def measure_alone(load: Load) -> Measured:
    """Run `bench.plan_ticks`: `count` requests wait, on a tenth as many agents."""
    ticks = min(200, max(20, load.count // 50))
    lines = lines_of(
        "bench.plan_ticks",
        *("--pending", str(load.count), "--agents", str(load.count // 10), "--ticks", str(ticks)),
    )
    by_policy = {line["policy"]: line for line in lines}
    p99 = {name: float(line["p99_ms"]) for name, line in by_policy.items()}
    facts = {"by_policy": by_policy}
    return Measured([max(p99.values()), *p99.values()], facts)


def _limits(target_ms: float) -> list[Limit]:
    names = ("p99", "p99_priority", "p99_preemption", "p99_fair_share")
    return [Limit(name, "ms", target_ms, "at_most") for name in names]


FIGURE = Figure(
    name="plan_tick",
    limits=_limits(TARGET_MS),
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, count=10_000),
    smoke=Load(runs=1, count=1_000),
    needs="nothing",
)
LARGE = Figure(
    name="plan_tick_50000",
    limits=_limits(LARGE_TARGET_MS),
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, count=50_000),
    smoke=Load(runs=1, count=2_000),
    needs="nothing",
)

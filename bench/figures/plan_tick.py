"""The time from a committed change to the next plan, for a large queue, by each policy."""

from __future__ import annotations

from bench.figure import Figure, Limit, Load, Measured
from bench.figures.program import lines_of

TARGET_MS = 100.0


def measure_alone(load: Load) -> Measured:
    """Run `bench.plan_ticks`: `count` requests wait, on a tenth as many agents."""
    ticks = max(20, load.count // 50)
    lines = lines_of(
        "bench.plan_ticks",
        *("--pending", str(load.count), "--agents", str(load.count // 10), "--ticks", str(ticks)),
    )
    by_policy = {line["policy"]: line for line in lines}
    p99 = {name: float(line["p99_ms"]) for name, line in by_policy.items()}
    facts = {"by_policy": by_policy}
    return Measured([max(p99.values()), *p99.values()], facts)


FIGURE = Figure(
    name="plan_tick",
    limits=[
        Limit("p99", "ms", TARGET_MS, "at_most"),
        Limit("p99_priority", "ms", TARGET_MS, "at_most"),
        Limit("p99_preemption", "ms", TARGET_MS, "at_most"),
        Limit("p99_fair_share", "ms", TARGET_MS, "at_most"),
    ],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, count=10_000),
    smoke=Load(runs=1, count=1_000),
    needs="nothing",
)

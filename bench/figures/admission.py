"""Durable start decisions a second, with gangs and preemption, on simulated agents."""

from __future__ import annotations

from bench.figure import Figure, Limit, Load, Measured
from bench.figures.program import lines_of


def measure_alone(load: Load) -> Measured:
    """Run `bench.admissions`."""
    [line] = lines_of("bench.admissions", "--seconds", str(load.seconds))
    facts = {name: line[name] for name in ("starts", "gangs", "preempted", "pending", "agents")}
    return Measured([float(line["starts_per_s"])], facts)


FIGURE = Figure(
    name="admission",
    limits=[Limit("rate", "starts/s", 200.0)],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=3, seconds=10.0),
    smoke=Load(runs=1, seconds=3.0),
    needs="nothing",
)

"""Lines from a task's stdout, through the agent, into the database."""

from __future__ import annotations

from bench import log_lines
from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured


def measure(cluster: Cluster, load: Load) -> Measured:
    """From the first line printed until all are stored; then all are read back."""
    printing = log_lines.start_printing(cluster, load.count)
    return Measured([log_lines.wait_until_stored(cluster, printing)], {"lines": load.count})


FIGURE = Figure(
    name="log_ingest",
    limits=[Limit("rate", "lines/s", 50_000.0)],
    measure=measure,
    full=Load(runs=3, count=500_000),
    smoke=Load(runs=1, count=50_000),
)

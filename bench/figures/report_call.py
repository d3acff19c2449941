"""What a call that reports metrics costs the training loop, while all of it is sent."""

from __future__ import annotations

import statistics
import time

from bench import rows
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from determined.common.api import Session
from determined.core._metrics import _MetricsContext

STEP_S = 0.001
"""A short training step: the caches are cold again, and the sender is at work."""
VALUES = {"loss": 0.123456, "accuracy": 0.9, "lr": 1e-4, "norm": 12.5, "epoch": 3}


def measure(cluster: Cluster, load: Load) -> Measured:
    """Median and 99th percentile of single calls; every report must be found again."""
    trial_id = reporting_trials(cluster, 1)[0]
    first = next(cluster.steps) * 10_000_000
    session = Session(cluster.address, "admin", cluster.token, None)
    context = _MetricsContext(session, trial_id, 0)
    context.start()
    took = []
    for steps in range(first, first + load.count):
        began = time.perf_counter()
        context.report("training", steps, VALUES)
        took.append((time.perf_counter() - began) * 1e6)
        time.sleep(STEP_S)
    context.close()
    session.close()
    stored, _ = rows.count_points(cluster, [trial_id], first)
    if stored < load.count:
        raise RuntimeError(f"{load.count} were reported, {stored} are stored")
    p99 = statistics.quantiles(took, n=100)[98]
    return Measured([statistics.median(took)], {"p99_us": round(p99, 1)})


FIGURE = Figure(
    name="report_call",
    limits=[Limit("median", "us", 50.0, "at_most")],
    measure=measure,
    full=Load(runs=3, count=3000),
    smoke=Load(runs=1, count=1000),
)

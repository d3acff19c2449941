"""Single metric reports, as the 0.38.1 harness sends them, each answered when it is durable."""

from __future__ import annotations

from bench import reports, rows
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import send_each_once

CONNECTIONS = 20
METRICS = 5
MAX_PER_SECOND = 8000


def measure(cluster: Cluster, load: Load) -> Measured:
    """50 trials in turn, every tenth report a validation; what was answered is then counted."""
    trial_ids = reporting_trials(cluster, reports.TRIALS)
    count = round(load.seconds * MAX_PER_SECOND)
    before, _ = rows.count_points(cluster, trial_ids, 0)
    requests = reports.single_reports(
        cluster, trial_ids, count, metrics=METRICS, validation_every=10
    )
    answered = send_each_once(cluster, requests, CONNECTIONS, load.seconds)
    stored, _ = rows.count_points(cluster, trial_ids, 0)
    if not answered.requests <= stored - before <= answered.requests + CONNECTIONS:
        raise RuntimeError(f"{answered.requests} were answered, {stored - before} are stored")
    return Measured([answered.rate, answered.p99_ms], answered.facts())


FIGURE = Figure(
    name="metric_report",
    limits=[Limit("rate", "reports/s", 3000.0), Limit("p99", "ms", 50.0, "at_most")],
    measure=measure,
    warm_up=True,
    full=Load(runs=3, seconds=10.0),
    smoke=Load(runs=1, seconds=1.0),
)

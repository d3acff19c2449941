"""The bulk route: 1,000 reports of 5 metrics a request, counted in the database afterwards."""

from __future__ import annotations

from bench import reports, rows
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import send_each_once

CONNECTIONS = 4
METRICS = 5
REPORTS = 1000
MAX_PER_SECOND = 150


def measure(cluster: Cluster, load: Load) -> Measured:
    """Points a second that were answered; all of them must be found again."""
    trial_ids = reporting_trials(cluster, reports.TRIALS)
    count = round(load.seconds * MAX_PER_SECOND)
    _, before = rows.count_points(cluster, trial_ids, 0)
    requests = reports.batches(cluster, trial_ids, count, reports=REPORTS, metrics=METRICS)
    answered = send_each_once(cluster, requests, CONNECTIONS, load.seconds)
    _, after = rows.count_points(cluster, trial_ids, 0)
    a_request = REPORTS * METRICS
    sent = answered.requests * a_request
    if not sent <= after - before <= sent + CONNECTIONS * a_request:
        raise RuntimeError(f"{sent} points were answered, {after - before} are stored")
    return Measured([sent / answered.seconds], {**answered.facts(), "stored": after - before})


FIGURE = Figure(
    name="metric_batch",
    limits=[Limit("rate", "points/s", 200_000.0)],
    measure=measure,
    warm_up=True,
    full=Load(runs=3, seconds=5.0),
    smoke=Load(runs=1, seconds=1.0),
)

"""Single reports of 100 metrics each, counted in the database afterwards."""

from __future__ import annotations

from bench import reports, rows
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import send_each_once

CONNECTIONS = 16
METRICS = 100
MOST_A_SECOND = 4000


def measure(cluster: Cluster, load: Load) -> Measured:
    """Points a second that were answered; all of them must be found again."""
    trial_ids = reporting_trials(cluster, reports.TRIALS)
    count = round(load.seconds * MOST_A_SECOND)
    _, before = rows.count_points(cluster, trial_ids, 0)
    requests = reports.single_reports(
        cluster, trial_ids, count, metrics=METRICS, validation_every=0
    )
    answered = send_each_once(cluster, requests, CONNECTIONS, load.seconds)
    _, after = rows.count_points(cluster, trial_ids, 0)
    sent = answered.requests * METRICS
    if not sent <= after - before <= sent + CONNECTIONS * METRICS:
        raise RuntimeError(f"{sent} points were answered, {after - before} are stored")
    return Measured([sent / answered.seconds], {**answered.facts(), "stored": after - before})


FIGURE = Figure(
    name="metric_points",
    limits=[Limit("rate", "points/s", 150_000.0)],
    measure=measure,
    warm_up=True,
    full=Load(runs=3, seconds=5.0),
    smoke=Load(runs=1, seconds=1.0),
)

"""Single reports of 100 metrics each, counted in the database afterwards."""

from __future__ import annotations

from bench import reports, rows
from bench.bare import bare_server, moved_to
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import send_each_once

CONNECTIONS = 16
METRICS = 100
MAX_PER_SECOND = 4000


def measure(cluster: Cluster, load: Load) -> Measured:
    """Points a second that were answered; all of them must be found again."""
    trial_ids = reporting_trials(cluster, reports.TRIALS)
    count = round(load.seconds * MAX_PER_SECOND)
    _, before = rows.count_points(cluster, trial_ids, 0)
    requests = list(
        reports.single_reports(cluster, trial_ids, count, metrics=METRICS, validation_every=0)
    )
    answered = send_each_once(cluster, requests, CONNECTIONS, load.seconds)
    _, after = rows.count_points(cluster, trial_ids, 0)
    sent = answered.requests * METRICS
    if not sent <= after - before <= sent + CONNECTIONS * METRICS:
        raise RuntimeError(f"{sent} points were answered, {after - before} are stored")
    with bare_server(cluster) as server:
        moved = (moved_to(server, request, "/report") for request in requests)
        bare = send_each_once(server, moved, CONNECTIONS, load.seconds)
    condition = "trial_id = ANY ($1) AND metrics ? $2"
    last = f"metric_{METRICS - 1}"
    copied = METRICS * rows.copy_alone(cluster, "metrics", condition, trial_ids, last)
    rate = sent / answered.seconds
    facts = {
        **answered.facts(),
        "stored": after - before,
        "bare": round(bare.rate * METRICS),
        "copy_alone": round(copied),
        "over_copy": round(rate / copied, 3),
    }
    return Measured([rate, rate / (bare.rate * METRICS)], facts)


FIGURE = Figure(
    name="metric_points",
    limits=[
        Limit("rate", "points/s", 150_000.0, judged="reported"),
        Limit("over_bare", "ratio", 0.5, judged="ratio"),
    ],
    measure=measure,
    warm_up=True,
    full=Load(runs=3, seconds=5.0),
    smoke=Load(runs=1, seconds=1.0),
)

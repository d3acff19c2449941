"""A series of 2,000 points that is read while its trial reports: no two answers are the same."""

from __future__ import annotations

import random

from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import repeat
from bench.load.paced import paced
from bench.reports import TRIALS, report_body

POINTS = 2000
BATCH = 500
MAX_POINTS = 10_000
METRICS = 2
CONNECTIONS = 4
REPORTS_A_SECOND = 100.0
FIRST_TRIAL = 10
"""Earlier ones are those of other figures."""


def measure(cluster: Cluster, load: Load) -> Measured:
    """Four clients read all points; the trial reports a hundred times a second."""
    trial_id = _next_trial(cluster)
    first = next(cluster.steps) * 10_000_000
    draw = random.Random(1)

    def body(step: int) -> dict[str, object]:
        return report_body(trial_id, step, METRICS, "training", draw)

    for start in range(first, first + POINTS, BATCH):
        reports = [body(step) for step in range(start, start + BATCH)]
        cluster.call("POST", f"/api/v1/trials/{trial_id}/metrics/batch", {"reports": reports})
    path = (
        f"/api/v1/trials/time-series?trialIds={trial_id}&metricIds=training.loss"
        f"&startBatches={first}&maxDatapoints={MAX_POINTS}"
    )
    new = (body(step) for step in range(first + POINTS, first + MAX_POINTS))
    reporting = paced(cluster, f"/api/v1/trials/{trial_id}/metrics", new, REPORTS_A_SECOND)
    with reporting as sent:
        answered = repeat(cluster, path, CONNECTIONS, load.seconds)
    _check(cluster, path, first, POINTS + sent.count)
    facts = {**answered.facts(), "reports_per_s": round(sent.count / answered.seconds, 1)}
    return Measured([answered.rate], facts)


def _next_trial(cluster: Cluster) -> int:
    number = FIRST_TRIAL + int(cluster.prepared.get("series_live", 0))
    cluster.prepared["series_live"] = number - FIRST_TRIAL + 1
    return reporting_trials(cluster, TRIALS)[number]


def _check(cluster: Cluster, path: str, first: int, count: int) -> None:
    """Every report is a point of the last answer."""
    found = cluster.call("GET", path)["trials"][0]["metrics"][0]["data"]
    if [point["batches"] for point in found] != list(range(first, first + count)):
        raise RuntimeError(f"{count} reports were made, {len(found)} points are answered")


FIGURE = Figure(
    name="series_live",
    limits=[Limit("rate", "requests/s", 295.0)],
    measure=measure,
    warm_up=True,
    full=Load(runs=3, seconds=10.0),
    smoke=Load(runs=1, seconds=1.0),
)

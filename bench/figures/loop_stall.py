"""The longest stall of the master's event loop under metric reports and logs together."""

from __future__ import annotations

from bench import log_lines, reports
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.figures.metric_report import CONNECTIONS, MAX_PER_SECOND, METRICS
from bench.load.http_load import send_each_once

PATH = "/api/v1/master/loop-stall"


def measure(cluster: Cluster, load: Load) -> Measured:
    """Both loads at once; the master itself tells the longest gap since the last question."""
    trial_ids = reporting_trials(cluster, reports.TRIALS)
    count = round(load.seconds * MAX_PER_SECOND)
    requests = list(
        reports.single_reports(cluster, trial_ids, count, metrics=METRICS, validation_every=10)
    )
    printing = log_lines.start_printing(cluster, load.count)
    cluster.call("GET", PATH)
    answered = send_each_once(cluster, requests, CONNECTIONS, load.seconds)
    rate = log_lines.wait_until_stored(cluster, printing)
    stall = cluster.call("GET", PATH)
    facts = {"reports_per_s": round(answered.rate), "lines_per_s": round(rate)}
    return Measured([stall["longestMs"]], {**facts, "watched_s": round(stall["watchedS"], 1)})


FIGURE = Figure(
    name="loop_stall",
    limits=[Limit("longest", "ms", 100.0, "at_most")],
    measure=measure,
    full=Load(runs=3, seconds=10.0, count=400_000),
    smoke=Load(runs=1, seconds=1.0, count=40_000),
)

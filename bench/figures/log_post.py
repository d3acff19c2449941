"""Lines posted to the master, 1,000 a request, each request answered when it is durable."""

from __future__ import annotations

from bench import experiments, log_lines, rows
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import send_in_turn
from bench.reports import TRIALS

CONNECTIONS = 4
LINES = 1000
DIFFERENT = 20


def measure(cluster: Cluster, load: Load) -> Measured:
    """Lines a second that were answered; all of them must be found again."""
    trial_id = reporting_trials(cluster, TRIALS)[0]
    task_id = experiments.task_id(cluster, trial_id)
    before = rows.count_lines(cluster, task_id)
    requests = list(log_lines.posts(cluster, task_id, DIFFERENT, LINES))
    answered = send_in_turn(cluster, requests, CONNECTIONS, load.seconds)
    stored = rows.count_lines(cluster, task_id) - before
    sent = answered.requests * LINES
    if not sent <= stored <= sent + CONNECTIONS * LINES:
        raise RuntimeError(f"{sent} lines were answered, {stored} are stored")
    alone = rows.copy_alone(cluster, "task_logs", "task_id = $1", task_id)
    rate = sent / answered.seconds
    return Measured([rate, rate / alone], {**answered.facts(), "copy_alone": round(alone)})


FIGURE = Figure(
    name="log_post",
    limits=[
        Limit("rate", "lines/s", 110_000.0, judged="reported"),
        Limit("over_copy", "ratio", 0.5, judged="ratio"),
    ],
    measure=measure,
    warm_up=True,
    full=Load(runs=3, seconds=5.0),
    smoke=Load(runs=1, seconds=1.0),
)

"""How fast pages are read: the user, a trial, an experiment, lists, a series.

Beside each page stands the same over a bare server: one route and one statement.
"""

from __future__ import annotations

import json
import random

from bench import experiments
from bench.bare import bare_server
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import Answered, repeat, request_bytes, send_in_turn
from bench.reports import TRIALS, plain_reports, report_body

EXPERIMENTS = 200
REPORTS = 40
POINTS = 2000
BATCH = 500
SERIES_FROM = 1_500_000_000
FULL = Load(runs=3, seconds=10.0)
SMOKE = Load(runs=1, seconds=1.0)


def measure_me(cluster: Cluster, load: Load) -> Measured:
    """The caller's own user, 16 connections."""
    return _beside_bare(cluster, "/api/v1/me", "/me", 16, load)


def measure_trial(cluster: Cluster, load: Load) -> Measured:
    """One trial that has reported metrics and validations, 8 connections."""
    trial_id = _reported(cluster)
    return _beside_bare(cluster, f"/api/v1/trials/{trial_id}", f"/trial?{trial_id}", 8, load)


def measure_experiment(cluster: Cluster, load: Load) -> Measured:
    """One experiment with its configuration, 8 connections."""
    trial = cluster.call("GET", f"/api/v1/trials/{_reported(cluster)}")["trial"]
    number = trial["experimentId"]
    return _beside_bare(cluster, f"/api/v1/experiments/{number}", f"/experiment?{number}", 8, load)


def measure_experiments(cluster: Cluster, load: Load) -> Measured:
    """A list of 50 with 200 experiments in the database, 8 connections."""
    experiments.fill(cluster, EXPERIMENTS)
    answered = repeat(cluster, "/api/v1/experiments?limit=50", 8, load.seconds)
    return Measured([answered.rate], answered.facts())


def measure_runs(cluster: Cluster, load: Load) -> Measured:
    """A search without a filter for 50 runs, 8 connections."""
    experiments.fill(cluster, EXPERIMENTS)
    body = json.dumps({"limit": 50}).encode()
    request = request_bytes(cluster, "POST", "/api/v1/runs", body)
    answered = send_in_turn(cluster, [request], 8, load.seconds)
    with bare_server(cluster) as server:
        bare = repeat(server, "/runs?50", 8, load.seconds)
    return _compared(answered, bare)


def measure_series(cluster: Cluster, load: Load) -> Measured:
    """One metric of a trial with 2,000 reports, all points, 4 connections."""
    trial_id = reporting_trials(cluster, TRIALS)[1]
    if "series_2000" not in cluster.prepared:
        draw = random.Random(1)
        for start in range(0, POINTS, BATCH):
            steps = range(SERIES_FROM + start, SERIES_FROM + start + BATCH)
            reports = [report_body(trial_id, step, 2, "training", draw) for step in steps]
            path = f"/api/v1/trials/{trial_id}/metrics/batch"
            cluster.call("POST", path, {"reports": reports})
        cluster.prepared["series_2000"] = trial_id
    path = (
        f"/api/v1/trials/time-series?trialIds={trial_id}&metricIds=training.loss"
        f"&startBatches={SERIES_FROM}&maxDatapoints={POINTS}"
    )
    found = cluster.call("GET", path)["trials"][0]["metrics"][0]["data"]
    if len(found) != POINTS:
        raise RuntimeError(f"{len(found)} points of {POINTS} are answered")
    return _beside_bare(cluster, path, f"/series?{trial_id}", 4, load)


def _reported(cluster: Cluster) -> int:
    """A trial with reports."""
    trial_id = reporting_trials(cluster, TRIALS)[0]
    if "reported" not in cluster.prepared:
        for report in plain_reports(trial_id, REPORTS, next(cluster.steps)):
            cluster.call("POST", f"/api/v1/trials/{trial_id}/metrics", report)
        cluster.prepared["reported"] = REPORTS
    return trial_id


def _beside_bare(
    cluster: Cluster, path: str, bare_path: str, connections: int, load: Load
) -> Measured:
    answered = repeat(cluster, path, connections, load.seconds)
    with bare_server(cluster) as server:
        bare = repeat(server, bare_path, connections, load.seconds)
    return _compared(answered, bare)


def _compared(answered: Answered, bare: Answered) -> Measured:
    facts = {**answered.facts(), "bare": round(bare.rate)}
    return Measured([answered.rate, answered.rate / bare.rate], facts)


ME = Figure(
    name="api_me",
    limits=[
        Limit("rate", "requests/s", 9000.0, judged="reported"),
        Limit("over_bare", "ratio", 0.6, judged="ratio"),
    ],
    measure=measure_me,
    warm_up=True,
    full=FULL,
    smoke=SMOKE,
)
TRIAL = Figure(
    name="api_trial",
    limits=[
        Limit("rate", "requests/s", 3000.0, judged="reported"),
        Limit("over_bare", "ratio", 0.6, judged="ratio"),
    ],
    measure=measure_trial,
    warm_up=True,
    full=FULL,
    smoke=SMOKE,
)
LIST = Figure(
    name="api_experiments",
    limits=[Limit("rate", "requests/s", 750.0)],
    measure=measure_experiments,
    warm_up=True,
    full=FULL,
    smoke=SMOKE,
)
EXPERIMENT = Figure(
    name="api_experiment",
    limits=[
        Limit("rate", "requests/s", 3700.0, judged="reported"),
        Limit("over_bare", "ratio", 0.5, judged="ratio"),
    ],
    measure=measure_experiment,
    warm_up=True,
    full=FULL,
    smoke=SMOKE,
)
RUNS = Figure(
    name="api_runs",
    limits=[
        Limit("rate", "requests/s", 1320.0, judged="reported"),
        Limit("over_bare", "ratio", 0.5, judged="ratio"),
    ],
    measure=measure_runs,
    warm_up=True,
    full=FULL,
    smoke=SMOKE,
)
SERIES = Figure(
    name="series_2000",
    limits=[
        Limit("rate", "requests/s", 295.0, judged="reported"),
        Limit("over_bare", "ratio", 0.5, judged="ratio"),
    ],
    measure=measure_series,
    warm_up=True,
    full=FULL,
    smoke=SMOKE,
)

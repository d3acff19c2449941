"""How fast pages are read: the user, a trial, a list of experiments."""

from __future__ import annotations

from bench import experiments
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import repeat
from bench.reports import TRIALS, plain_reports

EXPERIMENTS = 200
REPORTS = 40
FULL = Load(runs=3, seconds=10.0)
SMOKE = Load(runs=1, seconds=1.0)


def measure_me(cluster: Cluster, load: Load) -> Measured:
    """The caller's own user, 16 connections."""
    return _measure(cluster, "/api/v1/me", 16, load)


def measure_trial(cluster: Cluster, load: Load) -> Measured:
    """One trial that has reported metrics and validations, 8 connections."""
    trial_ids = reporting_trials(cluster, TRIALS)
    if "reported" not in cluster.prepared:
        for report in plain_reports(trial_ids[0], REPORTS, next(cluster.steps)):
            cluster.call("POST", f"/api/v1/trials/{trial_ids[0]}/metrics", report)
        cluster.prepared["reported"] = REPORTS
    trial_id = trial_ids[0]
    return _measure(cluster, f"/api/v1/trials/{trial_id}", 8, load)


def measure_experiments(cluster: Cluster, load: Load) -> Measured:
    """A list of 50 with 200 experiments in the database, 8 connections."""
    experiments.fill(cluster, EXPERIMENTS)
    return _measure(cluster, "/api/v1/experiments?limit=50", 8, load)


def _measure(cluster: Cluster, path: str, connections: int, load: Load) -> Measured:
    answered = repeat(cluster, path, connections, load.seconds)
    return Measured([answered.rate], answered.facts())


ME = Figure(
    name="api_me",
    limits=[Limit("rate", "requests/s", 9000.0)],
    measure=measure_me,
    warm_up=True,
    full=FULL,
    smoke=SMOKE,
)
TRIAL = Figure(
    name="api_trial",
    limits=[Limit("rate", "requests/s", 3000.0)],
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

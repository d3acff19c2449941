"""How long the command line client takes, from its start to its end."""

from __future__ import annotations

import time

from bench import experiments
from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured

EXPERIMENTS = 20


def measure_version(cluster: Cluster, load: Load) -> Measured:
    """`det --version`."""
    return _measure(cluster, "--version")


def measure_list(cluster: Cluster, load: Load) -> Measured:
    """`det experiment list`."""
    experiments.fill(cluster, EXPERIMENTS)
    cluster.prepared.setdefault("login", _log_in(cluster))
    return _measure(cluster, "experiment", "list")


def _measure(cluster: Cluster, *words: str) -> Measured:
    since = time.perf_counter()
    printed = cluster.det(*words)
    elapsed_s = time.perf_counter() - since
    if not printed.strip():
        raise RuntimeError(f"det {' '.join(words)} printed nothing")
    return Measured([elapsed_s], {"printed_lines": printed.count("\n")})


def _log_in(cluster: Cluster) -> bool:
    """Starting the cluster has logged its caller in; make sure of it."""
    return cluster.det("user", "whoami") != ""


VERSION = Figure(
    name="cli_version",
    limits=[Limit("elapsed", "s", 0.1, "at_most")],
    measure=measure_version,
    full=Load(runs=20),
    smoke=Load(runs=3),
)
LIST = Figure(
    name="cli_experiment_list",
    limits=[Limit("elapsed", "s", 0.35, "at_most")],
    measure=measure_list,
    full=Load(runs=20),
    smoke=Load(runs=3),
)

"""From the request that creates an experiment to its end, of a script that does nothing."""

from __future__ import annotations

import time

from bench import experiments
from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured


def measure(cluster: Cluster, load: Load) -> Measured:
    """Submit the script and wait until the experiment is COMPLETED."""
    body = experiments.submission("return_at_once.py")
    since = time.perf_counter()
    experiments.wait_until_ended(cluster, experiments.send(cluster, body))
    return Measured([time.perf_counter() - since])


FIGURE = Figure(
    name="empty_trial",
    limits=[Limit("p50", "s", 1.5, "at_most")],
    measure=measure,
    full=Load(runs=20),
    smoke=Load(runs=3),
)

"""From the request that creates an experiment to the call that launches a machine for it."""

from __future__ import annotations

import math
import random
import statistics
import time

from tests.backends.cloud.ec2_server import Ec2Server
from tests.e2e.cluster import Cluster, until
from tests.e2e.cluster_api import ENDED

from bench.cloud import cloud_cluster, experiment, launches
from bench.figure import Figure, Limit, Load, Measured

MAX_PAUSE_S = 2.0
"""Work does not come in step with the master's ticks."""


def measure(load: Load) -> Measured:
    """Submit `count` experiments one after the other; each needs one machine more."""
    pauses = random.Random(18)
    took: list[float] = []
    with cloud_cluster(max_instances=load.count) as (cluster, ec2):
        for number in range(load.count):
            time.sleep(pauses.uniform(0.0, MAX_PAUSE_S))
            since = time.monotonic()
            cluster.submit(experiment("cloud_decision"), {"t.py": ""})
            took.append(_launched_at(ec2, number) - since)
        _end_all(cluster)
        asked = len(launches(ec2))
    ordered = sorted(took)
    p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    facts = {"p50": round(statistics.median(took), 3), "slowest": round(ordered[-1], 3)}
    return Measured([p95], {**facts, "launches": asked, "submitted": load.count})


def _launched_at(ec2: Ec2Server, number: int) -> float:
    until(lambda: len(launches(ec2)) > number, what="a launch")
    return launches(ec2)[number]


def _end_all(cluster: Cluster) -> None:
    listed = cluster.get("/api/v1/experiments", limit=-1)["experiments"]
    for found in listed:
        if found["state"].removeprefix("STATE_") not in ENDED:
            cluster.post(f"/api/v1/experiments/{found['id']}/kill")


FIGURE = Figure(
    name="cloud_decision",
    limits=[Limit("p95", "s", 3.0, "at_most")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=40),
    smoke=Load(runs=1, count=8),
)

"""Second start of a cluster: from the command until an experiment could start."""

from __future__ import annotations

import time

from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured


def measure(cluster: Cluster, load: Load) -> Measured:
    """Stop the cluster and time its start, agent and slots included."""
    cluster.down()
    since = time.perf_counter()
    cluster.up()
    command_s = time.perf_counter() - since
    cluster.wait_until_usable()
    return Measured([time.perf_counter() - since], {"command_s": round(command_s, 2)})


FIGURE = Figure(
    name="cluster_up",
    limits=[Limit("cluster_up", "s", 3.0, "at_most")],
    measure=measure,
    full=Load(runs=5),
    smoke=Load(runs=1),
    needs="own",
)

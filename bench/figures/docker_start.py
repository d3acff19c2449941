"""From the request that creates an experiment to the first line of its code, in a container.

The image is on the machine and has Python alone; the cluster is idle.
"""

from __future__ import annotations

import statistics
import time

from tests.e2e.cluster import Cluster, until

from bench.docker_cluster import docker_cluster, seen_by_tasks
from bench.experiments import TASKS
from bench.figure import Figure, Limit, Load, Measured


def measure(load: Load) -> Measured:
    """Submit a script that writes down when its first line ran, one after the other."""
    with docker_cluster(slots=1) as cluster:
        _one(cluster, 0)  # opens connections and reads files for the first time
        took = [_one(cluster, number) for number in range(1, load.count + 1)]
    return Measured([statistics.median(took)], {"slowest": round(max(took), 3)})


def _one(cluster: Cluster, number: int) -> float:
    folder = seen_by_tasks(cluster)
    config = {
        "name": "bench docker_start",
        "entrypoint": "python3 first_line.py",
        "searcher": {"name": "single", "metric": "loss"},
        "max_restarts": 0,
        "environment": {"environment_variables": [f"BENCH_FILE=/seen/{number}"]},
        "bind_mounts": [{"host_path": str(folder), "container_path": "/seen"}],
    }
    since = time.time()
    experiment = cluster.submit(config, {"first_line.py": (TASKS / "first_line.py").read_text()})
    written = folder / str(number)
    until(lambda: written.exists() and written.read_text(), what="the first line of user code")
    cluster.wait(experiment)
    return float(written.read_text()) - since


FIGURE = Figure(
    name="docker_start",
    limits=[Limit("p50", "s", 1.0, "at_most")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=20),
    smoke=Load(runs=1, count=3),
)

"""A grid of one-second trials on two slots in Docker, from its request to COMPLETED.

Half the number of trials in seconds is the ideal.
"""

from __future__ import annotations

import time

from tests.e2e.cluster import Cluster

from bench.docker_cluster import docker_cluster
from bench.experiments import TASKS
from bench.figure import Figure, Limit, Load, Measured

FULL = 20
SLOTS = 2


def measure(load: Load) -> Measured:
    """Run one trial to be warm, then the grid; told as if it had had all of its trials."""
    with docker_cluster(slots=SLOTS) as cluster:
        _grid(cluster, SLOTS)
        took_s = _grid(cluster, load.count)
    return Measured([took_s * FULL / load.count], {"trials": load.count})


def _grid(cluster: Cluster, trials: int) -> float:
    config = {
        "name": "bench docker_grid",
        "entrypoint": "python3 one_second.py",
        "searcher": {"name": "grid", "metric": "loss", "max_concurrent_trials": SLOTS},
        "hyperparameters": {"x": {"type": "int", "minval": 1, "maxval": trials, "count": trials}},
        "max_restarts": 0,
    }
    since = time.perf_counter()
    files = {"one_second.py": (TASKS / "one_second.py").read_text()}
    experiment = cluster.submit(config, files)
    state = cluster.wait(experiment, 300)
    took_s = time.perf_counter() - since
    if state != "COMPLETED" or len(cluster.trials(experiment)) != trials:
        raise RuntimeError(f"the grid ended as {state}")
    return took_s


FIGURE = Figure(
    name="docker_grid",
    limits=[Limit("time", "s", 25.0, "at_most")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=FULL),
    smoke=Load(runs=1, count=4),
)

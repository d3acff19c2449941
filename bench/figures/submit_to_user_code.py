"""From the request that creates an experiment to the first line of its code, cluster idle."""

from __future__ import annotations

import time

from bench import experiments
from bench.cluster import Cluster, until
from bench.figure import Figure, Limit, Load, Measured


def measure(cluster: Cluster, load: Load) -> Measured:
    """Submit a script that writes down when its first line ran.

    The clock starts before the request is sent, so that its handling counts, too.
    """
    written = cluster.directory / f"first-line-{next(cluster.steps)}"
    written.touch(mode=0o666)
    written.chmod(0o666)
    body = experiments.submission("first_line.py", variables={"BENCH_FILE": str(written)})
    since = time.time()
    experiment_id = experiments.send(cluster, body)
    until(lambda: written.read_text() != "", 60, "the first line of user code")
    started_at = float(written.read_text())
    experiments.wait_until_ended(cluster, experiment_id)
    return Measured([started_at - since])


FIGURE = Figure(
    name="submit_to_user_code",
    limits=[Limit("p50", "s", 0.7, "at_most")],
    measure=measure,
    warm_up=True,
    full=Load(runs=20),
    smoke=Load(runs=3),
)

"""The kill of a search of 10,000 trials, and an experiment of a neighbour beside it.

The search has no limit of trials at once. It has created those that run and those that may wait
for slots. The neighbour's experiment needs no slots: what it waits for is the master alone.
"""

from __future__ import annotations

import statistics
import threading
import time

from bench import experiments
from bench.cluster import Cluster, until
from bench.figure import Figure, Limit, Load, Measured

ALONE = 5
"""Experiments of the neighbour before each kill; the median counts."""
LIMIT_S = 120.0
PAUSE_S = 0.02
_IS_WAITING = 100
"""Trials that the search creates ahead of their slots (`config_limits.max_waiting_trials`)."""


def measure(cluster: Cluster, load: Load) -> Measured:
    """Seconds from the kill to the search's end; the neighbour's time over that alone."""
    alone_s = statistics.median(_neighbour_s(cluster) for _ in range(ALONE))
    searcher = {
        "name": "random",
        "metric": "loss",
        "max_trials": load.count,
        "max_concurrent_trials": 0,
    }
    search = experiments.submit(cluster, "sleep.py", searcher=searcher)
    least = min(_IS_WAITING, load.count)
    until(
        lambda: _count_trials(cluster, search) > least, LIMIT_S, "the search's trials", pause_s=0.2
    )
    until(
        lambda: experiments.state_of(cluster, search) == "STATE_RUNNING",
        LIMIT_S,
        "its first trial",
    )
    trials = _count_trials(cluster, search)
    beside_s: list[float] = []
    neighbour = threading.Thread(target=lambda: beside_s.append(_neighbour_s(cluster)))
    began = time.perf_counter()
    cluster.call("POST", f"/api/v1/experiments/{search}/kill")
    neighbour.start()
    until(
        lambda: experiments.state_of(cluster, search) in experiments.ENDED,
        LIMIT_S,
        "the search's end",
        pause_s=PAUSE_S,
    )
    kill_s = time.perf_counter() - began
    neighbour.join()
    facts = {"trials": load.count, "open": trials, "alone_s": round(alone_s, 2)}
    return Measured([kill_s, beside_s[0] / alone_s], {**facts, "beside_s": round(beside_s[0], 2)})


def _neighbour_s(cluster: Cluster) -> float:
    """How long an experiment without slots takes, from its submission to its end."""
    body = experiments.submission("return_at_once.py", slots=0)
    began = time.perf_counter()
    experiment_id = experiments.send(cluster, body)
    experiments.wait_until_ended(cluster, experiment_id, LIMIT_S)
    return time.perf_counter() - began


def _count_trials(cluster: Cluster, experiment_id: int) -> int:
    found = cluster.call("GET", f"/api/v1/experiments/{experiment_id}")["experiment"]["numTrials"]
    return int(found)


FIGURE = Figure(
    name="kill_search",
    limits=[Limit("time", "s", 5.0, "at_most"), Limit("neighbour", "x", 1.2, "at_most")],
    measure=measure,
    needs="own",
    full=Load(runs=5, count=10_000),
    smoke=Load(runs=1, count=1_000),
)

"""The kill of a search of 10,000 trials, and an experiment of a neighbour beside it.

The search has no limit of trials at once. It has created those that run and those that may wait
for slots. The neighbour's experiment needs no slots: what it waits for is the master alone.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from bench import experiments
from bench.cluster import Cluster, until
from bench.figure import Figure, Limit, Load, Measured

PAIRS = 3
"""Kills in a run. The neighbour's experiment runs once alone before each, and once beside it: what
else the machine does meets both alike."""
LIMIT_S = 120.0
POLL_S = 0.02
"""Questions that the master answers, as often alone as beside a kill, are work for it too."""
_IS_WAITING = 100
"""Trials that the search creates ahead of their slots (`config_limits.max_waiting_trials`)."""


def measure(cluster: Cluster, load: Load) -> Measured:
    """Medians: seconds from a kill to the search's end; the neighbour's time over that alone."""
    _neighbour_s(cluster)
    kills_s, alone_s, beside_s = [], [], []
    for _ in range(PAIRS):
        alone_s.append(_neighbour_s(cluster))
        search = _start(cluster, load)
        trials = _count_trials(cluster, search)
        with ThreadPoolExecutor(1) as executor:
            began = time.perf_counter()
            cluster.call("POST", f"/api/v1/experiments/{search}/kill")
            neighbour = executor.submit(_neighbour_s, cluster)
            _wait_until_ended(cluster, search, pause_s=5 * POLL_S)
            kills_s.append(time.perf_counter() - began)
            beside_s.append(neighbour.result())
    alone, beside = statistics.median(alone_s), statistics.median(beside_s)
    facts = {"trials": load.count, "open": trials, "alone_s": round(alone, 2)}
    return Measured(
        [statistics.median(kills_s), beside / alone], {**facts, "beside_s": round(beside, 2)}
    )


def _start(cluster: Cluster, load: Load) -> int:
    """A search that has created all trials that it may, one of which runs."""
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
        pause_s=0.2,
    )
    return search


def _neighbour_s(cluster: Cluster) -> float:
    """How long an experiment without slots takes, from its submission to its end."""
    body = experiments.submission("return_at_once.py", slots=0)
    began = time.perf_counter()
    experiment_id = experiments.send(cluster, body)
    _wait_until_ended(cluster, experiment_id, pause_s=POLL_S)
    return time.perf_counter() - began


def _wait_until_ended(cluster: Cluster, experiment_id: int, *, pause_s: float) -> None:
    until(
        lambda: experiments.state_of(cluster, experiment_id) in experiments.ENDED,
        LIMIT_S,
        "the experiment's end",
        pause_s=pause_s,
    )


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

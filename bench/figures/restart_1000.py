"""A master that is killed while 1,000 allocations run, until it schedules again.

The pool is full and a few trials wait. At the kill one container ends; its agent tells the new
master so, which gives the slot to the next trial. `det deploy`'s supervisor starts the master
again; all agents dial at once. Then no container may have been killed, and only that one
allocation may have ended.
"""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime

import psutil

from bench import experiments
from bench.cluster import Cluster, until
from bench.figure import Figure, Limit, Load, Measured
from bench.fleet import Fleet, simulated_cluster
from bench.rows import fetch_value

WAITING = 10
SETUP_LIMIT_S = 600.0
LIMIT_S = 90.0
_ASSIGNED = """
    SELECT min(at) FROM journal
     WHERE kind = 'allocation' AND at > $1 AND event LIKE '{"event":"assigned"%'
"""
_RUNNING = "SELECT count(*) FROM allocations WHERE state = 'RUNNING'"
_ENDED = "SELECT count(*) FROM allocations WHERE ended_at IS NOT NULL"


def measure_alone(load: Load) -> Measured:
    """Seconds from the kill to the first allocation assigned after it."""
    with simulated_cluster(load.count, 1) as (cluster, fleet):
        _fill(cluster, fleet, load.count)
        joins = fleet.counts()["joins"]
        killed_at = datetime.now(UTC)
        os.kill(cluster.pids()["master"], signal.SIGKILL)
        fleet.end(1)
        seconds = (_wait_for_start(cluster, killed_at) - killed_at).total_seconds()
        fleet.wait_for("joins", joins + load.count, LIMIT_S)
        back_s = (datetime.now(UTC) - killed_at).total_seconds()
        cpu_s = sum(psutil.Process(cluster.pids()["master"]).cpu_times()[:2])
        fleet.wait_for("running", load.count, LIMIT_S)
        killed, ended = fleet.counts()["killed"], fetch_value(cluster, _ENDED)
        if killed or ended != 1:
            raise RuntimeError(f"{killed} containers were killed, {ended} allocations ended")
    facts = {
        "allocations": load.count,
        "all_back_after_s": round(back_s, 1),
        "cpu_of_the_new_master_s": round(cpu_s, 1),
    }
    return Measured([seconds], facts)


def _fill(cluster: Cluster, fleet: Fleet, count: int) -> None:
    """Have an allocation run on each agent, and some wait."""
    searcher = {
        "name": "random",
        "metric": "loss",
        "max_trials": count + WAITING,
        "max_concurrent_trials": count + WAITING,
    }
    experiments.submit(cluster, "return_at_once.py", searcher=searcher)
    fleet.wait_for("running", count, SETUP_LIMIT_S)
    until(lambda: fetch_value(cluster, _RUNNING) == count, LIMIT_S, "their states", pause_s=0.2)


def _wait_for_start(cluster: Cluster, since: datetime) -> datetime:
    """When an allocation was given slots for the first time after that."""
    found: list[datetime] = []

    def has_started() -> bool:
        at = fetch_value(cluster, _ASSIGNED, since)
        found.extend([at] if at is not None else [])
        return bool(found)

    until(has_started, LIMIT_S, "a start", pause_s=0.1)
    return found[0]


FIGURE = Figure(
    name="restart_1000",
    limits=[Limit("time", "s", 10.0, "at_most")],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, count=1_000),
    smoke=Load(runs=1, count=100),
    needs="nothing",
)

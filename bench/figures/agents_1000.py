"""What a master costs that keeps 1,000 simulated agents and has nothing to do."""

from __future__ import annotations

import time

import psutil

from bench.figure import Figure, Limit, Load, Measured
from bench.fleet import simulated_cluster

MIB = 1024 * 1024
SLOTS = 8


def measure_alone(load: Load) -> Measured:
    """Memory of the master, and its CPU time while nothing happens; PostgreSQL is not counted."""
    began_s = time.perf_counter()
    with simulated_cluster(load.count, SLOTS) as (cluster, fleet):
        joined_s = time.perf_counter() - began_s
        master = psutil.Process(cluster.pids()["master"])
        time.sleep(load.seconds / 3)
        before_s, since = _cpu_s(master), time.perf_counter()
        time.sleep(load.seconds * 2 / 3)
        percent = 100 * (_cpu_s(master) - before_s) / (time.perf_counter() - since)
        rss = master.memory_info().rss / MIB
        counts = fleet.counts()
        if counts["joins"] != load.count:
            raise RuntimeError(f"{load.count} agents joined {counts['joins']} times")
    facts = {"agents": load.count, "slots": SLOTS, "up_and_joined_s": round(joined_s, 1)}
    return Measured([rss, percent], facts)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


FIGURE = Figure(
    name="agents_1000",
    limits=[
        Limit("rss", "MB", 600.0, "at_most", judged="count"),
        Limit("cpu", "% of a core", 25.0, "at_most"),
    ],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, seconds=60.0, count=1_000),
    smoke=Load(runs=1, seconds=6.0, count=100),
    needs="nothing",
)

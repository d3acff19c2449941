"""What a cluster costs that has nothing to do, one minute after its one experiment ended."""

from __future__ import annotations

import time

import psutil

from bench import experiments
from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured

MIB = 1024 * 1024


def measure(cluster: Cluster, load: Load) -> Measured:
    """Memory of master and agent, and the CPU time of both while nothing happens.

    PostgreSQL's processes are the master's children and are not counted.
    """
    experiment_id = experiments.submit(cluster, "return_at_once.py")
    experiments.wait_until_ended(cluster, experiment_id)
    pids = cluster.pids()
    master = psutil.Process(pids["master"])
    agents = [psutil.Process(pid) for name, pid in pids.items() if "agent" in name]
    time.sleep(load.seconds / 2)
    before_s = sum(_cpu_s(process) for process in [master, *agents])
    since = time.perf_counter()
    time.sleep(load.seconds / 2)
    cpu_s = sum(_cpu_s(process) for process in [master, *agents]) - before_s
    return Measured(
        [
            master.memory_info().rss / MIB,
            max(agent.memory_info().rss for agent in agents) / MIB,
            100 * cpu_s / (time.perf_counter() - since),
        ]
    )


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


FIGURE = Figure(
    name="idle",
    limits=[
        Limit("master_rss", "MB", 200.0, "at_most", judged="count"),
        Limit("agent_rss", "MB", 60.0, "at_most", judged="count"),
        Limit("cpu", "% of a core", 1.0, "at_most"),
    ],
    measure=measure,
    full=Load(runs=1, seconds=60.0),
    # Sooner after the experiment, its end is what is measured.
    smoke=Load(runs=1, seconds=30.0),
    needs="own",
)

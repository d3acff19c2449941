"""A master on the smallest machine that the documents name: 2 cores, 4 GB, PostgreSQL beside it.

Agents are simulated, on machines of their own. Trials run on all of their slots and end one after
the other, others start; each reports metrics and prints lines as a harness does.
"""

from __future__ import annotations

import http.client
import itertools
import random
import time
from collections.abc import Iterator

from bench import experiments
from bench.cluster import HOST, Cluster
from bench.figure import Figure, Limit, Load, Measured
from bench.fleet import Fleet, simulated_cluster
from bench.limited import GIB, limited_machine
from bench.load.paced import Request, paced_requests
from bench.log_lines import LINE_BYTES
from bench.reports import REPORT_TIME, report_body
from bench.rows import fetch_value

MEMORY_BYTES = 4 * GIB
CORES = 2
SLOTS = 8
TRIALS_AN_AGENT = 20
"""In the course of the run; as many as slots run at a time."""
METRICS = 5
TURN_S = 10.0
"""Each running trial reports once and posts `LINES` lines in this time."""
LINES = 20
READ_EVERY_S = 0.05
END_LIMIT_S = 300.0
_RUNNING = """
    SELECT string_agg(t.id || ' ' || t.task_id, ',') FROM trials t
      JOIN allocations a ON a.task_id = t.task_id WHERE a.state = 'RUNNING'
"""


def measure_alone(load: Load) -> Measured:
    """The p99 of `GET me` in ms, and how many processes the lack of memory has ended."""
    agents = load.count // TRIALS_AN_AGENT
    with (
        limited_machine(MEMORY_BYTES, CORES) as machine,
        simulated_cluster(agents, SLOTS, machine.inside) as (cluster, fleet),
    ):
        searcher = {
            "name": "random",
            "metric": "loss",
            "max_trials": load.count,
            "max_concurrent_trials": agents * SLOTS,
        }
        experiment = experiments.submit(cluster, "return_at_once.py", searcher=searcher)
        fleet.wait_for("running", agents * SLOTS)
        per_second = 2 * agents * SLOTS / TURN_S
        with paced_requests(cluster, _requests(cluster), per_second) as sent:
            taken = sorted(_reads(cluster, fleet, load))
        used, peak, kills = machine.used_bytes(), machine.peak_bytes(), machine.kills()
        _end(cluster, fleet, experiment, load.count)
    facts = {
        "agents": agents,
        "trials": load.count,
        "reads": len(taken),
        "p50_ms": round(1000 * taken[len(taken) // 2], 2),
        "slowest_ms": round(1000 * taken[-1], 1),
        "posts_a_second": round(sent.count / load.seconds, 1),
        "used_mb": round(used / 1e6),
        "peak_with_cache_mb": round(peak / 1e6),
    }
    return Measured([1000 * taken[len(taken) * 99 // 100], kills], facts)


def _reads(cluster: Cluster, fleet: Fleet, load: Load) -> Iterator[float]:
    """Seconds of each `GET me`, while one trial ends after the other."""
    connection = http.client.HTTPConnection(HOST, cluster.port, timeout=60)
    began_s, ended = time.monotonic(), 0
    try:
        while (passed_s := time.monotonic() - began_s) < load.seconds:
            due = int(load.count * passed_s / load.seconds)
            if due > ended:
                fleet.end(due - ended)
                ended = due
            since = time.perf_counter()
            connection.request("GET", "/api/v1/me", headers=cluster.headers())
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"GET me: {answer.status}")
            yield time.perf_counter() - since
            time.sleep(READ_EVERY_S)
    finally:
        connection.close()


def _requests(cluster: Cluster) -> Iterator[Request]:
    """A report and some lines of each running trial in turn."""
    draw = random.Random(1)
    text = "a line as a task's log shipper sends it ".ljust(LINE_BYTES - 1, ".") + "\n"
    for steps in itertools.count(1):
        for one in str(fetch_value(cluster, _RUNNING)).split(","):
            trial_id, task_id = one.split()
            path = f"/api/v1/trials/{trial_id}/metrics"
            yield path, report_body(int(trial_id), steps, METRICS, "training", draw, run_id=1)
            line = {"taskId": task_id, "timestamp": REPORT_TIME, "level": "LOG_LEVEL_INFO"}
            yield "/api/v1/task/logs", {"logs": [{**line, "log": text}] * LINES}


def _end(cluster: Cluster, fleet: Fleet, experiment: int, count: int) -> None:
    """Let all trials end; each must have been started once."""
    deadline = time.monotonic() + END_LIMIT_S
    while experiments.state_of(cluster, experiment) not in experiments.ENDED:
        counts = fleet.end(count)
        if time.monotonic() > deadline:
            raise TimeoutError(f"the experiment has not ended after {END_LIMIT_S:.0f} s: {counts}")
        time.sleep(0.1)
    started, state = fleet.counts()["started"], experiments.state_of(cluster, experiment)
    if (started, state) != (count, "STATE_COMPLETED"):
        raise RuntimeError(f"{started} of {count} trials were started, the end was {state}")


FIGURE = Figure(
    name="master_4gb",
    limits=[
        Limit("p99", "ms", 50.0, "at_most"),
        Limit("out_of_memory", "processes", 0, "at_most", judged="count"),
    ],
    measure=None,
    measure_alone=measure_alone,
    needs="nothing",
    full=Load(runs=1, seconds=1800.0, count=1_000),
    smoke=Load(runs=1, seconds=60.0, count=100),
)

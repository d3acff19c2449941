"""Reads of single things, and of short lists, in a cluster in which 100,000 trials have run."""

from __future__ import annotations

from typing import Any

from bench import past_rows
from bench.cluster import HOST, Cluster
from bench.figure import Figure, Limit, Load, Measured
from bench.load import client
from bench.load.http_load import request_bytes

EXPERIMENTS = 10_000
TARGET_MS = 60.0
PERCENT = 95


def routes(cluster: Cluster) -> dict[str, str]:
    """Paths by names, of the newest experiment and of what belongs to it."""
    experiments = cluster.call("GET", "/api/v1/experiments?limit=1&orderBy=ORDER_BY_DESC")
    experiment = experiments["experiments"][0]["id"]
    trials = cluster.call("GET", f"/api/v1/experiments/{experiment}/trials?limit=1")
    trial = trials["trials"][0]
    saved = cluster.call("GET", f"/api/v1/trials/{trial['id']}/checkpoints?limit=1")
    checkpoint = saved["checkpoints"][0]["uuid"]
    api = "/api/v1"
    return {
        "experiment": f"{api}/experiments/{experiment}",
        "experiment_trials": f"{api}/experiments/{experiment}/trials",
        "experiment_checkpoints": f"{api}/experiments/{experiment}/checkpoints",
        "experiment_story": f"{api}/experiments/{experiment}/story",
        "trial": f"{api}/trials/{trial['id']}",
        "trial_checkpoints": f"{api}/trials/{trial['id']}/checkpoints",
        "trial_story": f"{api}/trials/{trial['id']}/story",
        "trial_workloads": f"{api}/trials/{trial['id']}/workloads",
        "checkpoint": f"{api}/checkpoints/{checkpoint}",
        "task": f"{api}/tasks/{trial['taskId']}",
        "allocation": f"{api}/allocations/{trial['taskId']}.1",
        "notebooks": f"{api}/notebooks?limit=50",
        "job_queue": f"{api}/job-queues",
        "job_queue_stats": f"{api}/job-queues/stats",
        "models": f"{api}/models?limit=50",
        "projects": f"{api}/workspaces/1/projects",
        "workspaces": f"{api}/workspaces",
        "users": f"{api}/users?limit=50",
        "events": "/api/ui/v1/events?limit=50",
        "overview": "/api/ui/v1/overview",
        "activity": "/api/ui/v1/overview/activity",
    }


def measure(cluster: Cluster, load: Load) -> Measured:
    """The 95th percentile of each route, one client; the figure is the slowest of them."""
    past_rows.fill(cluster, load.count)
    p95: dict[str, Any] = {}
    for name, path in routes(cluster).items():
        cluster.call("GET", path)  # raises for another status than 200
        request = request_bytes(cluster, "GET", path, b"")
        times = client.run(HOST, cluster.port, iter([request] * 10_000), 1, load.seconds)
        p95[f"{name}_ms"] = round(times.percentile(PERCENT) * 1e3, 1)
    over = [name for name, value in p95.items() if value > TARGET_MS]
    return Measured([max(p95.values())], {"p95": p95, "over": over})


FIGURE = Figure(
    name="reads_after_years",
    limits=[Limit("slowest_p95", "ms", TARGET_MS, "at_most")],
    measure=measure,
    full=Load(runs=1, seconds=1.0, count=EXPERIMENTS),
    smoke=Load(runs=1, seconds=0.2, count=EXPERIMENTS // 10),
    needs="own",
)

"""A gang of 64 pods among 2,000 waiting requests: until all of its pods are created."""

from __future__ import annotations

import time

from tests.e2e.cluster_api import until

from bench.figure import Figure, Limit, Load, Measured
from bench.figures.k8s_1000 import LIMIT_S, ON_HOLLOW, PODS_A_NODE, hollow_scene

WAITING = 2_000
A_SEARCH = 100
"""Waiting requests of one experiment."""
NOWHERE = {"spec": {"nodeSelector": {"determined.test/nowhere": "true"}}}


def measure(load: Load) -> Measured:
    """From the request, which includes its plan, for a gang of `count` pods."""
    waiting = WAITING * load.count // 64
    nodes = load.count // PODS_A_NODE + 1
    with hollow_scene(nodes, slot_resource_requests={"cpu": 0.1}, max_slots_per_pod=1) as scene:
        cluster = scene.bed.cluster
        for _ in range(0, waiting, A_SEARCH):
            scene.bed.submit(
                "waits",
                "pass",
                searcher={"name": "grid", "metric": "loss", "max_concurrent_trials": A_SEARCH},
                hyperparameters={
                    "x": {"type": "int", "minval": 1, "maxval": A_SEARCH, "count": A_SEARCH}
                },
                environment={"pod_spec": NOWHERE},
            )

        def queued() -> int:
            return len(cluster.get("/api/v1/tasks")["allocationIdToSummary"])

        until(lambda: queued() >= waiting, LIMIT_S, f"{waiting} waiting requests")
        since = time.perf_counter()
        scene.bed.submit(
            "gang",
            "pass",
            resources={"slots_per_trial": load.count},
            environment={"pod_spec": ON_HOLLOW},
        )
        until(lambda: scene.api.phases(scene.namespace), LIMIT_S, "the first pod")
        first_s = time.perf_counter() - since
        created = lambda: len(scene.api.phases(scene.namespace)) >= load.count  # noqa: E731
        until(created, LIMIT_S, "all pods of the gang")
        took_s = time.perf_counter() - since
        for found in cluster.get("/api/v1/experiments", limit=-1)["experiments"]:
            cluster.post(f"/api/v1/experiments/{found['id']}/kill")
        scene.api.delete_pods(scene.namespace)
    facts = {
        "first_after_s": round(first_s, 2),
        "pods": load.count,
        "nodes": nodes,
        "waiting": waiting,
    }
    return Measured([took_s], facts)


FIGURE = Figure(
    name="k8s_gang",
    limits=[Limit("time", "s", 5.0, "at_most")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=64),
    smoke=Load(runs=1, count=16),
    in_smoke=False,
)

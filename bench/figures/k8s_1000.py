"""Many pods at once on hollow nodes of a real cluster, and what their master costs then.

The full load is 1,000 pods on 100 nodes. Each line says how many there were.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil
from tests.e2e.cluster_api import until
from tests.e2e.pods import HOLLOW, IMAGE

from bench.figure import CannotMeasure, Figure, Limit, Load, Measured
from bench.hollow_nodes import LABEL, hollow_nodes
from bench.kubernetes_api import FROM_CACHE, Api
from bench.kubernetes_cluster import PodsOfABed, pods_of_a_bed

PODS_A_NODE = 10
LIMIT_S = 900.0
MIB = 1024 * 1024
ON_HOLLOW = {"spec": {"nodeSelector": {LABEL: "true"}}}


@dataclass(frozen=True)
class Scene:
    """A master with nothing but hollow nodes for its tasks."""

    bed: PodsOfABed
    nodes: int

    @property
    def api(self) -> Api:
        return self.bed.api

    @property
    def namespace(self) -> str:
        return self.bed.pods.namespace

    def submit(self, count: int, name: str = "many") -> int:
        """An experiment of so many trials without slots; its number."""
        return self.bed.submit(
            name,
            "pass",
            searcher={"name": "grid", "metric": "loss", "max_concurrent_trials": count},
            hyperparameters={
                "x": {"type": "int", "minval": 1, "maxval": count + 1, "count": count}
            },
            resources={"slots_per_trial": 0},
            environment={"pod_spec": ON_HOLLOW},
        )

    def wait_for_start(self, count: int) -> None:
        """Wait until so many pods run, or have run: some hollow kubelets end some at once."""
        self.api.wait_for_pods(self.namespace, count, "status.phase!=Pending", LIMIT_S)

    def pods_of(self, experiment: int) -> list[Any]:
        """The pods of an experiment."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        label = {"labelSelector": f"determined.ai/experiment_id={experiment}"}
        items: list[Any] = self.api.call("GET", path, query={**label, **FROM_CACHE})["items"]
        return items

    def end(self, *experiments: int) -> None:
        """Kill all experiments, then remove their pods, which hollow kubelets end slowly."""
        for experiment in experiments:
            self.bed.cluster.post(f"/api/v1/experiments/{experiment}/kill")
        self.api.delete_pods(self.namespace)
        for experiment in experiments:
            self.bed.cluster.wait(experiment, LIMIT_S)


@contextlib.contextmanager
def hollow_scene(nodes: int, **manager: Any) -> Iterator[Scene]:
    """A fresh master and its hollow nodes; `manager` as `pods_of_a_bed` takes it.

    Raises:
        CannotMeasure: there is no cluster, or no program of hollow nodes.
    """
    if not HOLLOW:
        raise CannotMeasure("DET_TEST_KUBEMARK names no program of hollow nodes")
    with (
        pods_of_a_bed(**manager) as bed,
        hollow_nodes(nodes, bed.api, bed.pods.shared),
    ):
        until(lambda: len(bed.cluster.connected()) > nodes, LIMIT_S, "nodes")
        yield Scene(bed, nodes)


def measure_1000(load: Load) -> Measured:
    """From the request until all run, over bare pods; then the master with nothing to do."""
    with hollow_scene(load.count // PODS_A_NODE) as scene:
        bare_s = _run_bare(scene, load.count)
        since = time.perf_counter()
        experiment = scene.submit(load.count)
        scene.wait_for_start(load.count)
        took_s = time.perf_counter() - since
        core, memory = _cost(scene, load.seconds)
        scene.end(experiment)
    facts = {
        "seconds": round(took_s, 1),
        "bare": round(bare_s, 1),
        "pods": load.count,
        "nodes": scene.nodes,
    }
    return Measured([took_s / bare_s, core, memory], facts)


def measure_restart(load: Load) -> Measured:
    """From `kill -9` of a master with many pods until it has created the pod of a new task."""
    with hollow_scene(load.count // PODS_A_NODE) as scene:
        experiment = scene.submit(load.count)
        scene.wait_for_start(load.count)
        phases = scene.api.phases(scene.namespace)
        before = {uid for uid, phase in phases.items() if phase == "Running"}
        cluster = scene.bed.cluster
        since = time.perf_counter()
        cluster.kill("master")
        cluster.start_master()
        answers_s = time.perf_counter() - since
        late = scene.submit(1, "after the kill")
        until(lambda: scene.pods_of(late), LIMIT_S, "a new pod")
        took_s = time.perf_counter() - since
        after = scene.api.phases(scene.namespace)
        lost = sum(after.get(uid) != "Running" for uid in before)
        scene.end(experiment, late)
    facts = {"answers_after_s": round(answers_s, 1), "pods": len(before), "nodes": scene.nodes}
    return Measured([took_s, float(lost)], facts)


def _run_bare(scene: Scene, count: int) -> float:
    container = {"name": "bare", "image": IMAGE, "command": ["sleep", "3600"]}
    spec: dict[str, Any] = {**ON_HOLLOW["spec"], "containers": [container]}
    spec.update(restartPolicy="Never", enableServiceLinks=False)
    bodies = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"bare-{n}"}, "spec": spec}
        for n in range(count)
    ]
    since = time.perf_counter()
    scene.api.create_all(f"/api/v1/namespaces/{scene.namespace}/pods", bodies)
    scene.wait_for_start(count)
    took_s = time.perf_counter() - since
    scene.api.delete_pods(scene.namespace)
    return took_s


def _cost(scene: Scene, seconds: float) -> tuple[float, float]:
    """Percent of a core, and MB, of a master whose pods only run; after as long a pause."""
    master = psutil.Process(scene.bed.cluster.processes["master"].pid)
    time.sleep(seconds)
    before, since = sum(master.cpu_times()[:2]), time.perf_counter()
    time.sleep(seconds)
    spent_s = sum(master.cpu_times()[:2]) - before
    return 100 * spent_s / (time.perf_counter() - since), master.memory_info().rss / MIB


FIGURES = (
    Figure(
        name="k8s_1000",
        limits=[
            Limit("over bare pods", "x", 1.2, "at_most", judged="ratio"),
            Limit("idle_cpu", "% of a core", 10.0, "at_most"),
            Limit("idle_rss", "MB", 300.0, "at_most", judged="count"),
        ],
        measure=None,
        measure_alone=measure_1000,
        needs="nothing",
        full=Load(runs=1, count=1_000, seconds=30.0),
        smoke=Load(runs=1, count=100, seconds=10.0),
        in_smoke=False,
    ),
    Figure(
        name="k8s_restart",
        limits=[
            Limit("time", "s", 10.0, "at_most"),
            Limit("lost", "pods", 0.0, "at_most", judged="count"),
        ],
        measure=None,
        measure_alone=measure_restart,
        needs="nothing",
        full=Load(runs=1, count=1_000),
        smoke=Load(runs=1, count=100),
        in_smoke=False,
    ),
)

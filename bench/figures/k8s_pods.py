"""Tasks as pods of a real cluster, over bare pods of the same image in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.cluster_api import until

from bench.experiments import TASKS
from bench.figure import Figure, Limit, Load, Measured
from bench.kubernetes_cluster import LIMIT_S, PodsOfABed, pods_of_a_bed

FIRST_LINE = """
import os, time
at = time.time()
name = os.environ["BENCH_FILE"]
with open(name + ".new", "w") as file:
    file.write(str(at))
os.rename(name + ".new", name)
"""
NOTHING = "pass"
GRID_TRIALS, GRID_SLOTS = 20, 2


def measure_start(load: Load) -> Measured:
    """From the request to the first line of the user's code; both in turn."""
    with pods_of_a_bed() as bed:
        _ours(bed, "warm")
        ours, bare = [], []
        for number in range(load.count):
            bare.append(_bare(bed, number))
            ours.append(_ours(bed, str(number)))
    ours_s, bare_s = statistics.median(ours), statistics.median(bare)
    return Measured([ours_s / bare_s], {"seconds": round(ours_s, 2), "bare": round(bare_s, 2)})


def measure_20(load: Load) -> Measured:
    """Trials without slots, at once, to their end; and as many bare pods."""
    with pods_of_a_bed() as bed:
        _ours(bed, "warm")
        bare_s = bed.run_bare(load.count, NOTHING)
        took_s = _trials(bed, NOTHING, load.count, slots=0)
    facts = {"seconds": round(took_s, 1), "bare": round(bare_s, 1), "pods": load.count}
    return Measured([took_s / bare_s], facts)


def measure_grid(load: Load) -> Measured:
    """One-second trials on two slots, over half of their number in seconds."""
    with pods_of_a_bed() as bed:
        _ours(bed, "warm")
        took_s = _trials(
            bed, (TASKS / "one_second.py").read_text(), load.count, slots=1, at_once=GRID_SLOTS
        )
    ideal_s = load.count / GRID_SLOTS
    return Measured([took_s / ideal_s], {"seconds": round(took_s, 1), "trials": load.count})


def _ours(bed: PodsOfABed, name: str) -> float:
    file = bed.pods.shared / f"ours-{name}"
    variables = {"environment_variables": [f"BENCH_FILE={file}"]}
    since = time.time()
    experiment = bed.submit("k8s_start", FIRST_LINE, environment=variables)
    took_s = _written(file) - since
    bed.finish(experiment)
    return took_s


def _bare(bed: PodsOfABed, number: int) -> float:
    file = bed.pods.shared / f"bare-{number}"
    since = time.time()
    bed.run_bare(1, FIRST_LINE, {"BENCH_FILE": str(file)})
    return _written(file) - since


def _written(file: Path) -> float:
    """The time that a program has written down."""
    until(file.exists, LIMIT_S, "the first line")
    return float(file.read_text())


def _trials(bed: PodsOfABed, script: str, count: int, slots: int, at_once: int = 0) -> float:
    since = time.perf_counter()
    experiment = bed.submit(
        "k8s trials",
        script,
        searcher={"name": "grid", "metric": "loss", "max_concurrent_trials": at_once or count},
        hyperparameters={"x": {"type": "int", "minval": 1, "maxval": count, "count": count}},
        resources={"slots_per_trial": slots},
    )
    state = bed.cluster.wait(experiment, LIMIT_S)
    took_s = time.perf_counter() - since
    if state != "COMPLETED":
        raise RuntimeError(f"the trials ended as {state}")
    bed.finish(experiment)
    return took_s


def _figure(
    name: str,
    over: str,
    target: float,
    measure: Callable[[Load], Measured],
    counts: tuple[int, int],
) -> Figure:
    """A ratio; `counts` are of the full and of the small load."""
    return Figure(
        name=name,
        limits=[Limit(over, "x", target, "at_most", judged="ratio")],
        measure=None,
        measure_alone=measure,
        needs="nothing",
        full=Load(runs=1, count=counts[0]),
        smoke=Load(runs=1, count=counts[1]),
        in_smoke=False,
    )


FIGURES = (
    _figure("k8s_start", "over a bare pod", 1.25, measure_start, (7, 2)),
    _figure("k8s_20", "over bare pods", 1.2, measure_20, (20, 4)),
    _figure("k8s_grid", "over the ideal", 4.0, measure_grid, (GRID_TRIALS, 4)),
)

"""Validations of one search, and of one ten times as large; in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from bench.cluster import ROOT
from bench.figure import Figure, Limit, Load, Measured

LARGER = 10
LIMIT_S = 1200.0


def measure_alone(load: Load) -> Measured:
    """The rate of a search of `load.count` trials, and what is left of it in the larger one."""
    first, larger = _run(load.count), _run(load.count * LARGER)
    values = [float(first["value"]), float(larger["value"]) / float(first["value"])]
    facts = {name: first[name] for name in ("trials", "p50_ms", "p99_ms", "cpu_us")}
    more = {"postgres_cpu_us": first["postgres_cpu_us"], "larger": larger}
    return Measured(values, {**facts, **more})


def _run(trials: int) -> dict[str, Any]:
    """Run `bench.search_events`, which also compares the end with a replay."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.search_events", "--trials", str(trials)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"bench.search_events failed: {done.stderr[-1000:]}")
    line: dict[str, Any] = json.loads(done.stdout)
    return line


FIGURE = Figure(
    name="search_events",
    limits=[
        Limit("rate", "validations/s", 3000.0),
        Limit("larger_over_this", "ratio", 0.7, judged="ratio"),
    ],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, count=10_000),
    smoke=Load(runs=1, count=1000),
    needs="nothing",
)

"""Reports a second while many tabs of the web UI are open, against those without a viewer."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from bench import reports
from bench.cluster import ROOT, Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.figures.loop_stall import PATH
from bench.figures.metric_report import CONNECTIONS, MAX_PER_SECOND, METRICS
from bench.load.http_load import Answered, send_each_once


def measure(cluster: Cluster, load: Load) -> Measured:
    """The same load without viewers, with them, and without again; the mean of the two counts."""
    trial_ids = reporting_trials(cluster, reports.TRIALS)
    before = _load(cluster, trial_ids, load)
    with _viewers(cluster, load.count, _topics(cluster, trial_ids)) as counted:
        cluster.call("GET", PATH)
        watched = _load(cluster, trial_ids, load)
        stall = cluster.call("GET", PATH)
    after = _load(cluster, trial_ids, load)
    alone = (before.rate + after.rate) / 2
    if counted["errors"]:
        raise RuntimeError(f"viewers were refused topics: {counted}")
    facts = {
        "alone_per_s": round(alone),
        "watched_per_s": round(watched.rate),
        "frames_per_s": round(counted["frames"] / load.seconds),
        "mb_per_s": round(counted["bytes"] / load.seconds / 1e6, 2),
        "resets": counted["resets"],
    }
    return Measured([watched.rate / alone, stall["longestMs"]], facts)


def _load(cluster: Cluster, trial_ids: Sequence[int], load: Load) -> Answered:
    count = round(load.seconds * MAX_PER_SECOND)
    requests = list(
        reports.single_reports(cluster, trial_ids, count, metrics=METRICS, validation_every=10)
    )
    return send_each_once(cluster, requests, CONNECTIONS, load.seconds)


def _topics(cluster: Cluster, trial_ids: Sequence[int]) -> list[str]:
    """Five for each page of a run: the trial, its metrics, its experiment, its project, `me`."""
    found = []
    for trial_id in trial_ids:
        trial = cluster.call("GET", f"/api/v1/trials/{trial_id}")["trial"]
        experiment = f"exp:{trial['experimentId']}"
        runs = "project:1/runs"
        found += [f"run:{trial_id}", f"metrics:{trial_id}", experiment, runs, "me"]
    return found


@contextlib.contextmanager
def _viewers(cluster: Cluster, count: int, topics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Connections that are open meanwhile; afterwards what they got."""
    command = [sys.executable, "-m", "bench.load.viewers", str(cluster.port), cluster.token]
    with subprocess.Popen(
        [*command, str(count), *topics],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline().strip() != "open":
            raise RuntimeError("the viewers could not connect")
        counted: dict[str, Any] = {}
        try:
            yield counted
            process.stdin.write("end\n")
            process.stdin.flush()
            counted.update(json.loads(process.stdout.readline()))
        finally:
            process.kill()


FIGURE = Figure(
    name="ui_viewers",
    limits=[
        Limit("ratio", "of reports/s", 0.9, judged="ratio"),
        Limit("stall", "ms", 100.0, "at_most"),
    ],
    measure=measure,
    warm_up=True,
    full=Load(runs=3, seconds=10.0, count=200),
    smoke=Load(runs=1, seconds=1.0, count=20),
)

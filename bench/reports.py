"""Requests that report metrics, as the 0.38.1 harness sends them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from bench.cluster import Cluster
from bench.load.http_load import request_bytes

REPORT_TIME = "2026-01-01T00:00:00.000000+00:00"
TRIALS = 50


def single_reports(
    cluster: Cluster, trial_ids: Sequence[int], count: int, *, metrics: int, validation_every: int
) -> Iterator[bytes]:
    """`count` requests of one report each, the trials in turn; no two have the same key.

    Every `validation_every`th is a validation; 0 means none.
    """
    draw = random.Random(1)
    first = next(cluster.steps) * 10_000_000
    for n in range(count):
        trial_id = trial_ids[n % len(trial_ids)]
        is_validation = validation_every and n % validation_every == 0
        report = report_body(
            trial_id, first + n, metrics, "validation" if is_validation else "training", draw
        )
        body = json.dumps(report).encode()
        yield request_bytes(cluster, "POST", f"/api/v1/trials/{trial_id}/metrics", body)


def plain_reports(trial_id: int, count: int, first: int) -> Iterator[dict[str, Any]]:
    """Bodies of reports of four metrics of one trial, every fourth a validation."""
    draw = random.Random(1)
    for n in range(count):
        group = "validation" if n % 4 == 0 else "training"
        yield report_body(trial_id, first * 10_000_000 + n, 4, group, draw)


def batches(
    cluster: Cluster, trial_ids: Sequence[int], count: int, *, reports: int, metrics: int
) -> Iterator[bytes]:
    """`count` requests to the bulk route, each of so many reports of one trial."""
    draw = random.Random(1)
    first = next(cluster.steps) * 10_000_000
    for n in range(count):
        trial_id = trial_ids[n % len(trial_ids)]
        steps = range(first + n * reports, first + (n + 1) * reports)
        body = {"reports": [report_body(trial_id, s, metrics, "training", draw) for s in steps]}
        path = f"/api/v1/trials/{trial_id}/metrics/batch"
        yield request_bytes(cluster, "POST", path, json.dumps(body).encode())


def report_body(
    trial_id: int, steps: int, metrics: int, group: str, draw: random.Random, run_id: int = 0
) -> dict[str, Any]:
    """The body of one report, with so many metrics; the first is `loss`."""
    values = {"loss": draw.random()}
    values |= {f"metric_{i}": draw.random() for i in range(1, metrics)}
    return {
        "metrics": {
            "trialId": trial_id,
            "trialRunId": run_id,
            "stepsCompleted": steps,
            "reportTime": REPORT_TIME,
            "metrics": {"avgMetrics": values},
        },
        "group": group,
    }

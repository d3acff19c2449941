"""The web UI's chart of a series of a million reports, and of a tenth of it, in the API.

No answer is kept from an earlier request: each asks for another range.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

from bench.cluster import HOST, Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.figures import series_read
from bench.load import client
from bench.load.http_load import request_bytes

PATH = "/api/ui/v1/series"
BUCKETS = 1000
ZOOM = 10
"""Of the whole a chart shows one part in so many."""
FIRST_MS, ZOOM_MS = 400.0, 250.0
PERCENT = 95


def measure(cluster: Cluster, load: Load) -> Measured:
    """The 95th percentile of each, one client; the spikes must be in the answers."""
    trial_id = reporting_trials(cluster, 1)[0]
    if cluster.prepared.get("series") != load.count:
        asyncio.run(series_read.fill(cluster, trial_id, load.count))
        cluster.prepared["series"] = load.count
    started = time.monotonic()
    whole = cluster.call("POST", PATH, _body(trial_id, None, None))["series"][0]
    first_s = time.monotonic() - started
    _check(whole, load.count)
    p95 = {}
    for name, bodies in (
        ("first", (_body(trial_id, -n, None) for n in range(1, 100_000))),
        ("zoom", _zooms(trial_id, load.count)),
    ):
        requests = (request_bytes(cluster, "POST", PATH, json.dumps(b).encode()) for b in bodies)
        times = client.run(HOST, cluster.port, requests, 1, load.seconds)
        p95[name] = round(times.percentile(PERCENT) * 1e3, 1)
    facts = {"buckets": len(whole["x"]), "with_blocks_to_make_s": round(first_s, 2)}
    return Measured([p95["first"], p95["zoom"]], facts)


def _zooms(trial_id: int, count: int) -> Iterator[dict[str, Any]]:
    width = count // ZOOM
    for n in range(100_000):
        low = n * 7919 % (count - width)
        yield _body(trial_id, low, low + width)


def _body(trial_id: int, low: int | None, high: int | None) -> dict[str, Any]:
    metrics = [{"group": "training", "name": "loss"}]
    x_range = {"xMin": low, "xMax": high}
    return {"trialIds": [trial_id], "metrics": metrics, "buckets": BUCKETS, **x_range}


def _check(series: dict[str, Any], count: int) -> None:
    spikes = sum(most == 1000 for most in series["max"])
    if series["count"] != count or sum(series["n"]) != count or spikes < len(series_read.SPIKES):
        raise RuntimeError(f"{series['count']} values with {spikes} spikes")


FIGURE = Figure(
    name="ui_series_million",
    limits=[
        Limit("first_p95", "ms", FIRST_MS, "at_most"),
        Limit("zoom_p95", "ms", ZOOM_MS, "at_most"),
    ],
    measure=measure,
    full=Load(runs=1, seconds=5.0, count=series_read.REPORTS),
    smoke=Load(runs=1, seconds=0.5, count=series_read.REPORTS // 10),
    needs="own",
)

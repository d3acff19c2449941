"""One metric of a trial with a million reports, in 1,000 buckets; and one of 5,000 names.

No two requests are the same: an answer that is kept would be another figure (`series_2000`).
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

import asyncpg

from bench.cluster import HOST, Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load import client
from bench.load.http_load import request_bytes
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

REPORTS = 1_000_000
BUCKETS = 1000
POINTS = 2 * BUCKETS + 2
"""Two points a bucket, and both ends."""
SPIKES = (0.0007, 0.3141, 0.5, 0.9999)
LIMIT_S = 600
PERCENT = 95
NAMES = 5000
REPORTS_OF_NAMES = 500

_FILL = """
    INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
    SELECT $1, 'training', n, 0, now() - ($4 - n) * interval '10 milliseconds',
           jsonb_build_object('loss', 2 + sin(n / 1000.0) + ((n::bigint * 7919) % 1009) / 1009.0,
                              'acc', ((n::bigint * 104729) % 10007) / 10007.0, 'lr', 1.0 / n,
                              'grad_norm', ((n::bigint * 1299709) % 7919) / 100.0,
                              'epoch', n / 1000)
      FROM generate_series($2::int, $3::int) n
"""
_SPIKE = """
    UPDATE metrics SET metrics = metrics || '{"loss": 1000}'
     WHERE trial_id = $1 AND metric_group = 'training' AND steps = $2
"""

_FILL_NAMES = """
    INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
    SELECT $1, 'training', step, 0, now(), (
               SELECT jsonb_object_agg('m_' || name,
                                       ((step::bigint * 7919 + name) % 10007) / 10007.0)
                 FROM generate_series(0, $2::int - 1) name)
      FROM generate_series(1, $3::int) step
"""


def measure(cluster: Cluster, load: Load) -> Measured:
    """The 95th percentile, one client; the spikes must be in the answer."""
    trial_id = reporting_trials(cluster, 1)[0]
    if cluster.prepared.get("series") != load.count:
        asyncio.run(fill(cluster, trial_id, load.count))
        cluster.prepared["series"] = load.count
    path = (
        f"/api/v1/trials/time-series?trialIds={trial_id}&metricIds=training.loss"
        f"&maxDatapoints={POINTS}"
    )
    started = time.monotonic()
    found = cluster.call("GET", path)["trials"][0]["metrics"][0]["data"]
    first_s = time.monotonic() - started
    _check(found, load.count)
    requests = (
        request_bytes(cluster, "GET", f"{path}&endBatches={load.count - cut}")
        for cut in itertools.count(next(cluster.steps))
    )
    times = client.run(HOST, cluster.port, requests, 1, load.seconds)
    facts = {
        "points": len(found),
        "first_read_s": round(first_s, 2),
        "p50_ms": round(times.percentile(50) * 1e3, 1),
    }
    return Measured([round(times.percentile(PERCENT) * 1e3, 1)], facts)


def measure_names(cluster: Cluster, load: Load) -> Measured:
    """The 95th percentile, one client that asks for another metric each time."""
    trial_id = reporting_trials(cluster, 2)[1]
    if "series_names" not in cluster.prepared:
        asyncio.run(_run(cluster, (_FILL_NAMES, trial_id, NAMES, load.count)))
        cluster.prepared["series_names"] = trial_id
    path = f"/api/v1/trials/time-series?trialIds={trial_id}&metricIds=training."
    found = cluster.call("GET", f"{path}m_0")["trials"][0]["metrics"][0]["data"]
    if len(found) != load.count:
        raise RuntimeError(f"{load.count} reports were made, {len(found)} points are answered")
    requests = (request_bytes(cluster, "GET", f"{path}m_{n}") for n in range(1, NAMES))
    times = client.run(HOST, cluster.port, requests, 1, load.seconds)
    facts = {"reports": load.count, "p50_ms": round(times.percentile(50) * 1e3, 1)}
    return Measured([round(times.percentile(PERCENT) * 1e3, 1)], facts)


def spikes(count: int) -> list[int]:
    """The steps whose value stands far above all others."""
    return [1 + round(place * (count - 1)) for place in SPIKES]


def _check(found: list[dict[str, Any]], count: int) -> None:
    steps = [point["batches"] for point in found]
    missing = {1, count, *spikes(count)} - set(steps)
    if missing or not BUCKETS / 2 <= len(steps) <= POINTS:
        raise RuntimeError(f"{len(steps)} points without the steps {sorted(missing)}")


async def fill(cluster: Cluster, trial_id: int, count: int) -> None:
    """Give a trial so many reports, with its spikes."""
    each = 50_000
    fills = [
        (_FILL, trial_id, first, min(first + each - 1, count), count)
        for first in range(1, count + 1, each)
    ]
    raised = [(_SPIKE, trial_id, steps) for steps in spikes(count)]
    await _run(cluster, *fills, *raised)


async def _run(cluster: Cluster, *commands: tuple[Any, ...]) -> None:
    """Commands with their values; then the planner knows what there is."""
    options = connection_options(Layout(cluster.files / "postgres"))
    conn = await asyncpg.connect(**options, timeout=10)
    try:
        for query, *values in commands:
            await conn.execute(query, *values, timeout=LIMIT_S)
        await conn.execute("VACUUM ANALYZE metrics", timeout=LIMIT_S)
    finally:
        await conn.close()


FIGURE = Figure(
    name="series_read",
    limits=[Limit("p95", "ms", 60.0, "at_most")],
    measure=measure,
    full=Load(runs=1, seconds=5.0, count=REPORTS),
    smoke=Load(runs=1, seconds=0.5, count=REPORTS // 10),
    needs="own",
)
NAMES_FIGURE = Figure(
    name="series_names",
    limits=[Limit("p95", "ms", 100.0, "at_most")],
    measure=measure_names,
    full=Load(runs=1, seconds=5.0, count=REPORTS_OF_NAMES),
    smoke=Load(runs=1, seconds=0.5, count=REPORTS_OF_NAMES // 10),
    needs="own",
)

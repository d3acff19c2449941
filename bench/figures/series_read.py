"""One metric of a trial with a million reports, in 1,000 buckets that keep every spike."""

from __future__ import annotations

import asyncio
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


def measure(cluster: Cluster, load: Load) -> Measured:
    """The 95th percentile, one client; the spikes must be in the answer."""
    trial_id = reporting_trials(cluster, 1)[0]
    if cluster.prepared.get("series") != load.count:
        asyncio.run(_fill(cluster, trial_id, load.count))
        cluster.prepared["series"] = load.count
    path = (
        f"/api/v1/trials/time-series?trialIds={trial_id}&metricIds=training.loss"
        f"&maxDatapoints={POINTS}"
    )
    started = time.monotonic()
    found = cluster.call("GET", path)["trials"][0]["metrics"][0]["data"]
    first_s = time.monotonic() - started
    _check(found, load.count)
    request = request_bytes(cluster, "GET", path, b"")
    times = client.run(HOST, cluster.port, iter([request] * 100_000), 1, load.seconds)
    facts = {
        "points": len(found),
        "first_read_s": round(first_s, 2),
        "p50_ms": round(times.percentile(50) * 1e3, 1),
    }
    return Measured([round(times.percentile(PERCENT) * 1e3, 1)], facts)


def _spikes(count: int) -> list[int]:
    return [1 + round(place * (count - 1)) for place in SPIKES]


def _check(found: list[dict[str, Any]], count: int) -> None:
    steps = [point["batches"] for point in found]
    missing = {1, count, *_spikes(count)} - set(steps)
    if missing or not BUCKETS / 2 <= len(steps) <= POINTS:
        raise RuntimeError(f"{len(steps)} points without the steps {sorted(missing)}")


async def _fill(cluster: Cluster, trial_id: int, count: int) -> None:
    options = connection_options(Layout(cluster.files / "postgres"))
    conn = await asyncpg.connect(**options, timeout=10)
    try:
        each = 50_000
        for first in range(1, count + 1, each):
            last = min(first + each - 1, count)
            await conn.execute(_FILL, trial_id, first, last, count, timeout=LIMIT_S)
        for steps in _spikes(count):
            await conn.execute(_SPIKE, trial_id, steps)
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

"""Pages of a task's log of 10,000,000 lines: its ends, places by time, and searches."""

from __future__ import annotations

import http.client
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

from bench import experiments, rows
from bench.cluster import HOST, Cluster
from bench.figure import Figure, Limit, Load, Measured

PAGE = 100
AT_ONCE = 500_000
LINE_MS = 10
REQUESTS = 40
PERCENT = 95
LIMIT_S = 120.0
FREQUENT = "epoch finished"
RARE = "CUDA out of memory"
_FILL = f"""
    WITH stored AS (
        INSERT INTO task_logs (task_id, allocation_id, agent_id, container_id, rank_id, logged_at,
                               level, source, stdtype, log, stored_at)
        SELECT $1, $1 || '.1', 'agent-0', '6d5c31c0-76d4-4c0c-8d0c-0d3f0a0a51b1', 0,
               $2::timestamptz + n * interval '{LINE_MS} milliseconds', 3, 'task', 'stdout',
               'step ' || n || ' loss 0.' || (n::bigint * 7919) % 99991
               || ' throughput ' || (n::bigint * 104729) % 9973 || ' samples/s'
               || CASE WHEN n % 1000 = 0 THEN ' {FREQUENT}' ELSE '' END
               || CASE WHEN n = $5 THEN ' {RARE}' ELSE '' END || chr(10),
               now() - interval '5 minutes'
          FROM generate_series($3::int, $4::int) n
        RETURNING 1)
    SELECT count(*) FROM stored
"""


def measure(cluster: Cluster, load: Load) -> Measured:
    """The slowest 95th percentile of pages of 100 lines at 40 places, one client."""
    log = _filled(cluster, load.count)
    draw = random.Random(1)

    def place() -> dict[str, str]:
        at = log.start + timedelta(milliseconds=draw.randrange(load.count) * LINE_MS)
        return {"timestampAfter": at.isoformat()}

    def before() -> dict[str, str]:
        return {"timestampBefore": place()["timestampAfter"], **_NEWEST_FIRST}

    first_s = log.timed(place())
    cases: dict[str, Callable[[], dict[str, str]]] = {
        "oldest": dict,
        "newest": lambda: _NEWEST_FIRST,
        "after": place,
        "before": before,
        "search": lambda: {"searchText": FREQUENT, "limit": "10", **place()},
    }
    p95s = {
        name: _p95_ms([log.timed(make()) for _ in range(REQUESTS)]) for name, make in cases.items()
    }
    facts = {f"{name}_ms": round(value, 1) for name, value in p95s.items()}
    rare_s = log.timed({"searchText": RARE, "limit": "1"}, lines=1)
    return Measured(
        [max(p95s.values())],
        {
            "lines": load.count,
            **facts,
            "first_by_time_s": round(first_s, 2),
            "rare_search_s": round(rare_s, 2),
        },
    )


_NEWEST_FIRST = {"orderBy": "ORDER_BY_DESC"}


class _Log:
    """The log of one task, whose lines follow each other at the same pace."""

    def __init__(self, cluster: Cluster, task_id: str, start: datetime) -> None:
        self.start = start
        self._cluster = cluster
        self._path = f"/api/v1/tasks/{quote(task_id)}/logs"
        self._connection = http.client.HTTPConnection(HOST, cluster.port, timeout=LIMIT_S)

    def timed(self, query: dict[str, str], lines: int | None = None) -> float:
        """Seconds until a page is read whole.

        Raises:
            RuntimeError: the answer is no success, or has fewer lines than asked for.
        """
        query = {"limit": str(PAGE), **query}
        began = time.perf_counter()
        self._connection.request(
            "GET", f"{self._path}?{urlencode(query)}", headers=self._cluster.headers()
        )
        answer = self._connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - began
        found = body.count(b'"result"')
        if answer.status != 200 or (lines is not None and found != lines) or not found:
            raise RuntimeError(f"{query}: {answer.status} with {found} lines: {body[:300]!r}")
        return took


def _filled(cluster: Cluster, count: int) -> _Log:
    """A task whose log has so many lines; filled once for all runs."""
    known = cluster.prepared.get("long_log")
    if known is None:
        trial_id = experiments.reporting_trials(cluster, 1)[0]
        task_id = experiments.task_id(cluster, trial_id)
        start = datetime.now(UTC) - timedelta(milliseconds=count * LINE_MS)
        for first in range(1, count + 1, AT_ONCE):
            last = min(first + AT_ONCE - 1, count)
            rows.fetch_value(cluster, _FILL, task_id, start, first, last, count // 2)
        rows.execute(cluster, "VACUUM ANALYZE task_logs")
        known = cluster.prepared["long_log"] = (task_id, start)
    return _Log(cluster, *known)


def _p95_ms(times: list[float]) -> float:
    return sorted(times)[len(times) * PERCENT // 100] * 1e3


FIGURE = Figure(
    name="task_logs_10m",
    limits=[Limit("p95", "ms", 100.0, "at_most")],
    measure=measure,
    needs="own",
    full=Load(runs=1, count=10_000_000),
    smoke=Load(runs=1, count=1_000_000),
)

"""A master that is killed while 10,000 trials are open, until it schedules again.

A hundred searches wait for the one or two slots that there are, with the hundred trials each that
may wait at once (`config_limits.max_waiting_trials`). The clock runs
from the kill to the first allocation that the new master assigns: it is started again by
`det deploy`'s supervisor, adopts the database, leads, reads what is open, lets the agent in and
plans.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import asyncpg

from bench import experiments
from bench.cluster import Cluster, until
from bench.figure import Figure, Limit, Load, Measured
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

T = TypeVar("T")
TRIALS = 10_000
A_SEARCH = 100
"""Trials that a search creates before any of them has slots."""
SETUP_LIMIT_S = 600.0
LIMIT_S = 60.0
_PENDING = "SELECT count(*) FROM allocations WHERE ended_at IS NULL"
_ASSIGNED = """
    SELECT count(*) AS assigned, min(at) AS at FROM journal
     WHERE kind = 'allocation' AND at > $1 AND event LIKE '{"event":"assigned"%'
"""
_LED = "SELECT epoch FROM leader"


def measure(cluster: Cluster, load: Load) -> Measured:
    """Seconds from the kill to the first allocation assigned after it."""
    searcher = {
        "name": "adaptive_asha",
        "metric": "loss",
        "time_metric": "batches",
        "max_time": 256,
        "max_trials": A_SEARCH,
        "max_concurrent_trials": 3 * A_SEARCH,  # no bracket is held back
    }
    before = datetime.now(UTC)
    for _ in range(load.count // A_SEARCH):
        experiments.submit(cluster, "return_at_once.py", searcher=searcher)
    most = load.count * 9 // 10  # some end while the others are made
    until(lambda: _ask(cluster, _value(_PENDING)) >= most, SETUP_LIMIT_S, "the search's trials")
    until(lambda: _assigned_at(cluster, before) is not None, LIMIT_S, "the first trial")
    pending, epoch = _ask(cluster, _value(_PENDING)), _ask(cluster, _value(_LED))
    killed_at = datetime.now(UTC)
    os.kill(cluster.pids()["master"], signal.SIGKILL)
    until(lambda: _ask(cluster, _value(_LED)) > epoch, LIMIT_S, "the new master's lead")
    led_s = (datetime.now(UTC) - killed_at).total_seconds()
    until(lambda: _assigned_at(cluster, killed_at) is not None, LIMIT_S, "an assignment")
    assigned_at = _assigned_at(cluster, killed_at)
    assert assigned_at is not None
    seconds = (assigned_at - killed_at).total_seconds()
    return Measured([seconds], {"pending": pending, "leads_after_s": round(led_s, 2)})


def _assigned_at(cluster: Cluster, since: datetime) -> datetime | None:
    async def read(conn: Any) -> datetime | None:
        found: datetime | None = (await conn.fetchrow(_ASSIGNED, since))["at"]
        return found

    return _ask(cluster, read)


def _value(query: str) -> Callable[[Any], Awaitable[int]]:
    async def read(conn: Any) -> int:
        return int(await conn.fetchval(query))

    return read


def _ask(cluster: Cluster, read: Callable[[Any], Awaitable[T]]) -> T:
    async def ask() -> T:
        options = connection_options(Layout(cluster.files / "postgres"))
        conn = await asyncpg.connect(**options, timeout=10)
        try:
            return await read(conn)
        finally:
            await conn.close()

    return asyncio.run(ask())


FIGURE = Figure(
    name="search_recovery",
    limits=[Limit("time", "s", 3.0, "at_most")],
    measure=measure,
    full=Load(runs=1, count=TRIALS),
    smoke=Load(runs=1, count=TRIALS // 10),
    needs="own",
)

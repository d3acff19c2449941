"""Start decisions a second: planned, committed and carried out, on agents that are simulated.

Each start is an event of the engine in a durable database; the simulated agents report their
containers running and, a moment later, ended or, when asked to leave, gone. Requests of all
sizes and urgencies are kept waiting, so gangs form and less urgent tasks are asked to leave.

    python -m bench.admissions [--seconds 10] [--pending 1000] [--agents 200]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvloop

from bench.plan_ticks import SHAPES, simulated_agent
from determined_master.aggregates import KINDS
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.ids import AllocationId
from determined_master.domain.schedule.view import Rules
from determined_master.engine import Changed, EffectContext, Engine, Posting
from determined_master.engine.causes import OnlyOnce
from determined_master.engine.kind import AnyPosting
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loop import PoolConfig, PoolDecision, PoolLoop
from determined_master.store.db import Database, embedded_address, open_database
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.server import EmbeddedServer
from determined_master.store.logs import task_logs
from determined_master.store.migrate import migrate

BATCH = 100


class Load:
    """A pool that is never short of requests."""

    def __init__(self, engine: Engine, args: argparse.Namespace) -> None:
        self._engine = engine
        self._wanted = args.pending
        self._random = random.Random(7)
        self._serial = 0
        self._waiting = 0
        self.starts = self.gangs = self.preempted = 0
        self.live = LiveAllocations(lambda name: self.loop.trigger_planning())
        agents = [simulated_agent(n) for n in range(args.agents)]
        self.loop = PoolLoop(
            PoolConfig("default", Rules(preemption=True)),
            engine,
            lambda: agents,
            self.live,
            self._note,
        )
        engine.feed.listen(ALLOCATION, self._changed)
        for order in (alloc.StartContainer, alloc.SignalContainer):
            engine.handlers.register(order, self._carry_out)
        for rest in (alloc.ForgetContainer, alloc.ReportAllocationEnd):
            engine.handlers.register(rest, self._ignore)

    async def feed(self) -> None:
        """Keep so many requests waiting, forever."""
        while True:
            missing = self._wanted - self._waiting
            if missing <= 0:
                await asyncio.sleep(0.01)
                continue
            await self._engine.post_many([self._ask() for _ in range(min(missing, BATCH))])

    def _ask(self) -> AnyPosting:
        self._serial += 1
        self._waiting += 1
        job = self._random.randrange(50)
        request = alloc.AllocationRequest(
            task_id=f"t{self._serial}",
            task_type="TRIAL",
            name=f"Trial {self._serial}",
            job_id=f"job-{job}",
            pool="default",
            slots=self._random.choice(SHAPES),
            submitted_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=job),
            requested_at=datetime.now(UTC),
            is_preemptible=True,
            priority=(10, 42, 42, 42, 60)[job % 5],
        )
        id = f"t{self._serial}.1"
        event = alloc.AllocationRequested(allocation_id=id, request=request)
        return Posting(ALLOCATION, AllocationId(id), event, OnlyOnce("asked"))

    def _note(self, decision: PoolDecision) -> None:
        self.preempted += len(decision.plan.preemptions)

    def _changed(self, change: Changed[alloc.Allocation]) -> None:
        before = self.live.find(change.id)
        self.live.changed(change.state, change.version)
        state = change.state
        if before is not None and before.state == "PENDING" and state.state == "ASSIGNED":
            self.starts += 1
            self.gangs += len(state.containers) > 1
            self._waiting -= 1

    async def _carry_out(
        self, effect: alloc.StartContainer | alloc.SignalContainer, context: EffectContext
    ) -> None:
        """What an agent would report: the container has run and is over."""
        ended = alloc.ContainerChanged(
            container_id=effect.container_id, state="TERMINATED", exit_code=0
        )
        await context.post(ALLOCATION, AllocationId(context.aggregate_id), ended)

    async def _ignore(self, effect: Any, context: EffectContext) -> None:
        """Nobody waits for it."""


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    """On a durable server in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="det-bench-", dir="/tmp") as directory:
        os.chmod(directory, 0o711)
        server = EmbeddedServer(Layout(Path(directory) / "postgres"))
        await server.start()
        try:
            address = embedded_address(server.connection_options)
            pool = await open_database(address)
            async with pool.acquire() as conn:
                await migrate(conn)
                await task_logs.ensure_partitions(conn, datetime.now(UTC).date())
            async with Engine(address, pool, KINDS) as engine:
                await engine.wait_until_leading()
                found = await _measure(engine, pool, args)
            await pool.close()
            return found
        finally:
            await server.stop()


async def _measure(engine: Engine, db: Database, args: argparse.Namespace) -> dict[str, Any]:
    load = Load(engine, args)
    tasks = [asyncio.create_task(load.feed()), asyncio.create_task(load.loop.run())]
    await asyncio.sleep(min(2.0, args.seconds))
    before, since = load.starts, time.perf_counter()
    await asyncio.sleep(args.seconds)
    counted, spent = load.starts - before, time.perf_counter() - since
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    starts = load.starts  # the engine still stores what was decided before the end
    stored = await db.fetchval(
        "SELECT count(*) FROM journal WHERE kind = 'allocation' AND event LIKE '%\"assigned\"%'"
    )
    if stored < starts:
        raise RuntimeError(f"{starts} starts were counted and {stored} stored")
    return {
        "starts_per_s": round(counted / spent, 1),
        "starts": counted,
        "gangs": load.gangs,
        "preempted": load.preempted,
        "pending": args.pending,
        "agents": args.agents,
    }


def main() -> None:
    """Parse the flags and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--pending", type=int, default=1_000)
    parser.add_argument("--agents", type=int, default=200)
    print(json.dumps(uvloop.run(measure(parser.parse_args()))))


if __name__ == "__main__":
    main()

"""How long a pool's plan takes: thousands of requests that come and go, in a real database.

Before each tick, rows are written as the engine writes them: what the last plan has decided, new
requests, ends. A tick is the time from there to the next plan: read the changed rows, bring the
live allocations up to date, build the view, plan, note it for the flight recorder, which compares
and writes what it was given once a second, beside the plans.

    python -m bench.plan_ticks [--pending 10000] [--agents 1000] [--ticks 200] [--policy NAME]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from msgspec.structs import replace

from determined_master.domain.allocation import machine
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.schedule import planner
from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.view import Rules
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loop import PoolDecision
from determined_master.pools.recorder import Recorder
from determined_master.ports.agents import AgentSnapshot
from determined_master.store.db import Database, embedded_address, open_database
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.server import EmbeddedServer
from determined_master.store.migrate import migrate
from determined_wire.agent_link import Device

POLICIES = {
    "priority": Rules(),
    "preemption": Rules(preemption=True),
    "fair_share": Rules(type="fair_share"),
}
SLOTS = 8
JOBS = 500
CHURN = 100
"""Requests that come, and tasks that end, before each tick."""
SHAPES = (1, 1, 1, 1, 2, 2, 4, 8, 8, 16, 24)
OPEN = """
    SELECT g.state, g.version FROM aggregates g JOIN allocations a ON a.id = g.id
     WHERE g.kind = 'allocation' AND a.ended_at IS NULL
"""
CHANGED = "SELECT state, version FROM aggregates WHERE kind = 'allocation' AND id = ANY ($1)"
BORN = datetime(2026, 1, 1, tzinfo=UTC)


class Cluster:
    """The rows, and what the master has in memory beside them."""

    def __init__(self, db: Database, rules: Rules, pending: int, agents: int) -> None:
        self._db = db
        self._rules = rules
        self._wanted = pending
        self._random = random.Random(7)
        self._serial = 0
        self._states: dict[str, alloc.Allocation] = {}
        self._versions: dict[str, int] = {}
        self._dirty: set[str] = set()
        self._live = LiveAllocations(lambda name: None)
        self._recorder = Recorder(db)
        self._agents = [simulated_agent(n) for n in range(agents)]
        self._plan = Plan()
        self.cpu: list[float] = []
        """Seconds of processor time of each tick: tells a slow plan from a busy machine."""

    async def fill(self) -> float:
        """Write the first requests; seconds to read all of them as at the begin of a lead."""
        for _ in range(self._wanted + len(self._agents) * 3):
            self._ask()
        await self._write()
        since = time.perf_counter()
        rows = await self._db.fetch(OPEN)
        decode = msgspec.json.Decoder(alloc.Allocation).decode
        known = self._live.known()
        self._live.reconcile(known, [(decode(r["state"]), r["version"]) for r in rows])
        return time.perf_counter() - since

    async def tick(self) -> float:
        """Let something happen, then plan; seconds of the latter."""
        self._happen()
        changed = await self._write()
        since, cpu = time.perf_counter(), time.process_time()
        rows = await self._db.fetch(CHANGED, changed)
        decode = msgspec.json.Decoder(alloc.Allocation).decode
        for row in rows:
            self._live.changed(decode(row["state"]), row["version"])
        view = self._live.view("default", self._agents, self._rules)
        self._plan = planner.plan(view)
        self._recorder.note(PoolDecision(view, self._plan))
        spent = time.perf_counter() - since
        self.cpu.append(time.process_time() - cpu)
        self.pending, self.running = len(view.pending), len(view.running)
        self._recorder._waiting.clear()  # comparing and writing are done beside the plans
        return spent

    def _happen(self) -> None:
        for start in self._plan.starts:
            placed = tuple(
                alloc.Placed(f"{start.allocation_id}/{a}", a, s) for a, s in start.placement
            )
            self._step(start.allocation_id, alloc.Assigned(containers=placed, at=BORN))
        leaving = [s for s in self._states.values() if s.preempt_reason is not None]
        running = [s for s in self._states.values() if s.containers and s.preempt_reason is None]
        for state in [*leaving, *self._random.sample(running, min(CHURN, len(running)))]:
            for container in state.containers:
                self._step(
                    state.id,
                    alloc.ContainerChanged(
                        container_id=container.id, state="TERMINATED", exit_code=0
                    ),
                )
        for preempt in self._plan.preemptions:
            if preempt.allocation_id in self._states:
                state = self._states[preempt.allocation_id]
                self._put(replace(state, preempt_reason=preempt.reason))
        waiting = sum(not s.containers for s in self._states.values())
        for _ in range(max(0, self._wanted - waiting)):
            self._ask()

    def _ask(self) -> None:
        self._serial += 1
        job = self._random.randrange(JOBS)
        id = f"{job}.{self._serial:08}.1"
        request = alloc.AllocationRequest(
            task_id=id[:-2],
            task_type="TRIAL",
            name=f"Trial {self._serial} (Experiment {job})",
            job_id=f"job-{job}",
            pool="default",
            slots=self._random.choice(SHAPES),
            submitted_at=BORN + timedelta(seconds=job),
            requested_at=datetime.now(UTC) - timedelta(seconds=self._random.randrange(1200)),
            is_preemptible=self._random.random() < 0.9,
            priority=(20, 42, 42, 60, 80)[job % 5],
            trial_id=self._serial,
            experiment_id=job,
        )
        self._put(alloc.Allocation(id=id, request=request))

    def _step(self, id: str, event: alloc.AllocationEvent) -> None:
        state, _ = machine.step(self._states[id], event)
        self._put(state)

    def _put(self, state: alloc.Allocation) -> None:
        self._states[state.id] = state
        self._versions[state.id] = self._versions.get(state.id, 0) + 1
        self._dirty.add(state.id)

    async def _write(self) -> list[str]:
        """Store what has changed; the ids."""
        changed, self._dirty = sorted(self._dirty), set()
        ended = [i for i in changed if self._states[i].state == "TERMINATED"]
        await self._db.execute(
            """
            INSERT INTO aggregates (kind, id, version, born, state)
            SELECT 'allocation', id, version, '2026-01-01', state
              FROM unnest($1::text[], $2::bigint[], $3::text[]) AS n (id, version, state)
                ON CONFLICT (kind, id) DO UPDATE
               SET version = excluded.version, state = excluded.state
            """,
            changed,
            [self._versions[i] for i in changed],
            [msgspec.json.encode(self._states[i]).decode() for i in changed],
        )
        new = [i for i in changed if self._versions[i] == 1]
        await self._db.execute(
            """
            INSERT INTO allocations (id, task_id, state, pool, slots, requested_at)
            SELECT id, id, 'PENDING', 'default', 1, now() FROM unnest($1::text[]) AS n (id)
            """,
            new,
        )
        if ended:
            await self._db.execute(
                "UPDATE allocations SET ended_at = now() WHERE id = ANY ($1)", ended
            )
        for id in ended:
            del self._states[id]
        return changed


async def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    """All policies, each on tables of its own."""
    with tempfile.TemporaryDirectory(prefix="det-bench-", dir="/tmp") as directory:
        os.chmod(directory, 0o711)
        server = EmbeddedServer(Layout(Path(directory) / "postgres"))
        await server.start()
        try:
            pool = await open_database(embedded_address(server.connection_options))
            async with pool.acquire() as conn:
                await migrate(conn)
                # Tasks and users of these allocations are of no interest here.
                await conn.execute(
                    "ALTER TABLE allocations DROP CONSTRAINT allocations_task_id_fkey"
                )
            lines = [await _measure(pool, name, args) for name in args.policy or POLICIES]
            await pool.close()
            return lines
        finally:
            await server.stop()


async def _measure(db: Database, name: str, args: argparse.Namespace) -> dict[str, Any]:
    await db.execute("TRUNCATE aggregates, allocations")
    cluster = Cluster(db, POLICIES[name], args.pending, args.agents)
    load_s = await cluster.fill()
    for _ in range(5):  # the first plans fill the empty agents
        await cluster.tick()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # as the master does
    spent = [await cluster.tick() for _ in range(args.ticks)]
    gc.unfreeze()
    return {
        "policy": name,
        "p99_ms": round(_percentile(spent, 0.99) * 1000, 1),
        "p50_ms": round(statistics.median(spent) * 1000, 1),
        "p99_cpu_ms": round(_percentile(cluster.cpu[-len(spent) :], 0.99) * 1000, 1),
        "max_ms": round(max(spent) * 1000, 1),
        "load_ms": round(load_s * 1000),
        "pending": cluster.pending,
        "running": cluster.running,
        "agents": args.agents,
        "ticks": args.ticks,
    }


def _percentile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def simulated_agent(number: int) -> AgentSnapshot:
    """An agent of 8 slots that only the registry knows."""
    devices = tuple(
        Device(id=i, brand="b", uuid=f"{number}-{i}", type="cuda") for i in range(SLOTS)
    )
    return AgentSnapshot(
        id=f"agent-{number:04}",
        pool="default",
        hostname="",
        address="",
        devices=devices,
        is_connected=True,
        registered_at=BORN,
        version="",
    )


def main() -> None:
    """Parse the flags and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pending", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--ticks", type=int, default=200)
    parser.add_argument("--policy", action="append", choices=list(POLICIES))
    for line in uvloop.run(measure(parser.parse_args())):
        print(json.dumps(line))


if __name__ == "__main__":
    main()

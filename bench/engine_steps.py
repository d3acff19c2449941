"""Steps a second of the engine: 1,000 aggregates, 1 KiB states, one effect each, durable.

Every step is an event that saves a state of 1 KiB, appends to the journal and orders an effect;
the effect's handler runs and the effect is closed. Prints one JSON object a line.

    python -m bench.engine_steps [--seconds 5] [--aggregates 1000] [--runs 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from determined_master.domain.messages import Effect, Event, State
from determined_master.engine import EffectContext, Engine, EngineSettings, Kind
from determined_master.engine.causes import Occurrence
from determined_master.store.db import embedded_address, open_database
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.server import EmbeddedServer
from determined_master.store.migrate import migrate

OFFERED = 0.6
"""The most of the machine's own rate at which latencies are measured."""


class Worker(State, frozen=True):
    """As large as a trial with its configuration's digest and its history."""

    steps: int = 0
    label: str = ""
    facts: dict[str, str] = msgspec.field(default_factory=dict)


class Reported(Event, frozen=True, tag="reported"):
    metric: float


class Notify(Effect, frozen=True, tag="notify"):
    steps: int


def step(worker: Worker | None, event: Reported, context: Any) -> tuple[Worker, Sequence[Notify]]:
    """Count, and order one effect."""
    before = worker or Worker(facts={f"fact-{n}": "x" * 40 for n in range(18)})
    after = msgspec.structs.replace(before, steps=before.steps + 1, label=f"{event.metric}")
    return after, [Notify(after.steps)]


WORKER: Kind[str, Worker, Reported, Notify] = Kind(
    name="worker", state=Worker, event=Reported, effect=Notify, step=step, given_up=None
)


class Load:
    """Closed-loop clients, or an offered rate: each posts to its aggregates in turn."""

    def __init__(self, engine: Engine, aggregates: int) -> None:
        self._engine = engine
        self._ids = [str(n) for n in range(aggregates)]
        self._serial = 0
        self.latencies_s: list[float] = []

    async def step(self) -> None:
        self._serial += 1
        serial = self._serial
        id = self._ids[serial % len(self._ids)]
        since = time.perf_counter()
        await self._engine.post(
            WORKER, id, Reported(serial * 0.5), cause=Occurrence("report", serial)
        )
        self.latencies_s.append(time.perf_counter() - since)

    async def saturate(self, clients: int, seconds: float) -> float:
        """Steps a second with that many clients that never rest."""
        until = time.perf_counter() + seconds

        async def client() -> None:
            while time.perf_counter() < until:
                await self.step()

        self.latencies_s.clear()
        since = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        return len(self.latencies_s) / (time.perf_counter() - since)

    async def offer(self, rate: float, seconds: float) -> float:
        """The 99th percentile of latency, in seconds, at that rate."""
        self.latencies_s.clear()
        since = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            sent = 0
            while (passed := time.perf_counter() - since) < seconds:
                while sent < passed * rate:
                    tasks.create_task(self.step())
                    sent += 1
                await asyncio.sleep(0.001)
        return statistics.quantiles(self.latencies_s, n=100)[98]


async def measure(args: argparse.Namespace) -> None:
    """Run against a durable server in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="det-bench-", dir="/tmp") as directory:
        os.chmod(directory, 0o711)
        server = EmbeddedServer(Layout(Path(directory) / "postgres"))
        await server.start()
        try:
            await _measure(server, args)
        finally:
            await server.stop()


async def _measure(server: EmbeddedServer, args: argparse.Namespace) -> None:
    address = embedded_address(server.connection_options)
    pool = await open_database(address)
    async with pool.acquire() as conn:
        await migrate(conn)
    settings = EngineSettings(appliers=args.appliers, batch=args.batch)
    engine = Engine(address, pool, [WORKER], settings=settings)
    handled = 0

    async def handle(effect: Notify, context: EffectContext) -> None:
        nonlocal handled
        handled += 1

    engine.handlers.register(Notify, handle)
    async with engine:
        await engine.wait_until_leading()
        load = Load(engine, args.aggregates)
        await asyncio.gather(*(load.step() for _ in range(args.aggregates)))
        rates = [await load.saturate(args.clients, args.seconds) for _ in range(args.runs)]
        # Above its own rate a machine has a queue that only grows: its length says nothing.
        offered = min(args.rate, OFFERED * statistics.median(rates))
        tails = [await load.offer(offered, args.seconds) for _ in range(args.runs)]
    total = await pool.fetchval("SELECT sum(version) FROM aggregates")
    told = await pool.fetchval("SELECT count(*) FROM journal")
    size = await pool.fetchval("SELECT max(length(state)) FROM aggregates")
    await pool.close()
    if not total == told == load._serial:
        sys.exit(f"{load._serial} steps were posted, {told} told and {total} counted")
    facts = {
        "aggregates": args.aggregates,
        "state_bytes": size,
        "clients": args.clients,
        "handled": handled,
        "runs": args.runs,
    }
    _print("engine_steps", statistics.median(rates), "1/s", all=[round(r) for r in rates], **facts)
    _print(
        "engine_steps_p99",
        statistics.median(tails) * 1000,
        "ms",
        all=[round(t * 1000, 1) for t in tails],
        offered_per_s=round(offered),
    )


def _print(name: str, value: float, unit: str, **facts: Any) -> None:
    print(json.dumps({"name": name, "value": round(value, 1), "unit": unit, **facts}))


def main() -> None:
    """Parse the flags and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--aggregates", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--rate", type=float, default=3000.0)
    parser.add_argument("--appliers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128)
    uvloop.run(measure(parser.parse_args()))  # as the master does


if __name__ == "__main__":
    main()

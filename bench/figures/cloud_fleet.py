"""What a day of a large pool of machines on demand costs, over the least possible."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import pytest

from bench.figure import Figure, Limit, Load, Measured
from bench.simulated_fleet import Costs, SimulatedFleet, jobs_of
from determined_master.store.db import embedded_address, open_database
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.server import EmbeddedServer
from determined_master.store.migrate import migrate

SEED = 18
JOBS_PER_MACHINE = 4
FAILING = 0.05
"""Of all calls."""
IDLE = timedelta(minutes=5)
"""`max_idle_agent_period`; the default of 20 minutes costs about 5 % more."""


def measure(load: Load) -> Measured:
    """A pool of at most `count` machines, with four times as many jobs."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)  # each failed call is a line
    try:
        costs = asyncio.run(_day(load.count))
    finally:
        logging.disable(before)
    ratio = costs.machine_hours / costs.least_hours
    facts = {
        name: round(value, 1) if isinstance(value, float) else value
        for name, value in asdict(costs).items()
        if name not in ("orphans", "doubled")
    }
    return Measured([ratio, costs.orphans, costs.doubled], facts)


async def _day(machines: int) -> Costs:
    with (
        tempfile.TemporaryDirectory(prefix="det-bench-", dir="/tmp") as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        os.chmod(directory, 0o711)
        server = EmbeddedServer(Layout(Path(directory) / "postgres"))
        await server.start()
        try:
            pool = await open_database(embedded_address(server.connection_options))
            async with pool.acquire() as conn:
                await migrate(conn)
            fleet = SimulatedFleet(
                pool, patch, machines=machines, failing=FAILING, seed=SEED, idle=IDLE
            )
            costs = await fleet.day(jobs_of(SEED, machines * JOBS_PER_MACHINE))
            await pool.close()
        finally:
            await server.stop()
    return costs


FIGURE = Figure(
    name="cloud_fleet",
    limits=[
        Limit("ratio", "of the least", 1.15, "at_most", judged="ratio"),
        Limit("orphans", "", 0, "at_most", judged="count"),
        Limit("doubled", "", 0, "at_most", judged="count"),
    ],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=500),
    smoke=Load(runs=1, count=50),
)

import asyncio
import os
import random
import signal
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY

from determined_master.store.db import Address, Database, connect, embedded_address, open_database
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.server import EmbeddedServer
from determined_master.store.migrate import migrate

AGGREGATES, EVENTS = 8, 40
KILLS, MAX_STARTED = 4, 60
"""Each victim gets on by 60 events at most, so that none has ended when it is to be killed."""
LIMIT_S = 300
"""Three recoveries of a durable server took over a minute on a machine that was busy otherwise."""
END = toy.Tally(total=sum(range(EVENTS)), echoes=EVENTS, ticks=1)

pytestmark = [pytest.mark.slow, pytest.mark.kill]


async def assert_complete(pool: Database, ledger: set[str]) -> None:
    """The tables and what callers were told agree exactly."""
    rows = await pool.fetch("SELECT id, version, state FROM aggregates ORDER BY id")
    assert [toy.TALLY.codec.state(row["state"]) for row in rows] == [END] * AGGREGATES
    assert {row["version"] for row in rows} == {2 * EVENTS + 1}
    causes = await pool.fetch("SELECT id, cause FROM journal WHERE cause LIKE 'request:%'")
    told = {f"{row['id']} {row['cause']}" for row in causes}
    assert len(told) == len(causes) == AGGREGATES * EVENTS
    assert ledger <= told
    amounts = await pool.fetch("SELECT id, sum(amount) AS sum FROM lines GROUP BY id")
    assert {row["sum"] for row in amounts} == {END.total}
    assert await pool.fetchval("SELECT count(*) FROM outbox") == 0
    assert await pool.fetchval("SELECT count(*) FROM timers") == 0


@pytest.mark.parametrize(
    ("seed", "pause_s"), [*((seed, 0.0) for seed in range(5)), (5, 0.02), (6, 0.02)]
)
async def test_a_master_killed_at_any_instant_is_resumed_without_loss(
    database: Address, toy_pool: Database, tmp_path: Path, seed: int, pause_s: float
) -> None:
    """Also one that dies while its works pause for each other."""
    ledger = tmp_path / "ledger"
    arguments = [
        *(sys.executable, "-m", "tests.engine.victim"),
        *(database.host, database.password, database.database),
        *(str(ledger), str(AGGREGATES), str(EVENTS)),
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", ".", *sys.path])}
    chance = random.Random(seed)
    ends = []
    for _ in range(KILLS):
        victim = await asyncio.create_subprocess_exec(
            *arguments, str(MAX_STARTED), str(pause_s), env=env
        )
        try:
            # Once it has posted, so that the kill falls into its work and not into its start.
            await _wait_for_news(toy_pool, victim, chance.randrange(1, 80))
        finally:
            if victim.returncode is None:
                victim.kill()
            ends.append(await victim.wait())
    assert ends == [-signal.SIGKILL] * KILLS
    last = await asyncio.create_subprocess_exec(*arguments, "0", str(pause_s), env=env)
    assert await last.wait() == 0
    await assert_complete(toy_pool, set(ledger.read_text().splitlines()))


async def _wait_for_news(pool: Database, victim: asyncio.subprocess.Process, lines: int) -> None:
    count = "SELECT count(*) FROM journal"
    enough = await pool.fetchval(count) + lines
    async with asyncio.timeout(60):
        # The rows are the only sign that it works.
        while victim.returncode is None and await pool.fetchval(count) < enough:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


@asynccontextmanager
async def durable_server(directory: Path):
    """A supervised server with fsync, and a pool on its migrated database."""
    server = EmbeddedServer(Layout(directory / "postgres"))
    await server.start()
    address = embedded_address(server.connection_options)
    conn = await connect(address)
    await migrate(conn)
    await conn.execute(toy.TABLES)
    await conn.close()
    pool = await open_database(address, min_size=1, max_size=5)
    supervisor = asyncio.ensure_future(server.supervise())
    try:
        yield server, address, pool
    finally:
        pool.terminate()
        supervisor.cancel()
        await asyncio.gather(supervisor, return_exceptions=True)
        await server.stop()


@pytest.mark.parametrize("seed", range(5))
async def test_postgres_killed_at_any_instant_loses_nothing(seed: int) -> None:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="det-", dir="/tmp") as directory:
        os.chmod(directory, 0o711)
        async with (
            durable_server(Path(directory)) as (server, address, pool),
            make_engine(address, pool) as engine,
        ):
            await engine.wait_until_leading()
            work = asyncio.ensure_future(_post_all(engine))
            for _ in range(3):
                await asyncio.sleep(chance.uniform(0.01, 0.1))
                killed = server.pid
                os.kill(killed, signal.SIGKILL)
                async with asyncio.timeout(LIMIT_S):
                    while server.pid == killed:  # noqa: ASYNC110 - until the supervisor acts
                        await asyncio.sleep(0.01)
            await work
            await assert_complete(pool, set())


async def _post_all(engine) -> None:
    async def one(id: str) -> None:
        for n in range(EVENTS):
            event = toy.Added(n, echoes=(str(n),), tick_s=0.0 if n == 0 else None)
            await engine.post(TALLY, id, event, cause=f"request:{n}", deadline_s=LIMIT_S)
        await engine.wait_for(TALLY, id, lambda t: t == END, LIMIT_S)

    await asyncio.gather(*(one(f"t{n}") for n in range(AGGREGATES)))

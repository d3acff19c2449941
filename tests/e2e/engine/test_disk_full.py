import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.engine.test_kill import durable_server
from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY

from determined_master.composition.database import database as own_database
from determined_master.domain.errors import DetError
from determined_master.settings.master import load
from determined_master.store.backup import back_up
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.db import Address, connect
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.start import find_running
from determined_master.store.errors import DatabaseError, DiskFull

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system"),
]
MIB = 1 << 20


@pytest.fixture
def small_disk(tmp_path_factory: pytest.TempPathFactory, request) -> Iterator[Path]:
    """A file system of so many MiB, at a short path."""
    path = Path(f"/tmp/det-disk-{os.getpid()}")
    path.mkdir()
    size = f"size={request.param}m,mode=711"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        path.rmdir()
        pytest.skip("mounting is not permitted here")
    yield path
    subprocess.run(["umount", str(path)], check=True)
    path.rmdir()


@pytest.mark.parametrize("small_disk", [20, 40, 46, 54], indirect=True)
async def test_a_first_start_without_room_says_so(small_disk: Path) -> None:
    """While the server is made, the database in it, or its tables."""
    layout = Layout(small_disk / "postgres")
    with pytest.raises(DiskFull, match=f"no space is left for the database in {layout.root}"):
        async with own_database(load(["--db-data-dir", str(layout.root)], {})):
            pass
    assert find_running(layout) is None


@pytest.mark.parametrize("small_disk", [160], indirect=True)
async def test_a_server_that_ends_on_a_full_disk_is_back_once_there_is_room(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with durable_server(small_disk) as (server, address, _):
        ballast = fill(small_disk)
        os.kill(server.pid, signal.SIGKILL)
        async with asyncio.timeout(60):
            while not any(  # noqa: ASYNC110 - until the supervisor has said so
                "no space" in getattr(record, "error", "") for record in caplog.records
            ):
                await asyncio.sleep(0.01)
        ballast.unlink()
        conn = None
        async with asyncio.timeout(60):
            while conn is None:
                with contextlib.suppress(*DATABASE_ERRORS):
                    conn = await connect(address)
                await asyncio.sleep(0.01)
        assert await conn.fetchval("SELECT count(*) FROM journal") == 0
        await conn.close()


@pytest.mark.parametrize("small_disk", [1], indirect=True)
async def test_a_backup_without_room_says_so(small_disk: Path, database: Address) -> None:
    conn = await connect(database)
    try:
        insert = "INSERT INTO model_definitions (digest, tgz) VALUES ('x', $1)"
        await conn.execute(insert, os.urandom(4 * MIB))
        with pytest.raises(DatabaseError, match=f"{small_disk}.*No space left.*more room"):
            async with asyncio.timeout(60):
                await back_up(conn, small_disk / "backup")
    finally:
        await conn.close()


def fill(disk: Path) -> Path:
    """Leave no room on a disk; the file to remove for some."""
    ballast = disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(MIB))
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


@pytest.mark.parametrize("small_disk", [160], indirect=True)
async def test_a_disk_that_fills_up_refuses_events_and_loses_none(small_disk: Path) -> None:
    answered = []

    async def post(n: int, deadline_s: float) -> None:
        event = toy.Added(n, padding="x" * 8000)
        await engine.post(TALLY, f"t{n}", event, cause="1", deadline_s=deadline_s)
        answered.append(n)

    async with (
        durable_server(small_disk) as (_, address, pool),
        make_engine(address, pool) as engine,
    ):
        await engine.wait_until_leading()
        ballast = fill(small_disk)
        refused = None
        for n in range(20_000):
            try:
                await post(n, 2)
            except DetError as error:
                refused = error
                break
        assert refused is not None
        assert refused.code == "unavailable"

        ballast.unlink()
        await post(n, 60)
        assert answered == list(range(n + 1))
        stored = await pool.fetchval("SELECT count(*) FROM aggregates")
        assert stored == await pool.fetchval("SELECT count(*) FROM journal") == n + 1

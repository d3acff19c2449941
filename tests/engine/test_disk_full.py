import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.test_kill import durable_server

from determined_master.domain.errors import DetError
from determined_master.store.embedded import EmbeddedServer
from determined_master.store.embedded_files import Layout
from determined_master.store.errors import DiskFull

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


@pytest.mark.parametrize("small_disk", [20], indirect=True)
async def test_a_first_start_without_room_says_so(small_disk: Path) -> None:
    server = EmbeddedServer(Layout(small_disk / "postgres"))
    with pytest.raises(DiskFull, match="no space is left for the database in"):
        await server.start()


@pytest.mark.parametrize("small_disk", [160], indirect=True)
async def test_a_disk_that_fills_up_refuses_events_and_loses_none(small_disk: Path) -> None:
    answered = []

    async def post(n: int, deadline_s: float) -> None:
        event = toy.Added(n, padding="x" * 8000)
        await engine.post("tally", f"t{n}", event, cause="1", deadline_s=deadline_s)
        answered.append(n)

    async with (
        durable_server(small_disk) as (_, address, pool),
        make_engine(address, pool) as engine,
    ):
        await engine.wait_until_leading()
        ballast = small_disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(bytes(MIB))
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

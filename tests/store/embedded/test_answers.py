"""How long a PostgreSQL is waited for, by what it says."""

import asyncio
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from determined_master.store.embedded import answers as embedded_answers
from determined_master.store.embedded.answers import answers
from determined_master.store.embedded.files import PORT, Layout
from determined_master.store.embedded.processes import Server

DEADLINE_S = 0.1
STARTING = "the database system is starting up"
ENDING = "the database system is shutting down"


@pytest.fixture
def layout() -> Iterator[Layout]:
    """A data directory on a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="det-", dir="/tmp") as directory:
        made = Layout(Path(directory))
        made.socket_dir.mkdir(parents=True)
        made.password.write_text("secret")
        yield made


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Stands for the server's process: it lives until somebody ends it."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield child
    child.kill()
    child.wait()


@asynccontextmanager
async def refusing(layout: Layout, text: str) -> AsyncIterator[list[float]]:
    """A server that refuses each connection, as PostgreSQL does while it starts; when it did."""
    asked: list[float] = []
    fields = f"SFATAL\0VFATAL\0C57P03\0M{text}\0\0".encode()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(4))
        await reader.readexactly(size - 4)
        writer.write(b"E" + (len(fields) + 4).to_bytes(4) + fields)
        asked.append(time.monotonic())
        writer.close()
        await writer.wait_closed()

    path = str(layout.socket_dir / f".s.PGSQL.{PORT}")
    async with await asyncio.start_unix_server(refuse, path):
        yield asked


async def test_a_server_that_recovers_is_waited_for_as_long_as_it_lives(
    layout: Layout,
    process: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever ended it at a deadline would have it begin again, forever."""
    monkeypatch.setattr(embedded_answers, "TELL_EVERY_S", DEADLINE_S)
    with caplog.at_level(logging.WARNING):
        async with refusing(layout, STARTING) as asked:
            waiting = asyncio.ensure_future(answers(layout, DEADLINE_S, Server(process)))
            while not asked or asked[-1] - asked[0] < 5 * DEADLINE_S:
                await asyncio.sleep(0.01)
                assert not waiting.done()
            process.kill()
            assert not await waiting
    assert "waiting for PostgreSQL: it recovers from a crash" in caplog.text


async def test_a_server_that_shuts_down_is_not_waited_for(
    layout: Layout, process: subprocess.Popen[bytes]
) -> None:
    async with refusing(layout, ENDING) as asked:
        assert not await answers(layout, DEADLINE_S, Server(process))
    assert asked
    assert process.poll() is None

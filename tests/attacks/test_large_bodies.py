"""Finding 12: the bodies of many users together fill the memory or the disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.proxy.proxied import Master, ask
from tests.api.proxy.running import running_master
from tests.api.samples import World

from determined_master.api.http import bodies, turns
from determined_master.api.http.exchange import Http
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PIECE = b" " * (512 * 1024)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def master(postgres: Address, passwords: Passwords) -> AsyncIterator[Master]:
    async with running_master(postgres, passwords) as made:
        yield made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def open_in(place: Path) -> int:
    """How many files of a directory this process has open, also deleted ones."""
    found = 0
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found += os.readlink(f"/proc/self/fd/{fd}").startswith(str(place))
    return found


async def test_all_users_together_have_so_much_disk_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MAX_DISK_BYTES", 3 * 1024 * 1024, raising=False)
    for name in ("user", "admin"):
        client = world.clients[name]
        refused = await client("POST", "/api/v1/experiments", pieces=[*[PIECE] * 12, b"{}"])
        assert refused.status == 503
        assert "send it again later" in refused.text
        assert (await client("GET", "/api/v1/me")).status == 200
        pieces = [*[PIECE] * 4, b"{}"]
        assert (await client("POST", "/api/v1/experiments", pieces=pieces)).status == 400


async def test_a_disk_that_is_nearly_full_is_not_filled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MIN_FREE_BYTES", 1 << 62, raising=False)
    client = world.clients["user"]
    refused = await client("POST", "/api/v1/experiments", pieces=[*[PIECE] * 4, b"{}"])
    assert refused.status == 503
    assert "is full" in refused.text


async def test_small_incomplete_bodies_of_all_users_share_a_bounded_memory(
    postgres: Address, passwords: Passwords, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setattr(bodies, "MAX_MEMORY_BYTES", 1024 * 1024, raising=False)
    monkeypatch.setattr(turns, "AT_ONCE", 6)  # else four of the one user wait unread
    async with running_master(postgres, passwords) as master:
        await _fill_memory(master, place)


async def _fill_memory(master: Master, place: Path) -> None:
    """Six incomplete bodies of one user, of which three go to disk."""
    head = (
        "POST /api/v1/experiments HTTP/1.1\r\nHost: m\r\nContent-Length: 8000000\r\n"
        f"Authorization: Bearer {master.token}\r\n\r\n"
    )
    held = [await asyncio.open_connection("127.0.0.1", master.port) for _ in range(6)]
    try:
        for _, writer in held:
            writer.write(head.encode() + PIECE)
            await writer.drain()

        async def on_disk() -> int:
            return open_in(place)

        await scene.until_true(on_disk, lambda count: bool(count >= 3), [])
        assert (await ask(master.port, "/info")).status == 200
    finally:
        for _, writer in held:
            writer.close()
    await scene.until_true(on_disk, lambda count: bool(count == 0), [])


async def test_large_bodies_are_where_the_admin_says(
    tmp_path: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Temporary directories are memory on many machines."""
    mine = tmp_path / "cluster" / "bodies"
    made = bodies.Bodies(mine)
    seen: list[int] = []

    async def receive() -> dict[str, object]:
        seen.append(open_in(mine))
        return {"type": "http.request", "body": PIECE, "more_body": len(seen) < 6}

    head = {"method": "POST", "raw_path": b"/", "path": "/", "query_string": b"", "headers": []}
    http = Http({"type": "http", **head})
    http.token, http.user_id = "t", 7
    assert len(await made.read(receive, http)) == 6 * len(PIECE)
    assert (seen[0], seen[-1], open_in(mine)) == (0, 1, 0)
    assert mine.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    seen.clear()
    unusable = bodies.Bodies(tmp_path / "file" / "bodies")
    assert len(await unusable.read(receive, http)) == 6 * len(PIECE)
    assert "cache.cache_dir cannot be used" in caplog.text


async def test_strangers_share_the_memory_and_get_no_disk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MAX_MEMORY_BYTES", 8 * 1024, raising=False)
    client = world.clients["admin"]
    stranger = type(client)(client.app)
    pieces = [b" " * 8192, b" " * 8192, b"{}"]
    refused = await stranger("POST", "/api/v1/auth/login", pieces=pieces)
    assert refused.status == 503
    assert (await stranger("POST", "/api/v1/auth/login", {"username": "x"})).status < 500

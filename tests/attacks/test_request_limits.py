"""Finding 12: a head has no limit and no deadline, and bodies fill the memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.proxy.proxied import DEADLINE_S, Master, ask
from tests.api.proxy.running import running_master
from tests.api.samples import World

from determined_master.api.http import bodies
from determined_master.api.table import all_routes
from determined_master.server import request_limits
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def master(postgres: Address, passwords: Passwords) -> AsyncIterator[Master]:
    async with running_master(postgres, passwords) as made:
        yield made


async def answer_to(port: int, *parts: bytes) -> bytes:
    """All that comes back until the master closes; a reset by it is an end, too."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = b""
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        while piece := await asyncio.wait_for(reader.read(65536), DEADLINE_S):
            found += piece
    except ConnectionError:
        pass
    finally:
        writer.close()
    return found


async def unfinished() -> int:
    return request_limits._unfinished["127.0.0.1"]


LONG = b"x" * (request_limits.MAX_HEAD_BYTES + 1)


@pytest.mark.parametrize(
    "parts",
    [
        (b"GET /info HTTP/1.1\r\nHost: m\r\nX-Long: " + LONG + b"\r\n\r\n",),
        (b"GET /info?" + LONG + b" HTTP/1.1\r\nHost: m\r\n\r\n",),
        (b"GET /info HTTP/1.1\r\nHost: m\r\nX-Long: ", *[b"x" * 65536] * 64),
        (b"GET /info HTTP/1.1\r\nHost: m\r\n", *[b"X-%d: y\r\n" % n for n in range(20_000)]),
    ],
    ids=["at once", "address", "endless", "many"],
)
async def test_a_head_over_64_kib_is_refused(
    master: Master, parts: tuple[bytes, ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    answer = await answer_to(master.port, *parts)
    assert "is no HTTP request" not in caplog.text
    assert "the head of a request is larger than 65536 bytes" in caplog.text
    assert not answer or answer.startswith(b"HTTP/1.1 431 ")
    if len(parts) == 1:
        assert b"larger than 65536 bytes" in answer
    assert (await ask(master.port, "/info")).status == 200


@pytest.mark.parametrize("sent", [b"", b"GET /info HTTP/1.1\r\nHost:"])
async def test_a_head_that_does_not_come_ends_the_connection(
    master: Master, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(request_limits, "HEAD_S", 0.2)
    answer = await answer_to(master.port, sent)
    assert answer.startswith(b"HTTP/1.1 408 ") if sent else answer == b""
    assert not request_limits._unfinished


async def test_the_second_head_of_a_connection_has_a_deadline_too(
    master: Master, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "HEAD_S", 0.2)
    whole = b"GET /info HTTP/1.1\r\nHost: m\r\n\r\n"
    answer = await answer_to(master.port, whole + whole[:20])
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer


async def test_a_body_that_trickles_ends_the_connection(
    master: Master, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "BODY_CHECK_S", 0.2)
    head = (
        "POST /api/v1/experiments HTTP/1.1\r\nHost: m\r\nContent-Length: 1000\r\n"
        f"Authorization: Bearer {master.token}\r\n\r\n"
    )
    answer = await answer_to(master.port, head.encode() + b"{")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert not request_limits._unfinished


async def test_an_address_holds_so_many_unfinished_requests_and_no_more(
    master: Master, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "MAX_UNFINISHED", 2)
    held = [await asyncio.open_connection("127.0.0.1", master.port) for _ in range(2)]
    try:
        await scene.until_true(unfinished, lambda count: bool(count == 2), [])
        assert await answer_to(master.port, b"GET /info HTTP/1.1\r\nHost: m\r\n\r\n") == b""
        held[0][1].write(b"GET /info HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n")
        assert (await held[0][0].read()).startswith(b"HTTP/1.1 200 ")
        assert (await ask(master.port, "/info")).status == 200
    finally:
        for _, writer in held:
            writer.close()


async def test_a_trailer_is_no_header(master: Master) -> None:
    lines = [
        "POST /api/v1/auth/logout HTTP/1.1",
        "Host: m",
        "Transfer-Encoding: chunked",
        "Trailer: Authorization",
        "Connection: close",
        "",
        "2\r\n{}\r\n0",
        f"Authorization: Bearer {master.token}",
        "",
        "",
    ]
    head, _, rest = "\r\n".join(lines).partition("\r\n\r\n")
    answer = await answer_to(master.port, f"{head}\r\n\r\n".encode(), rest.encode())
    assert answer.startswith(b"HTTP/1.1 401 ")
    bearer = f"Authorization: Bearer {master.token}"
    assert (await ask(master.port, "/api/v1/me", bearer)).status == 200


async def test_only_routes_of_batches_and_models_take_more_than_8_mib(world: World) -> None:
    user = world.clients["user"]
    headers = {"content-length": str(bodies.MAX_BODY_BYTES + 1)}
    for method, path in (("POST", "/api/v1/workspaces"), ("POST", "/api/v1/models")):
        answer = await user(method, path, b"{}", headers=headers)
        assert answer.status == 413
        assert str(bodies.MAX_BODY_BYTES) in answer.text
    large = {(r.method, r.path) for r in all_routes() if r.has_large_body}
    assert len(large) == 16
    assert {pair for pair in large if pair[0] != "POST"} == {
        ("PATCH", "/api/v1/checkpoints"),
        ("PUT", "/api/v1/experiments/by-external-id/{external_experiment_id}"),
    }


async def test_an_incomplete_large_body_lies_on_disk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = world.clients["user"]
    piece = b" " * (512 * 1024)
    pieces = [*[piece] * 8, b"{}"]
    assert (await user("POST", "/api/v1/experiments", b"{}", pieces=pieces)).status == 400
    monkeypatch.setattr(bodies, "MAX_ON_DISK", 0)
    refused = await user("POST", "/api/v1/experiments", b"{}", pieces=pieces)
    assert refused.status == 429
    assert "send fewer at once" in refused.text

"""WebSockets and TCP through the proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.api.proxy.proxied import (
    DEADLINE_S,
    Backend,
    Master,
    Task,
    exchange,
    lines_of,
    listening,
    parse,
)
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

pytestmark = [pytest.mark.asyncio(loop_scope="module")]


async def upgraded(
    backend: Backend, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Agree to the upgrade, then send back what comes, in capitals."""
    await backend.head(reader)
    writer.write(
        b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: b\r\n\r\nhi"
    )
    while data := await reader.read(100):
        writer.write(data.upper())


def upgrade_request(master: Master, task: Task, *more: str) -> bytes:
    lines = [
        f"GET /proxy/{task.id}:8080/ws?q=1 HTTP/1.1", "Host: master", master.bearer,
        "Connection: keep-alive, Upgrade", "Upgrade: websocket",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", *more,
    ]  # fmt: skip
    return "\r\n".join([*lines, "", ""]).encode()


async def test_a_websocket_is_carried_byte_for_byte(master: Master, backend: Backend) -> None:
    backend.serve = lambda reader, writer: upgraded(backend, reader, writer)
    task = master.task(backend)
    reader, writer = await asyncio.open_connection("127.0.0.1", master.port)
    async with asyncio.timeout(DEADLINE_S):
        writer.write(upgrade_request(master, task) + b"early")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        assert "sec-websocket-accept: b" in lines_of(head)
        assert await reader.readexactly(7) == b"hiEARLY"
        writer.write(b"late")
        assert await reader.readexactly(4) == b"LATE"
        sent = lines_of(backend.heads[0])
        assert f"get /proxy/{task.id}:8080/ws?q=1 http/1.1" == sent[0]
        assert {"upgrade: websocket", "connection: upgrade", "sec-websocket-version: 13"} <= set(
            sent
        )
        assert master.token.encode() not in backend.heads[0]
        writer.close()
        await writer.wait_closed()
        await backend.closed.wait()


async def test_the_end_of_the_task_ends_its_websockets(master: Master, backend: Backend) -> None:
    backend.serve = lambda reader, writer: upgraded(backend, reader, writer)
    task = master.task(backend)
    reader, writer = await asyncio.open_connection("127.0.0.1", master.port)
    async with asyncio.timeout(DEADLINE_S):
        writer.write(upgrade_request(master, task))
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(2) == b"hi"
        task.end()
        assert await reader.read(-1) == b""
        writer.close()
        await writer.wait_closed()


async def test_a_service_that_refuses_an_upgrade_gets_nothing_more(
    master: Master, backend: Backend
) -> None:
    rest = bytearray()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
        rest.extend(await reader.read(-1))

    backend.serve = refuse
    task = master.task(backend)
    smuggled = b"GET /proxy/other/ HTTP/1.1\r\nHost: master\r\n\r\n"
    raw = await exchange(master.port, upgrade_request(master, task) + smuggled)
    answer = parse(raw)
    assert (answer.status, answer.body, answer.headers["connection"]) == (403, b"no", "close")
    assert not rest
    assert len(backend.heads) == 1


async def test_an_upgrade_with_a_body_is_refused(master: Master, backend: Backend) -> None:
    request = upgrade_request(master, master.task(backend), "Content-Length: 4")
    assert parse(await exchange(master.port, request + b"body")).status == 400
    assert backend.heads == []


@pytest.mark.parametrize(
    "more",
    [("Content-Length: 4",), ("Cookie: " + "y" * 20_000,), tuple(f"X-{n}: y" for n in range(300))],
    ids=["body", "length", "number"],
)
async def test_a_handshake_of_the_masters_own_that_cannot_be_read_is_answered(
    master: Master, backend: Backend, more: tuple[str, ...]
) -> None:
    request = upgrade_request(master, master.task(backend), *more)
    _, _, rest = request.partition(b"\r\n")
    answer = parse(await exchange(master.port, b"GET /agents HTTP/1.1\r\n" + rest))
    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert b"the handshake of a WebSocket cannot be read: " in answer.body


async def test_an_upgrade_of_what_is_no_socket_is_no_error_of_the_masters(
    master: Master, backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    request = upgrade_request(master, master.task(backend))
    _, _, rest = request.partition(b"\r\n")
    answer = parse(await exchange(master.port, b"GET /api/v1/me HTTP/1.1\r\n" + rest))
    assert (answer.status, b"api not found" in answer.body) == (404, True)
    assert not [r for r in caplog.records if r.levelname == "ERROR"]


async def test_a_websocket_needs_a_token_too(master: Master, backend: Backend) -> None:
    request = upgrade_request(master, master.task(backend))
    request = request.replace(master.bearer.encode(), b"A: b")
    assert parse(await exchange(master.port, request)).status == 401
    assert backend.heads == []


def tunnel(master: Master, task: Task, headers: dict[str, str] | None = None) -> connect:
    own = {"Authorization": f"Bearer {master.token}"} if headers is None else headers
    uri = f"ws://127.0.0.1:{master.port}/proxy/{task.id}:8080/"
    return connect(uri, additional_headers=own, proxy=None, max_size=None)


def shout(backend: Backend) -> Callable[..., object]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data.upper())
            await writer.drain()

    return serve


async def test_tcp_is_carried_in_binary_messages(master: Master, backend: Backend) -> None:
    backend.serve = shout(backend)  # type: ignore[assignment]
    async with (
        asyncio.timeout(DEADLINE_S),
        tunnel(master, master.task(backend, is_tcp=True)) as ws,
    ):
        await ws.send("texts are not for the service")
        await ws.send(b"one")
        assert await ws.recv() == b"ONE"
        await ws.send([b"in ", b"pieces"])
        got = b""
        while len(got) < 9:
            piece = await ws.recv()
            assert isinstance(piece, bytes)
            got += piece
        assert got == b"IN PIECES"
        await (await ws.ping())
        await ws.close()
        await backend.closed.wait()


async def test_much_passes_through_a_tunnel_unchanged(master: Master, backend: Backend) -> None:
    backend.serve = shout(backend)  # type: ignore[assignment]
    sent = b"0123456789abcdef" * 65536
    async with (
        asyncio.timeout(DEADLINE_S),
        tunnel(master, master.task(backend, is_tcp=True)) as ws,
    ):
        sending = asyncio.create_task(ws.send(sent))
        got = bytearray()
        while len(got) < len(sent):
            got += await ws.recv()  # type: ignore[operator]
        await sending
    assert got == sent.upper()


async def test_the_last_bytes_of_a_service_arrive(master: Master, backend: Backend) -> None:
    async def last(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"bye")

    backend.serve = last
    async with (
        asyncio.timeout(DEADLINE_S),
        tunnel(master, master.task(backend, is_tcp=True)) as ws,
    ):
        await ws.send(b"x")
        assert await ws.recv() == b"bye"
        with pytest.raises(ConnectionClosed):
            await ws.recv()
        assert ws.close_code == 1000


async def test_the_end_of_the_task_closes_its_tunnels(master: Master, backend: Backend) -> None:
    backend.serve = shout(backend)  # type: ignore[assignment]
    task = master.task(backend, is_tcp=True)
    async with asyncio.timeout(DEADLINE_S), tunnel(master, task) as ws:
        await ws.send(b"x")
        await ws.recv()
        task.end()
        with pytest.raises(ConnectionClosed):
            await ws.recv()


async def test_a_tunnel_is_refused_before_it_is_agreed_to(master: Master) -> None:
    async with listening() as gone:
        task = master.task(gone, is_tcp=True)
    with pytest.raises(InvalidStatus) as refused:
        async with tunnel(master, task):
            pass
    assert refused.value.response.status_code == 502
    with pytest.raises(InvalidStatus) as refused:
        async with tunnel(master, task, {}):
            pass
    assert refused.value.response.status_code == 401


async def test_a_tunnel_is_no_page(master: Master, backend: Backend) -> None:
    answer = await master.ask(f"/proxy/{master.task(backend, is_tcp=True).id}:8080/")
    assert (answer.status, answer.body) == (400, b"Bad Request")
    assert answer.headers["sec-websocket-version"] == "13"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert backend.heads == []

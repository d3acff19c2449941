"""Bodies on their way through the proxy, and what may become of them."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace
from tests.api.proxy.proxied import (
    DEADLINE_S,
    Backend,
    Master,
    exchange,
    lines_of,
    listening,
)

from determined_master.services.tasks.proxies import Proxies

pytestmark = [pytest.mark.asyncio(loop_scope="module")]


async def test_a_body_streams_both_ways_as_it_comes(master: Master, backend: Backend) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await backend.head(reader)
        assert b"transfer-encoding: chunked" in head.lower()
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            size = int(await reader.readline(), 16)
            piece = await reader.readexactly(size + 2)
            writer.write(b"%x\r\n%s" % (size, piece))
            await writer.drain()
            if not size:
                return

    backend.serve = echo
    path = f"/proxy/{master.task(backend).id}:8080/"
    reader, writer = await asyncio.open_connection("127.0.0.1", master.port)
    head = f"POST {path} HTTP/1.1\r\nHost: m\r\n{master.bearer}\r\nTransfer-Encoding: chunked\r\n"
    async with asyncio.timeout(DEADLINE_S):
        writer.write(head.encode() + b"\r\n3\r\none\r\n")
        assert b"one" in await read_until(reader, b"one")
        writer.write(b"3\r\ntwo\r\n")
        await read_until(reader, b"two")
        writer.write(b"0\r\n\r\n")
        await read_until(reader, b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()


async def read_until(reader: asyncio.StreamReader, end: bytes) -> bytes:
    return await asyncio.wait_for(reader.readuntil(end), DEADLINE_S)


@pytest.mark.slow
async def test_a_slow_client_holds_its_service_back(master: Master, backend: Backend) -> None:
    sent = 0
    stuck = asyncio.Event()
    total = 64 * 1024 * 1024

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await backend.head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        while sent < total:
            writer.write(bytes(65536))
            try:
                async with asyncio.timeout(1):
                    await writer.drain()
            except TimeoutError:
                stuck.set()
                await writer.drain()
            sent += 65536

    backend.serve = pour
    path = f"/proxy/{master.task(backend).id}:8080/"
    reader, writer = await asyncio.open_connection("127.0.0.1", master.port, limit=65536)
    head = f"GET {path} HTTP/1.1\r\nHost: m\r\n{master.bearer}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    await asyncio.wait_for(stuck.wait(), DEADLINE_S)
    assert sent < total / 2, "what nobody reads is not gathered"
    got = 0
    async with asyncio.timeout(DEADLINE_S):
        await reader.readuntil(b"\r\n\r\n")
        while data := await reader.read(1 << 20):
            got += len(data)
    assert got == total
    writer.close()
    await writer.wait_closed()


async def test_a_client_that_disconnects_ends_its_request(
    master: Master, backend: Backend
) -> None:
    asked = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        asked.set()
        await reader.read(-1)

    backend.serve = wait
    path = f"/proxy/{master.task(backend).id}:8080/"
    _, writer = await asyncio.open_connection("127.0.0.1", master.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: m\r\n{master.bearer}\r\n\r\n".encode())
    await asyncio.wait_for(asked.wait(), DEADLINE_S)
    writer.close()
    await asyncio.wait_for(backend.closed.wait(), DEADLINE_S)
    await writer.wait_closed()


NO_ANSWERS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "closed the connection before it had answered"),
    "half a head": (b"HTTP/1.1 200 OK\r\nA: b", "closed the connection"),
    "no HTTP": (b"SSH-2.0-x\r\n\r\n", "not HTTP/1.1"),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP"),
    "no status": (b"HTTP/1.1 742 X\r\n\r\n", "742"),
    "another protocol": (
        b"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n",
        "unasked",
    ),
}


@pytest.mark.parametrize(("sent", "said"), NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
async def test_a_service_that_gives_no_answer_is_named(
    sent: bytes, said: str, master: Master, backend: Backend
) -> None:
    async def fail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        writer.write(sent)

    backend.serve = fail
    task = master.task(backend)
    answer = await master.ask(f"/proxy/{task.id}:8080/")
    assert answer.status == 502
    text = json.loads(answer.body)["message"]
    assert said in text
    assert f"{task.id}:8080" in text


async def test_a_port_where_nothing_listens_is_named(master: Master) -> None:
    async with listening() as gone:
        task = master.task(gone)
    answer = await master.ask(f"/proxy/{task.id}:8080/")
    assert answer.status == 502
    assert f"service {task.id}:8080 (port 8080 of its container)" in answer.body.decode()
    assert "0.0.0.0" in answer.body.decode()


async def test_an_answer_that_breaks_off_is_not_made_whole(
    master: Master, backend: Backend
) -> None:
    async def fail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")

    backend.serve = fail
    path = f"/proxy/{master.task(backend).id}:8080/"
    request = f"GET {path} HTTP/1.1\r\nHost: m\r\n{master.bearer}\r\n\r\n"
    raw = await exchange(master.port, request.encode())
    assert raw.endswith(b"4\r\nhalf\r\n"), "the last chunk is missing"


async def test_informational_answers_do_not_count(master: Master, backend: Backend) -> None:
    async def hint(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    backend.serve = hint
    answer = await master.ask(f"/proxy/{master.task(backend).id}:8080/")
    assert (answer.status, answer.body) == (200, b"ok")


async def test_the_end_of_the_task_ends_its_requests(master: Master, backend: Backend) -> None:
    asked = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        asked.set()
        await reader.read(-1)

    backend.serve = wait
    task = master.task(backend)
    asking = asyncio.create_task(master.ask(f"/proxy/{task.id}:8080/"))
    await asyncio.wait_for(asked.wait(), DEADLINE_S)
    task.end()
    answer = await asking
    assert answer.status == 502
    assert "has ended" in answer.body.decode()
    await asyncio.wait_for(backend.closed.wait(), DEADLINE_S)


async def test_a_server_with_the_clusters_certificate_is_trusted_and_no_other(
    master: Master, tmp_path: Path
) -> None:
    authority = master.services[Proxies]._authority
    pem = tmp_path / "server.pem"

    def certified(name: str) -> ssl.SSLContext:
        issued = authority.issue(name)
        pem.write_bytes(issued.certificate + issued.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context

    task_id = str(uuid4())
    async with listening(certified(task_id)) as secure:
        task = master.task(secure, is_tls=True)
        strange = await master.ask(f"/proxy/{task.id}:8080/")
        assert strange.status == 502, "it is the certificate of another task"
        assert "certificate" in strange.body.decode()
        task.end()
        request = replace(task.state.request, task_id=task_id)
        task.state = replace(task.state, id=f"{task_id}.1", request=request, state="RUNNING")
        task.version = 1
        task.become()
        assert (await master.ask(f"/proxy/{task_id}:8080/")).status == 200
        assert f"host: 127.0.0.1:{secure.port}" in lines_of(secure.heads[-1])

"""What reaches a service of a task, and what of it comes back."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.api.proxy.proxied import (
    Backend,
    Master,
    exchange,
    lines_of,
)

from determined_master.services.tasks.proxies import Proxies

pytestmark = [pytest.mark.asyncio(loop_scope="module")]


async def test_a_request_reaches_its_service_as_it_was_sent(
    master: Master, backend: Backend
) -> None:
    task = master.task(backend)
    path = f"/proxy/{task.id}:8080/a%2Fb/../c?x=1&y=%20"
    answer = await master.ask(path, "X-Own: mine", "Connection: x-hop", "X-Hop: 1")
    assert (answer.status, answer.body, answer.headers["etag"]) == (200, b"hello", "mine")
    first, *lines = backend.heads[0].decode().split("\r\n")
    assert first == f"GET {path} HTTP/1.1"
    sent = {line.lower() for line in lines}
    assert {"host: master", "x-own: mine", "x-real-ip: 127.0.0.1"} <= sent
    assert {"x-forwarded-for: 127.0.0.1", "x-forwarded-proto: http"} <= sent
    assert not any(line.startswith("x-hop") for line in sent)


async def test_a_proxy_before_the_master_keeps_its_say(master: Master, backend: Backend) -> None:
    task = master.task(backend)
    told = ("X-Forwarded-For: 10.0.0.9", "X-Forwarded-Proto: https", "X-Real-Ip: 10.0.0.9")
    await master.ask(f"/proxy/{task.id}:8080/", *told)
    sent = lines_of(backend.heads[0])
    assert "x-forwarded-for: 10.0.0.9, 127.0.0.1" in sent
    assert {"x-forwarded-proto: https", "x-real-ip: 10.0.0.9"} <= set(sent)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_every_method_passes_with_its_body(
    method: str, master: Master, backend: Backend
) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        body = await reader.readexactly(4)
        writer.write(b"HTTP/1.1 201 Made\r\nConnection: close\r\n\r\n" + body)

    backend.serve = echo
    answer = await master.ask(
        f"/proxy/{master.task(backend).id}:8080/", method=method, body=b"body"
    )
    assert (answer.status, answer.body) == (201, b"body")
    assert backend.heads[0].startswith(method.encode())


async def test_a_length_is_passed_on_whatever_is_said_of_the_connection(
    master: Master, backend: Backend
) -> None:
    path = f"/proxy/{master.task(backend).id}:8080/"
    await master.ask(path, "Connection: content-length, host", method="POST", body=b"GET / H")
    assert {"content-length: 7", "host: master"} <= set(lines_of(backend.heads[0]))


async def test_the_head_alone_is_answered_without_a_body(master: Master, backend: Backend) -> None:
    task = master.task(backend)
    answer = await master.ask(f"/proxy/{task.id}:8080/", method="HEAD")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "5")


async def test_a_default_service_is_named_by_its_task_alone(
    master: Master, backend: Backend
) -> None:
    task = master.task(backend, is_default=True)
    assert (await master.ask(f"/proxy/{task.id}/x")).status == 200
    assert (await master.ask(f"/proxy/{task.id}:8080/x")).status == 404


async def test_without_a_slash_there_is_nothing(master: Master, backend: Backend) -> None:
    assert (await master.ask(f"/proxy/{master.task(backend).id}:8080")).status == 404
    assert backend.heads == []


async def test_an_unknown_service_is_named(master: Master) -> None:
    answer = await master.ask("/proxy/zz/")
    assert answer.status == 404
    said = json.loads(answer.body)["message"]
    assert said.startswith("service not found: zz: ")
    assert "environment.proxy_ports" in said


SMUGGLED = {
    "both lengths": "Content-Length: 4\r\nTransfer-Encoding: chunked",
    "two lengths": "Content-Length: 4\r\nContent-Length: 5",
    "an unknown encoding": "Transfer-Encoding: gzip, chunked",
    "an encoding twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "a list of lengths": "Content-Length: 4, 4",
    "two hosts": "Host: other\r\nContent-Length: 0",
    "two authorizations": "Authorization: Bearer other\r\nContent-Length: 0",
}


@pytest.mark.parametrize("headers", SMUGGLED.values(), ids=SMUGGLED.keys())
async def test_a_request_without_one_clear_end_is_refused(
    headers: str, master: Master, backend: Backend
) -> None:
    path = f"/proxy/{master.task(backend).id}:8080/"
    head = f"POST {path} HTTP/1.1\r\nHost: m\r\n{master.bearer}\r\nConnection: close\r\n{headers}"
    raw = await exchange(master.port, head.encode() + b"\r\n\r\n0\r\n\r\n")
    assert raw.startswith(b"HTTP/1.1 400 ")
    assert backend.heads == []


async def test_a_keyed_service_is_shown_the_masters_key_and_none_of_the_clients(
    master: Master, backend: Backend
) -> None:
    key = "X-Determined-Service-Key"
    keyed, other = master.task(backend, is_keyed=True), master.task(backend)
    for task in (keyed, other):
        answer = await master.ask(f"/proxy/{task.id}:8080/", f"{key}: mine")
        assert answer.body == b"hello"
    shown, hidden = (
        [line for line in lines_of(head) if line.startswith(key.lower())] for head in backend.heads
    )
    proxies = master.services[Proxies]
    target = proxies.find(f"{keyed.id}:8080")
    assert target is not None
    own = proxies.key_of(target)
    assert shown == [f"{key}: {own}".lower()]
    assert hidden == []


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", "uses TLS on a port without TLS"),
        (b"SSH-2.0-x\r\n", "is no HTTP request"),
    ],
)
async def test_an_invalid_request_is_logged_with_its_sender(
    master: Master, caplog: pytest.LogCaptureFixture, sent: bytes, said: str
) -> None:
    raw = await exchange(master.port, sent)
    assert raw.startswith(b"HTTP/1.1 400 ")
    (record,) = [r for r in caplog.records if said in r.message]
    assert record.__dict__["client"].startswith("127.0.0.1:")

"""What tasks serve is reached through the master, by whom it should be and no further."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio
from msgspec.structs import replace
from tests.api.master import PASSWORD, running_services
from tests.api.proxied import (
    DEADLINE_S,
    Backend,
    Reply,
    Task,
    ask,
    exchange,
    listening,
    parse,
    run_task,
    serving,
)
from tests.postgres import new_database
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.proxy_port import ProxyPort
from determined_master.services.catalog import Services
from determined_master.services.passwords import Passwords
from determined_master.store.pool import Address, open_pool

pytestmark = [pytest.mark.asyncio(loop_scope="module")]


@dataclass
class Master:
    """A master over a socket, and a token of a user."""

    services: Services
    port: int
    token: str

    @property
    def bearer(self) -> str:
        return f"Authorization: Bearer {self.token}"

    def task(self, backend: Backend, **options: object) -> Task:
        return run_task(self.services, backend.port, **options)  # type: ignore[arg-type]

    async def ask(self, path: str, *headers: str, **more: object) -> Reply:
        return await ask(self.port, path, self.bearer, *headers, **more)  # type: ignore[arg-type]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def master(postgres: Address, passwords: Passwords) -> AsyncIterator[Master]:
    async with (
        new_database(postgres) as address,
        await open_pool(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, _),
    ):
        api = Api(all_routes(), services, services.identities)
        async with serving(api) as port:
            opened = await services.auth.login("determined", PASSWORD, is_hashed=False)
            yield Master(services, port, opened.token)
        api.close()


@pytest_asyncio.fixture(loop_scope="module")
async def backend() -> AsyncIterator[Backend]:
    async with listening() as made:
        yield made


def lines_of(head: bytes) -> list[str]:
    return head.decode("latin-1").lower().split("\r\n")


async def test_a_request_reaches_its_service_as_it_was_sent(
    master: Master, backend: Backend
) -> None:
    task = master.task(backend)
    path = f"/proxy/{task.id}:8080/a%2Fb/../c?x=1&y=%20"
    answer = await master.ask(path, "X-Own: mine", "Connection: x-hop", "X-Hop: 1")
    assert (answer.status, answer.body, answer.headers["x-mine"]) == (200, b"hello", "yes")
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
    assert (answer.status, json.loads(answer.body)) == (404, {"message": "service not found: zz"})


@pytest.mark.parametrize("carrier", ["Authorization: Bearer {}", "Cookie: a=b; auth={}; c=d"])
async def test_a_users_token_lets_in_and_is_not_passed_on(
    carrier: str, master: Master, backend: Backend
) -> None:
    task = master.task(backend)
    path = f"/proxy/{task.id}:8080/"
    answer = await ask(master.port, f"{path}?token={master.token}", carrier.format(master.token))
    assert answer.status == 200
    assert master.token.encode() not in backend.heads[0]
    assert ("cookie: a=b; c=d" in lines_of(backend.heads[0])) == ("Cookie" in carrier)


async def test_a_token_of_the_service_itself_is_passed_on(
    master: Master, backend: Backend
) -> None:
    task = master.task(backend)
    cookie = f"Cookie: auth={master.token}"
    path = f"/proxy/{task.id}:8080/?token=its-own"
    await ask(master.port, path, "Authorization: Bearer its-own", cookie)
    assert "authorization: bearer its-own" in lines_of(backend.heads[0])
    assert b"?token=its-own" in backend.heads[0]


async def test_nobody_gets_in_without_a_token(master: Master, backend: Backend) -> None:
    path = f"/proxy/{master.task(backend).id}:8080/a?b=c&d=e"
    none = await ask(master.port, path)
    assert (none.status, json.loads(none.body)) == (401, {"message": "Unauthorized"})
    page = await ask(master.port, path, "Accept: text/html,*/*")
    bad = await ask(master.port, path, "Authorization: Bearer nonsense")
    quoted = f"/det/login?redirect={path.partition('?')[0]}%3Fb%3Dc%26d%3De"
    for answer in (page, bad):
        assert (answer.status, answer.headers["location"]) == (303, quoted)
    assert backend.heads == []


async def test_a_token_in_the_address_lets_nobody_in(master: Master, backend: Backend) -> None:
    task = master.task(backend)
    answer = await ask(master.port, f"/proxy/{task.id}:8080/?token={master.token}")
    assert answer.status == 401
    assert backend.heads == []


async def test_who_was_deactivated_is_sent_to_the_login(master: Master, backend: Backend) -> None:
    opened = await master.services.auth.login("determined", PASSWORD, is_hashed=False)
    task = master.task(backend)
    pool = master.services.users._pool
    try:
        await pool.execute("UPDATE users SET active = false WHERE username = 'determined'")
        master.services.identities.forget_user(2)
        path = f"/proxy/{task.id}:8080/"
        answer = await ask(master.port, path, f"Authorization: Bearer {opened.token}")
        assert answer.status == 303
    finally:
        await pool.execute("UPDATE users SET active = true WHERE username = 'determined'")
        master.services.identities.forget_user(2)
    assert backend.heads == []


async def test_an_open_service_needs_no_token_and_sees_none(
    master: Master, backend: Backend
) -> None:
    task = master.task(backend, is_unauthenticated=True)
    path = f"/proxy/{task.id}:8080/"
    assert (await ask(master.port, path)).status == 200
    await ask(master.port, path, master.bearer, f"Cookie: auth={master.token}")
    assert all(master.token.encode() not in head for head in backend.heads)
    assert len(backend.heads) == 2


async def test_a_notebook_is_reached_with_its_own_token(master: Master, backend: Backend) -> None:
    task = master.task(backend, task_type="NOTEBOOK", is_default=True)
    other = master.task(backend, task_type="NOTEBOOK", is_default=True)
    token = master.services.proxies._tokens.notebook_token(task.id)
    path = f"/proxy/{task.id}/lab"
    assert (await ask(master.port, f"{path}?token={token}")).status == 200
    assert f"?token={token}".encode() in backend.heads[0], "it asks for the token itself"
    assert (await ask(master.port, path, f"Authorization: token {token}")).status == 200
    assert (await ask(master.port, f"/proxy/{other.id}/lab?token={token}")).status == 401
    is_trial = master.task(backend, is_default=True)
    own = master.services.proxies._tokens.notebook_token(is_trial.id)
    assert (await ask(master.port, f"/proxy/{is_trial.id}/?token={own}")).status == 401


async def test_a_service_cannot_change_who_its_user_is(master: Master, backend: Backend) -> None:
    async def bake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        writer.write(b"HTTP/1.1 204 None\r\nSet-Cookie: auth=evil; Path=/\r\n")
        writer.write(b"Set-Cookie: own=1\r\nUpgrade: h2c\r\n\r\n")

    backend.serve = bake
    answer = await master.ask(f"/proxy/{master.task(backend).id}:8080/")
    assert (answer.status, answer.headers["set-cookie"]) == (204, "own=1")
    assert "upgrade" not in answer.headers


async def test_services_follow_the_life_of_their_allocation(
    master: Master, backend: Backend
) -> None:
    proxies = master.services.proxies
    task = master.task(backend)
    path = f"/proxy/{task.id}:8080/"
    assert proxies.last_request_at(task.id) is None
    await master.ask(path)
    asked_at = proxies.last_request_at(task.id)
    assert asked_at is not None
    [chief] = task.state.containers
    second = replace(chief, id=str(uuid4()), rank=1, host_ip="127.0.0.9")
    task.become(containers=(second, chief))
    assert (await master.ask(path)).status == 200, "only the container of rank 0 is proxied"
    task.become(containers=(replace(chief, state="STARTING"),))
    assert not proxies.is_registered(task.id)
    assert (await master.ask(path)).status == 404
    task.become(containers=(chief,))
    assert proxies.is_registered(task.id)
    task.end()
    assert (await master.ask(path)).status == 404
    assert not proxies.is_registered(task.id)
    assert proxies.last_request_at(task.id) is None


async def test_only_declared_ports_are_reached(master: Master, backend: Backend) -> None:
    task = master.task(backend)
    [chief] = task.state.containers
    task.become(containers=(replace(chief, ports=((8080, backend.port), (22, backend.port))),))
    assert (await master.ask(f"/proxy/{task.id}:22/")).status == 404
    declared = replace(task.state.request, proxy_ports=(ProxyPort(8080), ProxyPort(9)))
    task.become(request=declared)
    assert (await master.ask(f"/proxy/{task.id}:9/")).status == 404, "its agent published none"
    assert backend.heads == []


SMUGGLED = {
    "both lengths": "Content-Length: 4\r\nTransfer-Encoding: chunked",
    "two lengths": "Content-Length: 4\r\nContent-Length: 5",
    "an unknown encoding": "Transfer-Encoding: gzip, chunked",
    "an encoding twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "a list of lengths": "Content-Length: 4, 4",
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


async def test_who_leaves_ends_what_was_asked_for_them(master: Master, backend: Backend) -> None:
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
    authority = master.services.proxies._authority
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


async def upgraded(
    backend: Backend, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Agree to the upgrade, then send back what comes, in capitals."""
    await backend.head(reader)
    writer.write(b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nA: b\r\n\r\nhi")
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
        assert "a: b" in lines_of(head)
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


async def test_what_refuses_an_upgrade_is_sent_nothing_more(
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


async def test_what_a_service_says_last_arrives(master: Master, backend: Backend) -> None:
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

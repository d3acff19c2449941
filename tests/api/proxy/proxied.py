"""A master that serves over a real socket, and tasks whose services are servers of the test."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import uvicorn
from msgspec.structs import replace

from determined_master import clock
from determined_master.api.app import Api
from determined_master.domain.addresses import networks_of
from determined_master.domain.allocation.messages import (
    Allocation,
    AllocationRequest,
    Container,
)
from determined_master.domain.task.proxy_port import ProxyPort
from determined_master.pools.live import LiveAllocations
from determined_master.server.forwarded import ServerConfig
from determined_master.server.proxied_http import ProxyingHttp
from determined_master.server.tls import AgentSocket
from determined_master.services.catalog import Services
from determined_master.services.tasks.proxies import Proxies

DEADLINE_S = 60
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Backend:
    """What listens in a task; what it does with a connection may be changed."""

    def __init__(self) -> None:
        self.serve: Serve = greet
        self.heads: list[bytes] = []
        """Heads of the requests that came, when `serve` reads them by `head`."""
        self.closed = asyncio.Event()
        """Set when a connection has ended."""
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()

    def drop(self) -> None:
        """End all connections."""
        for writer in self._open:
            writer.transport.abort()

    async def head(self, reader: asyncio.StreamReader) -> bytes:
        """The head of the next request."""
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        return self.heads[-1]

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                if self.serve is greet:
                    await self.head(reader)
                await self.serve(reader, writer)
        finally:
            self.closed.set()
            self._open.discard(writer)
            writer.close()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a request whose head was read."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: mine\r\n\r\nhello")
    await writer.drain()


@contextlib.asynccontextmanager
async def listening(context: ssl.SSLContext | None = None) -> AsyncIterator[Backend]:
    """A backend at a free port."""
    backend = Backend()
    server = await asyncio.start_server(backend, "127.0.0.1", 0, ssl=context)
    backend.port = server.sockets[0].getsockname()[1]
    try:
        yield backend
    finally:
        server.close()
        backend.drop()
        await asyncio.wait_for(server.wait_closed(), DEADLINE_S)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def serving(
    api: Api, sockets: list[socket.socket] | None = None, trusted: Sequence[str] = ()
) -> AsyncIterator[int]:
    """The API over a socket, as the master serves it; its port."""
    config = ServerConfig(
        api, http=ProxyingHttp, ws=AgentSocket, lifespan="off", log_config=None, port=0,
        access_log=False, server_header=False, date_header=False, timeout_graceful_shutdown=2,
        proxy_headers=False,
    )  # fmt: skip
    config.trusted_proxies = networks_of(trusted)
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets))
    await asyncio.wait_for(server.is_up.wait(), DEADLINE_S)
    try:
        listening = sockets or server.servers[0].sockets
        yield listening[0].getsockname()[1]
    finally:
        server.should_exit = True
        await asyncio.wait_for(running, DEADLINE_S)


@dataclass
class Task:
    """A running task that the master proxies."""

    services: Services
    state: Allocation
    version: int = 1

    @property
    def id(self) -> str:
        return self.state.request.task_id

    def become(self, **changes: Any) -> None:
        """Tell the master of another state."""
        self.state = replace(self.state, **changes)
        self.version += 1
        self.services[LiveAllocations].changed(self.state, self.version)

    def end(self) -> None:
        """Its allocation is over."""
        self.become(state="TERMINATED")
        self.services[Proxies].ended(self.state.id, self.id)


def run_task(
    services: Services, port: int, number: int = 8080, *, task_type: Any = "TRIAL", **options: bool
) -> Task:
    """A task whose port `number` is at a port of this machine; options are `ProxyPort`'s."""
    task_id = str(uuid4())
    chief = Container(
        id=str(uuid4()), agent_id="a1", slot_ids=(), rank=0, state="RUNNING",
        host_ip="127.0.0.1", ports=((number, port),),
    )  # fmt: skip
    request = AllocationRequest(
        task_id=task_id, task_type=task_type, name="a task", job_id=task_id, pool="default",
        slots=0, submitted_at=clock.now(), proxy_ports=(ProxyPort(number, **options),),
    )  # fmt: skip
    state = Allocation(id=f"{task_id}.1", request=request, state="RUNNING", containers=(chief,))
    task = Task(services, state)
    services[LiveAllocations].changed(state, 1)
    return task


@dataclass(frozen=True)
class Reply:
    """An answer as it came over the socket."""

    status: int
    headers: dict[str, str]
    body: bytes


async def exchange(port: int, request: bytes) -> bytes:
    """All that comes back for some bytes, until the master closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await asyncio.wait_for(reader.read(-1), DEADLINE_S)
    finally:
        writer.close()
        await writer.wait_closed()


async def ask(
    port: int,
    path: str,
    *headers: str,
    method: str = "GET",
    body: bytes = b"",
    host: str = "master",
) -> Reply:
    """One request on a connection of its own."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return parse(await exchange(port, "\r\n".join([*lines, "", ""]).encode() + body))


def parse(raw: bytes) -> Reply:
    """An answer, its chunks joined."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        pieces = []
        while body:
            size, _, rest = body.partition(b"\r\n")
            pieces.append(rest[: int(size, 16)])
            body = rest[int(size, 16) + 2 :]
        body = b"".join(pieces)
    return Reply(int(first.split()[1]), headers, body)


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


def lines_of(head: bytes) -> list[str]:
    return head.decode("latin-1").lower().split("\r\n")

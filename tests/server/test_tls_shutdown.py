"""A server that stops does not wait for idle clients of TLS, and cuts no answer short."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import uvloop
from tests.certificates import Authority, Pair

from determined_master.server.proxied_http import ProxyingHttp
from determined_master.server.tls import server_context
from determined_master.settings.security import Tls

LARGE = b"x" * (16 * 1024 * 1024)
"""More than any system keeps of a connection that nobody reads."""
DEADLINE_S = 20
"""Less than the half minute for which the loop waits for a client's word."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Authority(tmp_path_factory.mktemp("authority")).sign("localhost")


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"small", LARGE], ids=["idle", "reading"])
def test_a_client_that_says_nothing_is_not_waited_for_and_gets_its_answer(
    pair: Pair, body: bytes
) -> None:
    with uvloop_runner() as run:
        run(_stop_beside_a_silent_client(pair, body))


async def _stop_beside_a_silent_client(pair: Pair, body: bytes) -> None:
    async with serving(pair, body) as server:
        port = server.servers[0].sockets[0].getsockname()[1]
        client = await asyncio.to_thread(Silent, port, pair.cert)
        client.ask()
        await asyncio.to_thread(client.read_first)
        server.should_exit = True
        got = await asyncio.to_thread(client.read_to_the_end)
        assert got.endswith(body), f"{len(got)} bytes came"


class Silent:
    """A client that never confirms an end: it reads, but answers nothing of TLS by itself."""

    def __init__(self, port: int, trusted: Path) -> None:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out)
        self._got = bytearray()
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._socket.sendall(self._out.read())
                self._in.write(self._socket.recv(65536))
        self._socket.sendall(self._out.read())

    def ask(self) -> None:
        self._tls.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        self._socket.sendall(self._out.read())

    def read_first(self) -> None:
        """Until the answer has begun."""
        while not self._got:
            self._in.write(self._socket.recv(65536))
            self._take()

    def read_to_the_end(self) -> bytearray:
        """All that comes until the server has closed. Raises TimeoutError: it does not."""
        while piece := self._socket.recv(1024 * 1024):
            self._in.write(piece)
            self._take()
        self._socket.close()
        return self._got

    def _take(self) -> None:
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            while piece := self._tls.read(1024 * 1024):
                self._got += piece


class Server(uvicorn.Server):
    """Tells when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


@contextlib.asynccontextmanager
async def serving(pair: Pair, body: bytes) -> AsyncIterator[Server]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        head = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})

    config = uvicorn.Config(
        app, http=ProxyingHttp, lifespan="off", log_config=None, port=0, loop="none",
        timeout_graceful_shutdown=60,
    )  # fmt: skip
    config.load()
    config.ssl = server_context(Tls(cert=str(pair.cert), key=str(pair.key)))
    server = Server(config)
    running = asyncio.create_task(server._serve())
    await server.is_up.wait()
    try:
        yield server
    except BaseException:
        server.force_exit = True
        raise
    finally:
        server.should_exit = True
        await running


@contextlib.contextmanager
def uvloop_runner() -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        run: Callable[[Any], Any] = runner.run
        yield run

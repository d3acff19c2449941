"""The HTTP side of a request and of its answer, with as little work a request as can be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from isal import igzip

from determined_master.api.http.reauthorization import NO_RECHECK, Reauthorization
from determined_master.api.upstream.connection import Header
from determined_master.ports import answered_request
from determined_master.server.proxied_http import TAKEOVER
from determined_master.server.whole_answers import FixedHeaders, send_whole

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

GZIP_FROM_BYTES = 4096
"""Smaller bodies fit a few packets; compressing them costs more than it saves."""
THREAD_FROM_BYTES = 256 * 1024
"""From here on compressing takes long enough to be done outside the event loop."""

SECURITY_HEADERS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"x-xss-protection", b"1; mode=block"),
)


class Takeover(Protocol):
    """The connection of a request, for a protocol that wants its bytes."""

    @property
    def is_taken(self) -> bool:
        """Whether it was taken over."""

    def streams(
        self,
    ) -> AbstractAsyncContextManager[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Take it over; it is closed at the end. Raises ClientGone: it is closed already."""


class Http:
    """The parts of the HTTP request that routes ask for, read when they are."""

    __slots__ = (
        "_scope",
        "accepts_gzip",
        "allocation_token",
        "authorization",
        "content_length",
        "cookie",
        "set_headers",
        "token",
        "user_id",
        "wants_pretty",
    )

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.authorization = self.allocation_token = self.cookie = b""
        self.content_length = -1
        """-1 when the request does not say."""
        self.accepts_gzip = self.wants_pretty = False
        self.token = ""
        """The token that admitted the request; empty if it needed none."""
        self.user_id = 0
        """Of the caller; 0 if the request needed no token."""
        self.set_headers: list[Header] = []
        """Headers that a route adds to its answer."""
        for name, value in scope["headers"]:
            if name == b"authorization":
                self.authorization = value
            elif name == b"accept-encoding":
                self.accepts_gzip = b"gzip" in value
            elif name == b"content-length":
                self.content_length = int(value) if value.isdigit() else -1
            elif name == b"cookie":
                self.cookie = b"; ".join((self.cookie, value)) if self.cookie else value
            elif name == b"grpc-metadata-x-allocation-token":
                self.allocation_token = value
            elif name == b"accept":
                self.wants_pretty = b"json+pretty" in value
        if scope["query_string"]:
            parameters = scope["query_string"].split(b"&")
            self.wants_pretty |= any(p.split(b"=")[0] == b"pretty" for p in parameters)

    @property
    def method(self) -> str:
        """The method, in upper case."""
        return str(self._scope.get("method", "WS"))

    @property
    def path(self) -> str:
        """The path, decoded; only for texts."""
        return str(self._scope["path"])

    @property
    def raw_path(self) -> bytes:
        """The path as it was sent."""
        raw: bytes = self._scope["raw_path"]
        return raw

    @property
    def headers(self) -> list[Header]:
        """All headers as they came, names in lower case."""
        found: list[Header] = self._scope["headers"]
        return found

    @property
    def is_chunked(self) -> bool:
        """Whether there is a body whose length is not said before."""
        return any(name == b"transfer-encoding" for name, _ in self.headers)

    @property
    def client(self) -> str:
        """Address that the request came from; empty where it is not known."""
        client = self._scope.get("client")
        return str(client[0]) if client else ""

    @property
    def server_port(self) -> int:
        """The port at which the master received it; 0 where it is not known."""
        server = self._scope.get("server")
        return int(server[1] or 0) if server else 0

    @property
    def takeover(self) -> Takeover | None:
        """Takes the connection over, if the request is for a WebSocket."""
        found: Takeover | None = self._scope.get("extensions", {}).get(TAKEOVER)
        return found

    @property
    def raw_query(self) -> bytes:
        """The query as it was sent, without its question mark."""
        raw: bytes = self._scope["query_string"]
        return raw

    @property
    def query(self) -> str:
        """The query, still encoded and without its question mark."""
        return str(self._scope["query_string"].decode("latin-1"))

    @property
    def is_secure(self) -> bool:
        """Whether the client came by TLS."""
        return self._scope.get("scheme") in ("https", "wss")

    def header(self, name: str) -> str:
        """A header's value, empty when it was not sent; `name` is in lower case."""
        wanted = name.encode()
        for key, value in self._scope["headers"]:
            if key == wanted:
                return str(value.decode("latin-1"))
        return ""


async def send_body(send: Send, status: int, headers: Sequence[Header], body: bytes) -> None:
    """Send a complete answer."""
    if type(headers) is FixedHeaders and send_whole(send, status, headers, body):
        return
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, (b"content-length", b"%d" % len(body))],
        }
    )
    await send({"type": "http.response.body", "body": body})


def with_added(headers: FixedHeaders, added: Sequence[Header]) -> Sequence[Header]:
    """The headers, with further ones of this answer alone."""
    return (*headers, *added) if added else headers


async def compress(body: bytes, threads: Executor) -> bytes:
    """gzip a body, in a thread when it is large."""
    if len(body) < THREAD_FROM_BYTES:
        return igzip.compress(body, 1)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(threads, igzip.compress, body, 1)


async def while_connected(
    receive: Receive,
    answer: Coroutine[Any, Any, None],
    reauthorization: Reauthorization = NO_RECHECK,
) -> None:
    """Send an answer of unknown length, until it ends or the client goes away.

    Raises:
        DetError: the client is not welcome any more.
    """
    gone = asyncio.create_task(_wait_for_disconnect(receive))
    request = answered_request.current()
    part = answer if request is None else request.in_own_task(answer)
    sending = asyncio.ensure_future(part)
    try:
        await reauthorization.first_of({gone, sending})
        if sending.done():
            sending.result()
    finally:
        gone.cancel()
        sending.cancel()
        await asyncio.gather(gone, sending, return_exceptions=True)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

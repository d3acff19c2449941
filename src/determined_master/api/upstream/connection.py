"""One connection to a task's service, for one request after another."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import httptools

from determined_master.domain.errors import BadGateway
from determined_master.services.tasks.proxies import ServiceTarget

Header = tuple[bytes, bytes]

CONNECT_S = 10.0
MAX_HEAD_BYTES = 128 * 1024
PIECE_BYTES = 64 * 1024
TLS_PAUSES_S = (1.0, 2.0, 4.0)
"""A server may listen a moment before it has its certificate."""


Forward = Callable[[ServiceTarget], Awaitable[socket.socket | None]]
"""A socket to a service whose address cannot be reached; None where it can. Raises OSError."""


async def dial(
    target: ServiceTarget, context: ssl.SSLContext | None, forward: Forward
) -> Upstream:
    """Connect with a service.

    Args:
        target: the service.
        context: for one that speaks TLS; its certificate must carry the task's id.
        forward: connects with services whose addresses cannot be reached.

    Raises:
        BadGateway: no server answers there; the text has the remedy.
    """
    for pause_s in TLS_PAUSES_S if context else ():
        try:
            return await _connect(target, context, forward)
        except ssl.SSLCertVerificationError as error:
            raise BadGateway(_untrusted(target, error)) from error
        except (ssl.SSLError, ConnectionError) as error:
            if isinstance(error, ConnectionRefusedError):
                raise BadGateway(unanswered(target, error)) from error
            await asyncio.sleep(pause_s)
        except OSError as error:
            raise BadGateway(unanswered(target, error)) from error
    try:
        return await _connect(target, context, forward)
    except OSError as error:
        raise BadGateway(unanswered(target, error)) from error


class Upstream:
    """A connection to a service: a request is sent, its response is received."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: ServiceTarget
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._target = target
        self._head = _Head()
        self._has_body = True

    async def send(self, data: bytes) -> None:
        """Send, as fast as the service takes it. Raises OSError."""
        self.writer.write(data)
        await self.writer.drain()

    async def read_head(self, method: str) -> tuple[int, list[Header]]:
        """Status and headers of the answer to a request of such a method.

        Raises:
            BadGateway: the response is not HTTP.
        """
        while True:
            self._head = _Head()
            try:
                raw = await self.reader.readuntil(b"\r\n\r\n")
                self._head.feed(raw)
            except asyncio.IncompleteReadError as error:
                text = "closed the connection before it had answered"
                raise BadGateway(f"{self._target.where} {text}: see the task's log") from error
            except (asyncio.LimitOverrunError, httptools.HttpParserError) as error:
                text = "gave an answer that is not HTTP/1.1"
                raise BadGateway(f"{self._target.where} {text}: {error}") from error
            except OSError as error:
                raise BadGateway(f"{self._target.where} broke off: {error}") from error
            if self._head.status >= 200 or self._head.status == 101:
                break
        if self._head.status > 599:
            text = f"answered with the status {self._head.status}, which is none"
            raise BadGateway(f"{self._target.where} {text}")
        self._has_body = method != "HEAD" and self._head.status not in (101, 204, 304)
        return self._head.status, self._head.headers

    async def body(self) -> AsyncIterator[bytes]:
        """The answer's body, piece by piece.

        Raises:
            OSError: it breaks off, or is not as its head says.
        """
        head = self._head
        while self._has_body and not head.is_complete:
            data = await self.reader.read(PIECE_BYTES)
            if not data:
                if head.ends_with_connection:
                    return
                raise ConnectionResetError("the answer breaks off")
            try:
                head.feed(data)
            except httptools.HttpParserError as error:
                if not head.is_complete:
                    raise ConnectionResetError(f"the answer is malformed: {error}") from error
            for piece in head.taken():
                yield piece

    @property
    def is_alive(self) -> bool:
        """Whether its service has not closed it, as far as is known."""
        return not (self.writer.transport.is_closing() or self.reader.at_eof())

    @property
    def is_reusable(self) -> bool:
        """Whether the answer was read whole, nothing came behind it, and more may be asked."""
        return self._head.is_complete and self._head.leaves_open and self.is_alive

    def drop(self) -> None:
        """Close the connection; unsent data is dropped."""
        self.writer.transport.abort()

    async def close(self) -> None:
        """The same, and wait until it has ended."""
        self.drop()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class _Head:
    """Callbacks of httptools' parser: the head as it was read, then pieces of the body."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[Header] = []
        self.is_complete = False
        self.leaves_open = False
        self._pieces: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing else says where the body ends."""
        return not any(n in (b"content-length", b"transfer-encoding") for n, _ in self.headers)

    def feed(self, data: bytes) -> None:
        """Parse. Raises httptools.HttpParserError."""
        with contextlib.suppress(httptools.HttpParserUpgrade):
            self._parser.feed_data(data)

    def taken(self) -> Iterable[bytes]:
        """The pieces since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def on_message_begin(self) -> None:
        self.leaves_open = False  # data after the response belongs to no request

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_complete:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if not self.is_complete:
            self.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if not self.is_complete:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        self.leaves_open = not self.is_complete and self._parser.should_keep_alive()
        self.is_complete = True


async def _connect(
    target: ServiceTarget, context: ssl.SSLContext | None, forward: Forward
) -> Upstream:
    async with asyncio.timeout(CONNECT_S):
        forwarded = await forward(target)
        where: dict[str, Any] = {"host": target.host, "port": target.host_port}
        reader, writer = await asyncio.open_connection(
            **({"sock": forwarded} if forwarded is not None else where),
            limit=MAX_HEAD_BYTES,
            ssl=context,
            server_hostname=target.task_id if context else None,
        )
    sock = writer.get_extra_info("socket")
    if sock is not None and forwarded is None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
    return Upstream(reader, writer, target)


def unanswered(target: ServiceTarget, error: OSError) -> str:
    """The text of an error for a service that does not answer."""
    why = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
    return (
        f"{target.where} does not answer ({why}): see whether the task listens at that port, on "
        "all addresses (0.0.0.0), and try again"
    )


def _untrusted(target: ServiceTarget, error: ssl.SSLCertVerificationError) -> str:
    return (
        f"{target.where} shows a certificate that this cluster has not given it "
        f"({error.verify_message}): use the one that the task was started with"
    )

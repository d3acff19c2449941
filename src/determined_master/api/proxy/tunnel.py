"""Raw TCP of a service in the binary messages of a WebSocket."""

from __future__ import annotations

import asyncio
import contextlib

from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from determined_master.api.http.exchange import Receive, Send, Takeover, send_body
from determined_master.api.proxy.forwarding import Errand
from determined_master.api.upstream.connection import PIECE_BYTES, Upstream, dial
from determined_master.domain.errors import DetError, InvalidArgument

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
CLOSING_S = 10.0


async def refuse_plain(send: Send) -> None:
    """Answer a request that is not for a WebSocket."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"sec-websocket-version", b"13")]
    await send_body(send, 400, headers, b"Bad Request")


async def carry_tcp(errand: Errand, takeover: Takeover, receive: Receive, send: Send) -> None:
    """Connect with the service, then agree to the WebSocket and carry bytes both ways.

    Raises:
        BadGateway: the service does not answer.
        InvalidArgument: the client's handshake is none.
    """
    protocol = ServerProtocol(max_size=MAX_MESSAGE_BYTES)
    upstream = await dial(errand.target, errand.context, errand.forward)
    try:
        protocol.receive_data(_request(errand))
        found = (e for e in protocol.events_received() if isinstance(e, Request))
        request = next(found, None)
        response = None if request is None else protocol.accept(request)
        if response is None or response.status_code != 101:
            raise InvalidArgument("the handshake of the WebSocket is malformed")
        async with takeover.streams() as (reader, writer):
            protocol.send_response(response)
            link = _Link(protocol, reader, writer)
            await link.flush()
            await _carry(errand, link, upstream)
    finally:
        await upstream.close()


class _Link:
    """The client's side: frames in and out, with the back-pressure of its connection."""

    def __init__(
        self,
        protocol: ServerProtocol,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._protocol = protocol
        self._reader = reader
        self._writer = writer
        self._is_binary = False
        self._is_over = False

    async def flush(self) -> None:
        """Send the protocol's pending data. Raises OSError."""
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)
            else:  # both sides have said that they close
                self._is_over = True
        await self._writer.drain()

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed."""
        return self._protocol.state is State.OPEN

    async def receive(self) -> list[bytes]:
        """The contents of the next binary frames; see `is_open` afterwards. Raises OSError."""
        data = await self._reader.read(PIECE_BYTES)
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        found = [e for e in self._protocol.events_received() if isinstance(e, Frame)]
        pieces = [bytes(frame.data) for frame in found if self._is_content(frame)]
        await self.flush()
        return pieces

    async def send(self, data: bytes) -> None:
        """Send one binary message. Raises OSError."""
        self._protocol.send_binary(data)
        await self.flush()

    async def close(self, code: int) -> None:
        """Say that no more comes; wait a moment for the client to say the same."""
        if not self.is_open:
            return
        self._protocol.send_close(code)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_S):
                await self.flush()
                while not self._is_over:
                    await self.receive()

    def _is_content(self, frame: Frame) -> bool:
        """Whether a frame is one of a binary message: others are not for the service."""
        if frame.opcode in (Opcode.BINARY, Opcode.TEXT):
            self._is_binary = frame.opcode is Opcode.BINARY
        return self._is_binary and frame.opcode in (Opcode.BINARY, Opcode.CONT)


async def _carry(errand: Errand, link: _Link, upstream: Upstream) -> None:
    up = asyncio.create_task(_to_service(link, upstream))
    down = asyncio.create_task(_to_client(link, upstream))
    try:
        code = CloseCode.NORMAL_CLOSURE
        try:
            await errand.reauthorization.first_of([up, down, errand.ending])
        except DetError:  # they are not welcome any more
            code = CloseCode.POLICY_VIOLATION
        if not up.done():
            up.cancel()
            await asyncio.gather(up, return_exceptions=True)
            with contextlib.suppress(OSError):
                await link.close(code)
    finally:
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)


async def _to_service(link: _Link, upstream: Upstream) -> None:
    while link.is_open:
        for piece in await link.receive():
            await upstream.send(piece)


async def _to_client(link: _Link, upstream: Upstream) -> None:
    while data := await upstream.reader.read(PIECE_BYTES):
        await link.send(data)


def _request(errand: Errand) -> bytes:
    """The client's handshake as it came; the path plays no part in it."""
    lines = [b"GET / HTTP/1.1", *(b"%s: %s" % header for header in errand.http.headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"

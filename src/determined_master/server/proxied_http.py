"""HTTP connections whose bytes a request for a proxied WebSocket may take over.

uvicorn handles WebSockets itself. The bytes of a task's service must pass unchanged, so below
`/proxy/` such a request reaches the application like any other, with access to the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httptools

from determined_master.server.request_limits import HeadTooLarge, LimitedHttp
from determined_master.server.tls_shutdown import close_when_sent

PREFIX = b"/proxy/"
TAKEOVER = "determined.takeover"
"""Extension of a scope: a WebSocket request whose connection may be taken over."""
_TLS_HANDSHAKE = b"\x16\x03"
MAX_KEPT_BYTES = 256 * 1024
"""Bytes that a client may send before the service has answered."""


class ClientGone(Exception):
    """The client disconnected before its request was read."""


class ProxyingHttp(LimitedHttp):
    """The master's protocol for its HTTP connections."""

    is_taken = False
    """Whether another protocol receives the bytes."""
    _rest: bytearray | None = None
    """Bytes after the head of a proxied WebSocket request."""
    _tunnel: asyncio.Transport | None = None

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; after the head of an upgrade they are not HTTP any more."""
        if self._rest is not None:
            self._rest += data
            if len(self._rest) > MAX_KEPT_BYTES:
                self.flow.pause_reading()
            return
        if self.was_refused:  # over TLS, bytes still come after the answer
            return
        self._unset_keepalive_if_required()
        self.received(len(data))
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, HeadTooLarge):
                return
            text = "Invalid HTTP request received."
            client = ":".join(map(str, self.client or ("unknown",)))
            self.logger.warning(_complaint(data), extra={"client": client})
            self.send_400_response(text)
        except httptools.HttpParserUpgrade as upgrade:
            self.stop_limits()
            if self._is_proxied_upgrade():
                self._rest = bytearray(data[upgrade.args[0] :])
            elif self._should_upgrade():
                self.handle_websocket_upgrade()
            else:
                self._unsupported_upgrade_warning()
        else:
            self.check_unfinished()

    def on_headers_complete(self) -> None:
        """Begin to serve; the application is called in a later iteration of the loop."""
        super().on_headers_complete()
        if self.parser.should_upgrade() and self._is_proxied_upgrade():
            scope: Any = self.scope
            scope["extensions"] = {TAKEOVER: self}
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        if self._tunnel is not None:
            self._tunnel.close()
            return
        super().shutdown()
        if self.scheme == "https" and self.transport.is_closing():
            close_when_sent(self.transport)

    @contextlib.asynccontextmanager
    async def streams(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """See `api.http.Takeover`."""
        transport: Any = self.transport
        if self._rest is None or self.cycle.disconnected or transport.is_closing():
            raise ClientGone
        self.is_taken = True
        self.cycle.disconnected = True  # uvicorn no longer handles it
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_KEPT_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        self._tunnel = transport
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        self.flow.resume_reading()
        if self._rest:
            reader.feed_data(bytes(self._rest))
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            yield reader, writer
        finally:
            self.connections.discard(self)
            writer.close()

    def _should_upgrade(self) -> bool:
        return super()._should_upgrade() and not self._is_proxied_upgrade()

    def _is_proxied_upgrade(self) -> bool:
        """Whether this request is for a WebSocket of a task."""
        if self._get_upgrade() != b"websocket":
            return False
        try:
            return bytes(httptools.parse_url(self.url).path or b"").startswith(PREFIX)
        except httptools.HttpParserInvalidURLError:
            return False


def _complaint(data: bytes) -> str:
    if data.startswith(_TLS_HANDSHAKE):
        return "a client uses TLS on a port without TLS: its address has to begin with http://"
    return "what a client sent is no HTTP request"

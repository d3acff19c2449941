"""HTTP connections that send head and body of an answer with one system call.

uvicorn writes head and body separately, and uvloop sends each at once. For a small answer that was
half of the master's time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

FLUSH_FROM_BYTES = 64 * 1024
"""Larger writes are not held back: flow control must see them."""


class CoalescingHttp(HttpToolsProtocol):
    """uvicorn's protocol on a transport that collects the writes of one iteration of the loop."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, as in `asyncio.Protocol`."""
        corked = CoalescingTransport(transport, asyncio.get_running_loop())
        super().connection_made(cast(asyncio.Transport, corked))


class CoalescingTransport:
    """A transport that sends at the end of the loop's iteration; it delegates everything else."""

    __slots__ = ("_loop", "_pieces", "_size", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send at the end of the iteration, together with other writes."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= FLUSH_FROM_BYTES:
            self._flush()

    def writelines(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self.write(piece)

    def write_eof(self) -> None:
        """Send buffered data, then close the sending side."""
        self._flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Send buffered data, then close."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _flush(self) -> None:
        pieces, self._pieces, self._size = self._pieces, [], 0
        if not pieces or self._transport.is_closing():
            return
        if len(pieces) == 1:
            self._transport.write(pieces[0])
        else:
            self._transport.writelines(pieces)

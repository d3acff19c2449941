"""A WebSocket of a service, carried byte for byte once the service has agreed to it.

Until then the client's bytes are kept: what does not agree must not be sent requests that the
master has not seen.
"""

from __future__ import annotations

import asyncio
import contextlib

from determined_master.api.http.exchange import Receive, Send, Takeover
from determined_master.api.proxy.answer_heads import sent_back
from determined_master.api.proxy.forwarding import (
    Client,
    ClientLeft,
    Errand,
    head_of,
    pass_back,
    path_of,
    while_both,
)
from determined_master.api.upstream.connection import PIECE_BYTES, Upstream, dial
from determined_master.domain.errors import DetError, InvalidArgument

CLOSING_S = 10.0
"""How long one side may continue after the other has closed."""


async def carry_upgrade(errand: Errand, takeover: Takeover, receive: Receive, send: Send) -> None:
    """Ask the service for the upgrade; carry bytes both ways, or its refusal back.

    Raises:
        InvalidArgument: the request has a body.
        BadGateway: the service does not answer.
    """
    http = errand.http
    if http.content_length > 0 or http.is_chunked:
        raise InvalidArgument("a request for a WebSocket has no body")
    upstream = await dial(errand.target, errand.context, errand.forward)
    client = Client(send)
    try:
        work = _carry(errand, upstream, takeover, client)
        await while_both(errand, _until_gone(receive, takeover), work)
    except ClientLeft:
        pass
    except DetError:
        if not client.is_answered and not takeover.is_taken:
            raise
    finally:
        await upstream.close()


async def _carry(errand: Errand, upstream: Upstream, takeover: Takeover, send: Send) -> None:
    more = ((b"connection", b"Upgrade"), (b"upgrade", b"websocket"))
    with contextlib.suppress(OSError):  # it may have answered already
        await upstream.send(head_of(errand, more))
    status, headers = await upstream.read_head("GET")
    headers = sent_back(headers, path_of(errand), errand.framed_by)
    if status != 101:
        closing = [*headers, (b"connection", b"close")]
        await pass_back(errand, upstream, send, status, closing)
        return
    lines = [b"HTTP/1.1 101 Switching Protocols"]
    lines += [b"%s: %s" % header for header in (*headers, *more)]
    async with takeover.streams() as (reader, writer):
        writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
        await both_ways((reader, writer), (upstream.reader, upstream.writer))


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def both_ways(one: Streams, other: Streams) -> None:
    """Copy bytes between two connections until either breaks, or both have ended."""
    pumps = {
        asyncio.create_task(_pump(one[0], other[1])),
        asyncio.create_task(_pump(other[0], one[1])),
    }
    try:
        done, left = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        if left and not any(pump.exception() for pump in done):
            await asyncio.wait(left, timeout=CLOSING_S)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(PIECE_BYTES):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _until_gone(receive: Receive, takeover: Takeover) -> None:
    """Until the client disconnects, if its connection was not taken over; otherwise forever."""
    while (await receive())["type"] != "http.disconnect":
        pass
    if takeover.is_taken:
        await asyncio.get_running_loop().create_future()

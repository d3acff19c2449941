"""Reads the bodies of requests: bounded, and large ones on disk until they are complete."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from typing import IO

from determined_master.api.http.exchange import Http, Receive
from determined_master.domain.errors import ResourceExhausted, TooLarge
from determined_master.server.proxied_http import ClientGone

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_LARGE_BODY_BYTES = 136 * 1024 * 1024
"""Of routes that take model directories, or batches of metrics and log lines. A model directory of
96 MiB, which is the largest, has 128 MiB in base64."""
MAX_STRANGERS_BODY_BYTES = 64 * 1024
"""For requests that need no token: anybody who can connect can make the master hold so much."""
IN_MEMORY_BYTES = 1024 * 1024
"""An incomplete body of more bytes is on disk; complete ones are read into memory, few at once."""
MAX_ON_DISK = 8
"""Incomplete bodies on disk of one user."""
MAX_COMPLETE = 2
"""Bodies from disk that are in memory at the same time while they are read."""

_on_disk: Counter[int] = Counter()
_reading = asyncio.Semaphore(MAX_COMPLETE)


async def read_body(receive: Receive, http: Http, *, is_large: bool = False) -> bytes:
    """Read the whole body.

    Args:
        receive: of ASGI.
        http: the request; with its token once it is authenticated.
        is_large: whether the route takes large bodies.

    Raises:
        TooLarge: it is over the limit; no more than that was kept.
        ResourceExhausted: the user has too many incomplete large bodies.
        ClientGone: the connection ended first.
    """
    if http.content_length == 0:
        return b""
    limit = _limit(http, is_large=is_large)
    _check_size(http.content_length, limit)
    body, has_more = await _next(receive)
    if not has_more:
        return body
    pieces, size = [body], len(body)
    while has_more:
        body, has_more = await _next(receive)
        pieces.append(body)
        size += len(body)
        _check_size(size, limit)
        if has_more and size > IN_MEMORY_BYTES:
            return await _read_over_disk(receive, http.user_id, pieces, limit)
    return b"".join(pieces)


async def _read_over_disk(
    receive: Receive, user_id: int, pieces: list[bytes], limit: int
) -> bytes:
    if _on_disk[user_id] >= MAX_ON_DISK:
        raise ResourceExhausted(
            f"{MAX_ON_DISK} of your large requests are incomplete: send fewer at once"
        )
    _on_disk[user_id] += 1
    try:
        with tempfile.TemporaryFile(prefix="determined-body-") as file:
            size = await _write(receive, file, pieces, limit)
            async with _reading:
                return await asyncio.to_thread(_read, file, size)
    finally:
        _on_disk[user_id] -= 1
        if not _on_disk[user_id]:
            del _on_disk[user_id]


async def _write(receive: Receive, file: IO[bytes], pieces: list[bytes], limit: int) -> int:
    """Write the rest of a body; its size."""
    size = waiting = sum(map(len, pieces))
    has_more = True
    while has_more:
        if waiting >= IN_MEMORY_BYTES:
            await asyncio.to_thread(file.write, b"".join(pieces))
            pieces, waiting = [], 0
        body, has_more = await _next(receive)
        pieces.append(body)
        size, waiting = size + len(body), waiting + len(body)
        _check_size(size, limit)
    await asyncio.to_thread(file.write, b"".join(pieces))
    return size


def _read(file: IO[bytes], size: int) -> bytes:
    file.seek(0)
    return file.read(size)


async def _next(receive: Receive) -> tuple[bytes, bool]:
    """The next part of a body, and whether more follows. Raises ClientGone."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message.get("body", b""), bool(message.get("more_body"))


def _limit(http: Http, *, is_large: bool) -> int:
    if not http.token:
        return MAX_STRANGERS_BODY_BYTES
    return MAX_LARGE_BODY_BYTES if is_large else MAX_BODY_BYTES


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(
            f"the request is larger than the limit ({size} vs. {limit} bytes):"
            " send less at once, for example a smaller model directory or fewer lines"
        )

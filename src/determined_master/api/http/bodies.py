"""Reads the bodies of requests: bounded, and large ones on disk until they are complete."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import IO

from determined_master.api.http.exchange import Http, Receive
from determined_master.domain.errors import ResourceExhausted, TooLarge, Unavailable
from determined_master.server.proxied_http import ClientGone

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_LARGE_BODY_BYTES = 136 * 1024 * 1024
"""Of routes that take model directories, or batches of metrics and log lines. A model directory of
96 MiB, which is the largest, has 128 MiB in base64."""
MAX_STRANGERS_BODY_BYTES = 64 * 1024
"""For requests that need no token: anybody who can connect can make the master hold so much."""
IN_MEMORY_BYTES = 1024 * 1024
"""An incomplete body of more bytes is on disk; complete ones are read into memory, few at once."""
MAX_MEMORY_BYTES = 64 * 1024 * 1024
"""Of the incomplete bodies of all users; further ones are on disk, however small they are."""
MAX_ON_DISK = 8
"""Incomplete bodies on disk of one user."""
MAX_DISK_BYTES = 4 * 1024 * 1024 * 1024
"""Of the incomplete bodies of all users."""
MIN_FREE_BYTES = 256 * 1024 * 1024
"""Disk space that bodies leave to others, such as the database."""
MAX_COMPLETE = 2
"""Bodies from disk that are in memory at the same time while they are read."""


class Bodies:
    """The incomplete bodies of all users, and the bounds that they share."""

    def __init__(self, directory: Path | None = None) -> None:
        """
        Args:
            directory: of large bodies, created when the first one comes; None for temporary files.
        """
        self._directory = directory
        self._on_disk: Counter[int] = Counter()
        self._disk_bytes = 0
        self._memory_bytes = 0
        self._reading = asyncio.Semaphore(MAX_COMPLETE)

    async def read(self, receive: Receive, http: Http, *, is_large: bool = False) -> bytes:
        """Read the whole body.

        Args:
            receive: of ASGI.
            http: the request; with its token once it is authenticated.
            is_large: whether the route takes large bodies.

        Raises:
            TooLarge: it is over the limit; no more than that was kept.
            ResourceExhausted: the user has too many incomplete large bodies.
            Unavailable: all users together have too many bytes of incomplete bodies.
            ClientGone: the connection ended first.
        """
        if http.content_length == 0:
            return b""
        limit = _limit(http, is_large=is_large)
        _check_size(http.content_length, limit)
        body, has_more = await _next(receive)
        if not has_more:
            return body
        pieces = _Pieces(self)
        try:
            pieces.add(body)
            while has_more:
                body, has_more = await _next(receive)
                pieces.add(body)
                _check_size(pieces.size, limit)
                if has_more and (pieces.size > IN_MEMORY_BYTES or self._is_memory_full):
                    if not http.token:
                        raise Unavailable(_BUSY)
                    return await self._read_over_disk(receive, http.user_id, pieces, limit)
            return pieces.take()
        finally:
            pieces.take()

    @property
    def _is_memory_full(self) -> bool:
        return self._memory_bytes > MAX_MEMORY_BYTES

    def _ready_directory(self) -> Path | None:
        """The directory, if it can be used."""
        if self._directory is not None:
            try:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                log.warning(
                    "cache.cache_dir cannot be used: large requests are incomplete in %s",
                    tempfile.gettempdir(),
                    extra={"reason": str(error)},
                )
                self._directory = None
        return self._directory

    async def _read_over_disk(
        self, receive: Receive, user_id: int, pieces: _Pieces, limit: int
    ) -> bytes:
        if self._on_disk[user_id] >= MAX_ON_DISK:
            raise ResourceExhausted(
                f"{MAX_ON_DISK} of your large requests are incomplete: send fewer at once"
            )
        self._on_disk[user_id] += 1
        file = _File(self)
        try:
            await asyncio.to_thread(file.open, self._ready_directory())
            has_more = True
            while has_more:
                if pieces.size >= IN_MEMORY_BYTES or self._is_memory_full:
                    await file.write(pieces.take())
                body, has_more = await _next(receive)
                pieces.add(body)
                _check_size(file.size + pieces.size, limit)
            await file.write(pieces.take())
            async with self._reading:
                return await asyncio.to_thread(file.read)
        finally:
            file.close()
            self._on_disk[user_id] -= 1
            if not self._on_disk[user_id]:
                del self._on_disk[user_id]


class _Pieces:
    """The part of an incomplete body that is in memory."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)
        self._bodies._memory_bytes += len(piece)

    def take(self) -> bytes:
        """All pieces, which are not kept any more."""
        whole = b"".join(self._pieces)
        self._bodies._memory_bytes -= self.size
        self._pieces, self.size = [], 0
        return whole


class _File:
    """The part of an incomplete body that is on disk."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._file: IO[bytes] | None = None
        self.size = 0

    def open(self, directory: Path | None) -> None:
        """Create the file, without a name."""
        self._file = tempfile.TemporaryFile(prefix="determined-body-", dir=directory)  # noqa: SIM115

    async def write(self, part: bytes) -> None:
        """Append. Raises Unavailable."""
        if self._bodies._disk_bytes + len(part) > MAX_DISK_BYTES:
            raise Unavailable(_BUSY)
        self._bodies._disk_bytes += len(part)
        self.size += len(part)
        await asyncio.to_thread(self._write, part)

    def _write(self, part: bytes) -> None:
        assert self._file is not None
        disk = os.fstatvfs(self._file.fileno())
        if disk.f_bavail * disk.f_frsize < len(part) + MIN_FREE_BYTES:
            raise Unavailable(_FULL)
        try:
            self._file.write(part)
            self._file.flush()
        except OSError as error:
            raise Unavailable(_FULL) from error

    def read(self) -> bytes:
        """The whole body."""
        assert self._file is not None
        self._file.seek(0)
        return self._file.read(self.size)

    def close(self) -> None:
        """Free the space."""
        self._bodies._disk_bytes -= self.size
        self.size = 0
        if self._file is not None:
            self._file.close()


_BUSY = "requests of all users that are incomplete take up too much space: send it again later"
_FULL = "the master's disk is full: send it again later, or ask an admin to free space"


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

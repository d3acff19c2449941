"""A task's output on disk: records in segments, written by the shim, read by the agent.

Standard library only, and little of it, since the shim imports this module.

A record is a header of 13 bytes (stream, time in microseconds, length) and the bytes that the
task has written. A segment is a file named by its number. The writer opens the next one when the
current one is full and never returns to it; the reader deletes segments that the master has
stored. So the segments on disk hold the unstored output, and a limit on their number bounds it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would add several milliseconds to the shim's start
    from collections.abc import Iterable

STDOUT, STDERR, NOTE = 0, 1, 2
HEADER_BYTES = 13
SEGMENT_BYTES = 8 * 1024**2
READ_BYTES = 65536
"""Maximum size of the output in one record."""

_RECHECK_US = 50_000
_BATCH_BYTES = 256 * 1024


def header(stream: int, at_us: int, length: int) -> bytes:
    return stream.to_bytes(1, "big") + at_us.to_bytes(8, "big") + length.to_bytes(4, "big")


def segment_name(number: int) -> str:
    """Return the file name of a segment; names sort like their numbers."""
    return f"{number:08d}"


def segments(directory: str) -> list[int]:
    """Return the numbers of the segments on disk, ascending."""
    return sorted(int(name) for name in os.listdir(directory) if name.isdigit())


class SpoolWriter:
    """Appends records to one task's output; the only writer of its directory.

    When the limit is reached or the disk is full, the newest output is dropped. The number of
    dropped lines is written as a note as soon as there is space again.
    """

    def __init__(self, directory: str, limit_bytes: int) -> None:
        """
        Args:
            directory: exists, and may already hold segments.
            limit_bytes: limit of the size on disk, accurate to one segment.
        """
        self.dropped = 0
        """Lines dropped since the last note."""
        self._directory = directory
        self._segment_bytes = max(1, min(SEGMENT_BYTES, limit_bytes // 4))
        self._max_segments = max(2, limit_bytes // self._segment_bytes)
        self._number = (segments(directory) or [1])[-1]
        self._fd = self._open()
        self._size = os.fstat(self._fd).st_size
        self._checked_us = 0
        self._is_full = False

    def write(self, stream: int, at_us: int, data: bytes) -> bool:
        """Append one record. Returns False if it was dropped."""
        if self._has_room(at_us):
            if self.dropped and self._append(NOTE, at_us, dropped_note(self.dropped)):
                self.dropped = 0
            if not self.dropped and self._append(stream, at_us, data):
                return True
        if stream != NOTE:
            self.dropped += max(1, data.count(b"\n"))
        return False

    def write_many(self, records: Iterable[tuple[int, int, bytes]]) -> None:
        """Append records (stream, time, bytes) together; those without space are dropped."""
        batch: list[bytes] = []
        size, lines, at_us = 0, 0, 0
        for stream, at_us, data in records:
            batch += (header(stream, at_us, len(data)), data)
            size += HEADER_BYTES + len(data)
            lines += max(1, data.count(b"\n"))
            if size >= _BATCH_BYTES:
                self._write_batch(b"".join(batch), at_us, lines)
                batch, size, lines = [], 0, 0
        if batch:
            self._write_batch(b"".join(batch), at_us, lines)

    def close(self) -> None:
        os.close(self._fd)

    def _write_batch(self, batch: bytes, at_us: int, lines: int) -> None:
        if self._has_room(at_us):
            if self.dropped and self._append(NOTE, at_us, dropped_note(self.dropped)):
                self.dropped = 0
            if not self.dropped and self._put([batch]):
                return
        self.dropped += lines

    def _has_room(self, at_us: int) -> bool:
        if self._is_full:
            if 0 <= at_us - self._checked_us < _RECHECK_US:
                return False
        elif self._size < self._segment_bytes:
            return True
        self._checked_us = at_us
        self._is_full = len(segments(self._directory)) >= self._max_segments
        if self._is_full or self._size < self._segment_bytes:
            return not self._is_full
        try:
            self._number += 1
            fd = self._open()
        except OSError:
            self._number -= 1
            return False
        os.close(self._fd)
        self._fd, self._size = fd, 0
        return True

    def _append(self, stream: int, at_us: int, data: bytes) -> bool:
        return self._put([header(stream, at_us, len(data)), data])

    def _put(self, parts: list[bytes]) -> bool:
        size = sum(map(len, parts))
        try:
            written_bytes = os.writev(self._fd, parts)
        except OSError:
            written_bytes = 0
        if written_bytes != size:
            os.ftruncate(self._fd, self._size)  # a partial record would hide all that follow
            return False
        self._size += size
        return True

    def _open(self) -> int:
        path = os.path.join(self._directory, segment_name(self._number))
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def dropped_note(lines: int) -> bytes:
    """Return the note about dropped lines for the task's log."""
    return (
        f"{lines} lines of output were dropped: the agent's disk or this task's log spool was full"
    ).encode()

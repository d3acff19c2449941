"""Reads a task's spooled output as numbered lines.

The numbers depend only on the bytes on disk: reading again from the same position gives each line
the same number. So lines need not be kept in memory until they are stored.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from determined_agent.shim.spool import (
    HEADER_BYTES,
    NOTE,
    STDERR,
    dropped_note,
    segment_name,
    segments,
)
from determined_wire.agent_link import LogSpan

MAX_LINE_BYTES = 64 * 1024
CUT_MARK = b" [cut at 64 KiB: the line continues]"
CHUNK_BYTES = 512 * 1024
CHUNK_LINES = 4000
POSITION_BYTES = 192 * 1024
"""Maximum size of a position: two partial lines, with four characters for three bytes."""


class Position(msgspec.Struct, frozen=True, omit_defaults=True, rename={"partial": "begun"}):
    """A place between two records, with the partial lines of both streams before it."""

    segment: int = 1
    offset: int = 0
    next_seq: int = 1
    partial: tuple[bytes, bytes] = (b"", b"")
    """Text of stdout and stderr after their last line break."""
    after_cr: tuple[bool, bool] = (False, False)
    """Whether the last byte of each was a carriage return: a line feed then belongs to it."""


class Chunk(msgspec.Struct, frozen=True):
    """Consecutive lines."""

    first_seq: int
    text: str
    spans: tuple[LogSpan, ...]
    lines: int


class LineReader:
    """Collects the lines of records, starting at a position."""

    def __init__(self, position: Position) -> None:
        self._start = position
        self._partial = list(position.partial)
        self._after_cr = list(position.after_cr)
        self._blocks: list[bytes] = []
        self._spans: list[LogSpan] = []
        self.bytes = 0
        self.lines = 0

    def feed(self, stream: int, at_us: int, data: bytes) -> None:
        if stream == NOTE:
            self.finish(at_us)
            self._add(NOTE, at_us, data)
            return
        if self._after_cr[stream] and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr[stream] = False
        if data:
            self._after_cr[stream] = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        whole, line_break, rest = data.rpartition(b"\n")
        if line_break:
            self._add(stream, at_us, self._partial[stream] + whole)
            self._partial[stream] = rest
        else:
            self._partial[stream] += rest
        while len(self._partial[stream]) > MAX_LINE_BYTES:
            piece, self._partial[stream] = _cut(self._partial[stream])
            self._add(stream, at_us, piece, is_cut=True)

    def finish(self, at_us: int) -> None:
        """Complete the partial lines; nothing will be added to them."""
        for stream, partial in enumerate(self._partial):
            if partial:
                self._add(stream, at_us, partial)
        self._partial = [b"", b""]

    def chunk(self) -> Chunk:
        text = b"\n".join(self._blocks).decode("utf-8", "replace")
        return Chunk(self._start.next_seq, text, tuple(self._spans), self.lines)

    def position(self, segment: int, offset: int) -> Position:
        """Return the place after the last record, which ends at `offset` of `segment`."""
        return Position(
            segment=segment,
            offset=offset,
            next_seq=self._start.next_seq + self.lines,
            partial=(self._partial[0], self._partial[1]),
            after_cr=(self._after_cr[0], self._after_cr[1]),
        )

    def _add(self, stream: int, at_us: int, block: bytes, *, is_cut: bool = False) -> None:
        if len(block) > MAX_LINE_BYTES and not is_cut:
            block = b"\n".join(map(_cut_whole, block.split(b"\n")))
        count = block.count(b"\n") + 1
        self._blocks.append(block)
        self._spans.append(
            LogSpan(
                count,
                at_us,
                "stderr" if stream == STDERR else "stdout",
                "agent" if stream == NOTE else "task",
            )
        )
        self.lines += count
        self.bytes += len(block)


def read_chunk(directory: Path, position: Position) -> tuple[Chunk, Position]:
    """Read the records after a position, up to about `CHUNK_BYTES` or `CHUNK_LINES`.

    Returns:
        The completed lines, perhaps none, and the position after them; the same position if
        there is no further record.
    """
    reader = LineReader(position)
    segment, offset = position.segment, position.offset
    while reader.bytes < CHUNK_BYTES and reader.lines < CHUNK_LINES:
        has_successor = (directory / segment_name(segment + 1)).exists()
        data = _read(directory / segment_name(segment), offset)
        consumed = _feed(reader, data)
        offset += consumed
        if consumed == 0:
            if not has_successor:
                break
            segment, offset = segment + 1, 0
    return reader.chunk(), reader.position(segment, offset)


def read_end(position: Position, ended_us: int, dropped_lines: int) -> tuple[Chunk, Position]:
    """Return the last lines: partial lines, and a note about lines dropped at the end."""
    reader = LineReader(position)
    reader.finish(ended_us)
    if dropped_lines:
        reader.feed(NOTE, ended_us, dropped_note(dropped_lines))
    return reader.chunk(), reader.position(position.segment, position.offset)


def load_position(cursor: Path) -> Position:
    """Return the position that an earlier agent saved; the beginning if there is none."""
    try:
        return msgspec.json.decode(cursor.read_bytes(), type=Position)
    except (OSError, msgspec.DecodeError):
        return Position()


def reserve_cursor(cursor: Path) -> None:
    """Reserve disk space for the next position: later the output itself may fill the disk.

    Without that space the stored segments could not be deleted, and the disk would stay full.
    """
    with contextlib.suppress(OSError), open(_spare(cursor), "ab") as file:
        file.write(bytes(max(0, POSITION_BYTES - file.tell())))


def save_position(cursor: Path, output: Path, position: Position) -> None:
    """Save which output is stored, and delete the segments that hold nothing else.

    A failure is ignored: the same output would only be read and sent once more.
    """
    try:
        _overwrite(_spare(cursor), msgspec.json.encode(position))
        _spare(cursor).rename(cursor)
        for number in segments(str(output)):
            if number < position.segment:
                (output / segment_name(number)).unlink()
    except OSError:
        return
    reserve_cursor(cursor)


def _spare(cursor: Path) -> Path:
    return cursor.with_suffix(".tmp")


def _overwrite(path: Path, data: bytes) -> None:
    """Overwrite a file in place, so that the space it already has is reused."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        at = 0
        while at < len(data):
            at += os.pwrite(fd, data[at:], at)
        os.ftruncate(fd, len(data))
    finally:
        os.close(fd)


def _read(path: Path, offset: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(fd, CHUNK_BYTES, offset)
    finally:
        os.close(fd)


def _feed(reader: LineReader, data: bytes) -> int:
    """Add the complete records at the start of `data`; return their size in bytes."""
    at = 0
    while at + HEADER_BYTES <= len(data) and reader.lines < CHUNK_LINES:
        end = at + HEADER_BYTES + int.from_bytes(data[at + 9 : at + HEADER_BYTES], "big")
        if end > len(data):
            break
        at_us = int.from_bytes(data[at + 1 : at + 9], "big")
        reader.feed(data[at], at_us, data[at + HEADER_BYTES : end])
        at = end
    return at


def _cut(line: bytes) -> tuple[bytes, bytes]:
    """Return the first 64 KiB of a line with a mark, and the rest; no character is split."""
    at = MAX_LINE_BYTES
    while at > MAX_LINE_BYTES - 4 and line[at] & 0xC0 == 0x80:
        at -= 1
    return line[:at] + CUT_MARK, line[at:]


def _cut_whole(line: bytes) -> bytes:
    pieces = []
    while len(line) > MAX_LINE_BYTES:
        piece, line = _cut(line)
        pieces.append(piece)
    return b"\n".join([*pieces, line])

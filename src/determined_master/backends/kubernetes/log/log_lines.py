"""Lines of a pod's log with their times, as the API server returns them. PURE.

The server writes a time before each line. Numbers follow from the bytes alone, so a second reading
of the log from its beginning gives each line the same number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from determined_wire.agent_link import LogSpan

MAX_LINE_BYTES = 64 * 1024
CUT_MARK = b" [cut at 64 KiB: the line continues]"
PART_BYTES = 16 * 1024
"""Runtimes write longer lines in parts; older kubelets put a time before each of them."""
_NO_LOG = (
    b"unable to retrieve container logs for ",
    b"failed to try resolving symlinks in path ",
    b"rpc error: code = ",
)
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d) ?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PodLogLine(msgspec.Struct, frozen=True):
    at_us: int
    """Microseconds since 1970-01-01T00:00:00Z."""
    text: bytes


class LineSplitter:
    """Splits received pieces into lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[PodLogLine]:
        """The lines that this piece completes."""
        *whole, rest = piece.split(b"\n")
        if whole:
            whole[0] = b"".join(self._rest) + whole[0]
            self._rest = []
        if rest:
            self._rest.append(rest)
        for raw in whole:
            yield from lines_of(raw)

    def finish(self) -> Iterator[PodLogLine]:
        """The last line, if no line feed ends it."""
        rest, self._rest = b"".join(self._rest), []
        if rest:
            yield from lines_of(rest)


def lines_of(raw: bytes) -> Iterator[PodLogLine]:
    """The lines in one of the server's: a carriage return or a maximum length ends one."""
    stamp = _STAMP.match(raw)
    if stamp is None:
        at_us, content = 0, raw
    else:
        at_us, content = _microseconds(stamp), raw[stamp.end() :]
    if len(content) > PART_BYTES:
        content = _without_inner_stamps(content)
    for text in content.rstrip(b"\r").split(b"\r"):
        while len(text) > MAX_LINE_BYTES:
            yield PodLogLine(at_us, text[:MAX_LINE_BYTES] + CUT_MARK)
            text = text[MAX_LINE_BYTES:]
        yield PodLogLine(at_us, text)


def is_no_log(line: PodLogLine) -> bool:
    """Whether it is a kubelet's message that it has no log any more, in place of the log."""
    return not line.at_us and line.text.startswith(_NO_LOG)


def text_of(lines: list[PodLogLine]) -> str:
    return b"\n".join(line.text for line in lines).decode("utf-8", "replace")


def spans_of(lines: list[PodLogLine]) -> tuple[LogSpan, ...]:
    """The times of lines: one entry for consecutive lines of one time."""
    spans: list[LogSpan] = []
    count, at_us = 0, 0
    for line in lines:
        if count and line.at_us != at_us:
            spans.append(LogSpan(count, at_us))
            count = 0
        count, at_us = count + 1, line.at_us
    return (*spans, LogSpan(count, at_us)) if count else ()


def _without_inner_stamps(content: bytes) -> bytes:
    parts, rest = [content[:PART_BYTES]], content[PART_BYTES:]
    while rest:
        stamp = _STAMP.match(rest)
        rest = rest[stamp.end() :] if stamp else rest
        parts.append(rest[:PART_BYTES])
        rest = rest[PART_BYTES:]
    return b"".join(parts)


def _microseconds(stamp: re.Match[bytes]) -> int:
    zone = stamp[3].decode()
    whole = datetime.fromisoformat(stamp[1].decode() + ("+00:00" if zone == "Z" else zone))
    fraction = (stamp[2] or b"").ljust(6, b"0")[:6]
    return (whole - _EPOCH) // timedelta(microseconds=1) + int(fraction)

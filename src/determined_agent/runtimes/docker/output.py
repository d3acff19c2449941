"""Copies a container's output from Docker's log into the task's spool.

Docker keeps the log, so a copy may be interrupted at any time; the next one continues after the
last record in the spool. Each entry of Docker's log becomes one record, so the place to continue
follows from the records alone: from the time of the last record, skipping as many entries as there
are records of that time or later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from determined_agent import clock
from determined_agent.runtimes.docker.api import DockerApi, Request
from determined_agent.shim.spool import HEADER_BYTES, NOTE, SpoolWriter, segment_name, segments

_FRAME_BYTES = 8
_TAIL_SEGMENTS = 3
_SECOND_CHARS = 19
"""Length of `2026-01-31T12:00:00`."""


class ResumePoint(msgspec.Struct, frozen=True):
    """The place in Docker's log where a copy continues."""

    since_us: int = 0
    """Entries before this time are in the spool, or were dropped."""
    skip: int = 0
    """Number of entries since then that are in the spool, too."""


class ContainerOutput:
    """Writes the output of one container into the spool, as its only writer."""

    def __init__(self, api: DockerApi, docker_id: str, directory: Path, limit_bytes: int) -> None:
        """
        Args:
            api: the daemon.
            docker_id: Docker's id of the container; empty until it is created.
            directory: the spool's directory.
            limit_bytes: limit of the spool.
        """
        self.docker_id = docker_id
        self.received = 0
        """Bytes that Docker has sent so far; shows whether a copy makes progress."""
        self._api = api
        self._directory = directory
        self._spool = SpoolWriter(str(directory), limit_bytes)

    @property
    def dropped(self) -> int:
        """Lines that were dropped and not yet noted."""
        return self._spool.dropped

    def note(self, text: str) -> None:
        """Write a note of the agent."""
        self._spool.write(NOTE, int(clock.now().timestamp() * 1e6), text.encode())

    def add(self, pieces: Iterable[tuple[int, bytes]], at_us: int) -> None:
        """Write output that is not in Docker's log and comes after all of it."""
        self._spool.write_many([(stream, at_us, data) for stream, data in pieces])

    def close(self) -> None:
        self._spool.close()

    async def copy(self, *, follow: bool) -> None:
        """Copy new entries; with `follow` until the container has ended.

        Raises:
            DockerUnreachable: the connection was lost.
            DockerApiError: the container is gone, or its log cannot be read.
        """
        resume = last_entries(self._directory)
        seconds, micros = divmod(resume.since_us, 10**6)
        request = Request(
            method="GET",
            path=f"/containers/{self.docker_id}/logs",
            query={
                "stdout": True,
                "stderr": True,
                "timestamps": True,
                "follow": follow,
                "since": f"{seconds}.{micros:06d}000" if resume.since_us else None,
            },
        )
        async with self._api.stream(request) as pieces:
            await self._take(pieces, resume.skip)

    async def _take(self, pieces: AsyncIterator[bytes], skip: int) -> None:
        frames, times = FrameDecoder(), TimestampParser()
        async for piece in pieces:
            self.received += len(piece)
            records = []
            for stream, payload in frames.feed(piece):
                if skip:
                    skip -= 1
                    continue
                at_us, data = times.split(payload)
                records.append((0 if stream < 2 else 1, at_us, data))
            if records:
                self._spool.write_many(records)


class FrameDecoder:
    """Decodes Docker's multiplexed stream: 1 byte stream, 3 empty, 4 length, payload."""

    def __init__(self) -> None:
        self._partial = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return complete frames: stream (1 stdout, 2 stderr) and payload."""
        data = self._partial + data if self._partial else data
        frames, at = [], 0
        while at + _FRAME_BYTES <= len(data):
            end = at + _FRAME_BYTES + int.from_bytes(data[at + 4 : at + _FRAME_BYTES], "big")
            if end > len(data):
                break
            frames.append((data[at], data[at + _FRAME_BYTES : end]))
            at = end
        self._partial = data[at:]
        return frames


class TimestampParser:
    """Splits `2026-01-31T12:00:00.123456789Z text` into microseconds since 1970 and the text."""

    def __init__(self) -> None:
        self._second, self._zone, self._us = b"", b"", 0

    def split(self, payload: bytes) -> tuple[int, bytes]:
        """Return time and text; time 0 if there is none."""
        stamp, space, text = payload.partition(b" ")
        try:
            return (self.parse(stamp), text) if space else (0, payload)
        except ValueError:
            return 0, payload

    def parse(self, stamp: bytes) -> int:
        """Return microseconds since 1970. Raises ValueError."""
        second, rest = stamp[:_SECOND_CHARS], stamp[_SECOND_CHARS:]
        digits = len(rest) - len(rest.lstrip(b".0123456789"))
        fraction, zone = rest[1:digits], rest[digits:]
        if (second, zone) != (self._second, self._zone):
            moment = datetime.fromisoformat((second + (zone or b"Z")).decode())
            self._second, self._zone = second, zone
            self._us = int(moment.timestamp()) * 10**6
        return self._us + int(fraction[:6].ljust(6, b"0"))


def last_entries(directory: Path) -> ResumePoint:
    """Return where to continue after the records of a spool."""
    times: list[int] = []
    for number in segments(str(directory))[-_TAIL_SEGMENTS:]:
        times += _times(directory / segment_name(number))
    if not times:
        return ResumePoint()
    return ResumePoint(times[-1], sum(at_us >= times[-1] for at_us in times))


def _times(segment: Path) -> list[int]:
    """Return the times of the task's records, up to a truncated one."""
    try:
        data = segment.read_bytes()
    except FileNotFoundError:
        return []  # stored and already deleted
    times, at = [], 0
    while at + HEADER_BYTES <= len(data):
        end = at + HEADER_BYTES + int.from_bytes(data[at + 9 : at + HEADER_BYTES], "big")
        if data[at] != NOTE:
            times.append(int.from_bytes(data[at + 1 : at + 9], "big"))
        at = end
    return times

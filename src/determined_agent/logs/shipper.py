"""Sending one task's output to the master, each line until it is stored.

Nothing is kept in memory but where each batch ends: after a lost socket or a restart the lines
are read again from the last place that the master has stored.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

import msgspec

from determined_agent.container.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.logs.spool_reader import (
    Chunk,
    Position,
    load_position,
    read_chunk,
    read_end,
    reserve_cursor,
    save_position,
)
from determined_wire.agent_link import LogBatch

WINDOW = 4
"""Batches of one container that may be on their way."""

_SOONEST_S = 0.005
_LATEST_S = 0.1
_BACK_OFF = 1.6


class Disconnected(Exception):
    """The socket was lost; what was not acknowledged is sent again over the next."""


class LogLink(Protocol):
    """What the output goes out by."""

    @property
    def connection(self) -> int:
        """Number of the connection that is up, 0 when none is."""

    async def connected(self) -> int:
        """Wait until a connection is up; its number."""

    async def send_logs(self, connection: int, batch: LogBatch) -> None:
        """Send over that connection. Raises Disconnected when it is not the one that is up."""


class _Sent(msgspec.Struct, frozen=True):
    last_seq: int
    after: Position
    is_last: bool


class LogShipper:
    """Ships the output of one container."""

    def __init__(
        self, record: ContainerRecord, directory: ContainerDirectory, link: LogLink
    ) -> None:
        self._record = record
        self._directory = directory
        self._link = link
        self._stored = load_position(directory.cursor)
        reserve_cursor(directory.cursor)
        self._saved_segment = self._stored.segment
        self._next = self._stored
        self._sent: deque[_Sent] = deque()
        self._exit: Exit | None = None
        self._is_done = False
        self._wake = asyncio.Event()

    def finish(self, end: Exit) -> None:
        """The task has ended: all it wrote is on disk."""
        self._exit = end
        self._wake.set()

    def stored(self, seq: int, *, is_last: bool) -> None:
        """The master has stored the lines up to `seq`, and that it was the last batch."""
        while self._sent and self._sent[0].last_seq <= seq:
            if self._sent[0].is_last and not is_last:
                break
            batch = self._sent.popleft()
            self._stored = batch.after
            self._is_done = batch.is_last
        if self._stored.segment > self._saved_segment:
            self.save()
        self._wake.set()

    def disconnected(self) -> None:
        """The connection is gone: look up from waiting for its answers."""
        self._wake.set()

    def save(self) -> None:
        """Note on disk how far the output is stored."""
        save_position(self._directory.cursor, self._directory.output, self._stored)
        self._saved_segment = self._stored.segment

    async def run(self) -> None:
        """Ship until the last line is stored."""
        while not self._is_done:
            connection = await self._link.connected()
            self._sent.clear()
            self._next = self._stored
            try:
                await self._ship(connection)
            except Disconnected:
                continue

    async def _ship(self, connection: int) -> None:
        pause_s = _SOONEST_S
        has_sent_last = False
        while not self._is_done:
            if self._link.connection != connection:
                raise Disconnected
            self._wake.clear()
            if len(self._sent) >= WINDOW or has_sent_last:
                await self._wake.wait()
                continue
            end = self._exit  # looked at before the files: what it wrote last is not missed
            chunk, after = read_chunk(self._directory.output, self._next)
            if chunk.lines:
                await self._send(connection, chunk, after, is_last=False)
                pause_s = _SOONEST_S
            elif after != self._next:
                self._next = after
            elif end is not None:
                chunk, after = read_end(self._next, end.ended_us, end.dropped_lines)
                await self._send(connection, chunk, after, is_last=True)
                has_sent_last = True
            else:
                await self._pause(pause_s)
                pause_s = min(pause_s * _BACK_OFF, _LATEST_S)

    async def _send(
        self, connection: int, chunk: Chunk, after: Position, *, is_last: bool
    ) -> None:
        batch = LogBatch(
            container_id=self._record.container_id,
            allocation_id=self._record.allocation_id,
            task_id=self._record.task_id,
            first_seq=chunk.first_seq,
            text=chunk.text,
            spans=chunk.spans,
            is_last=is_last,
        )
        self._next = after
        self._sent.append(_Sent(chunk.first_seq + chunk.lines - 1, after, is_last))
        await self._link.send_logs(connection, batch)

    async def _pause(self, pause_s: float) -> None:
        try:
            async with asyncio.timeout(pause_s):
                await self._wake.wait()
        except TimeoutError:
            return

"""Sends one task's output to the master until each line is stored.

Only the end of each batch is kept in memory. After a lost connection or a restart the lines are
read again from the last position that the master has stored.
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
"""Maximum number of unacknowledged batches of one container."""

_SOONEST_S = 0.005
_LATEST_S = 0.1
_BACK_OFF = 1.6


class Disconnected(Exception):
    """The connection was lost; unacknowledged batches are sent again over the next one."""


class LogLink(Protocol):
    """The link that output is sent over."""

    @property
    def connection(self) -> int:
        """Number of the current connection; 0 if there is none."""

    async def connected(self) -> int:
        """Wait for a connection; return its number."""

    async def send_logs(self, connection: int, batch: LogBatch) -> None:
        """Send over that connection. Raises Disconnected if it is not the current one."""


class _SentBatch(msgspec.Struct, frozen=True):
    last_seq: int
    after: Position
    is_last: bool


class LogShipper:
    """Sends the output of one container."""

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
        self._sent: deque[_SentBatch] = deque()
        self._exit: Exit | None = None
        self._is_done = False
        self._wake = asyncio.Event()

    def finish(self, end: Exit) -> None:
        """Record that the task has ended and that all of its output is on disk."""
        self._exit = end
        self._wake.set()

    def stored(self, seq: int, *, is_last: bool) -> None:
        """Record that the master has stored the lines up to `seq`, or the last batch."""
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
        """Stop waiting for answers over the lost connection."""
        self._wake.set()

    def save(self) -> None:
        """Save on disk which output is stored."""
        save_position(self._directory.cursor, self._directory.output, self._stored)
        self._saved_segment = self._stored.segment

    async def run(self) -> None:
        """Send until the last line is stored."""
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
            end = self._exit  # read before the files, so that the last output is not missed
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
        self._sent.append(_SentBatch(chunk.first_seq + chunk.lines - 1, after, is_last))
        await self._link.send_logs(connection, batch)

    async def _pause(self, pause_s: float) -> None:
        try:
            async with asyncio.timeout(pause_s):
                await self._wake.wait()
        except TimeoutError:
            return

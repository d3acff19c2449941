"""The flight recorder: stores every plan and its view in the database, up to a limit."""

from __future__ import annotations

import asyncio
import logging
import threading
import zlib
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.schedule.frames import Frame, FrameHistory
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.queue import plan_frames
from determined_master.store.queue.plan_frames import FrameRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from determined_master.pools.loop import PoolDecision
    from determined_master.store.db import Database

log = logging.getLogger(__name__)

FLUSH_S = 1.0
FRAMES_A_KEY = 500
MAX_WAITING = 100
"""Decisions that wait for the database: some ten seconds; beyond that the oldest are dropped."""
MAX_BYTES = 64 * 1024**2
MAX_FRAMES = 100_000


class Recorder:
    """Stores decisions; the last second is lost with the process.

    A pool's record has at most 64 MiB or 100,000 frames, plus everything since its last key frame.
    """

    def __init__(
        self, db: Database, *, max_bytes: int = MAX_BYTES, max_frames: int = MAX_FRAMES
    ) -> None:
        self._db = db
        self._limits = max_bytes, max_frames
        self._films: dict[str, FrameHistory] = {}
        self._since_key: dict[str, int] = {}
        self._waiting: deque[PoolDecision] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}

    def note(self, decision: PoolDecision) -> None:
        """Queue a decision. It must be cheap, since the plan waits for it.

        When the database is away for long the oldest are dropped; the next stored frame is a key
        frame.
        """
        self._waiting.append(decision)

    async def run(self) -> None:
        """Write recorded decisions every second, forever, and the rest at the end."""
        try:
            while True:
                await asyncio.sleep(FLUSH_S)
                await self.flush()
        finally:
            await asyncio.shield(self.flush())

    async def flush(self) -> None:
        """Write recorded decisions, unless nothing has happened between two of them."""
        decisions = list(self._waiting)
        self._waiting.clear()
        if not decisions:
            return
        is_written = False
        try:
            # Thousands of requests are compared, and planning must continue in the meantime.
            frames = await asyncio.to_thread(self._frames_of, decisions)
            rows = [await self._row(frame) for frame in frames]
            if rows:
                async with self._db.acquire() as conn:
                    await plan_frames.insert_frames(conn, rows)
                    for name in {f.pool for f in frames if f.is_key}:
                        await plan_frames.delete_old_frames(conn, name, *self._limits)
            is_written = True
        except DATABASE_ERRORS:
            log.warning("decisions could not be recorded", extra={"decisions": len(decisions)})
        finally:
            if not is_written:  # later frames lack their base: continue with a key frame
                self._since_key.clear()
                self._numbers.clear()

    def _frames_of(self, decisions: Sequence[PoolDecision]) -> list[Frame]:
        with self._lock:  # a flush that was cancelled may still run
            frames = (self._frame(decision) for decision in decisions)
            return [frame for frame in frames if frame.has_news]

    def _frame(self, decision: PoolDecision) -> Frame:
        name = decision.view.pool
        count = self._since_key.get(name, FRAMES_A_KEY)
        film = self._films.setdefault(name, FrameHistory())
        frame = film.take(decision.view, decision.plan, is_key=count >= FRAMES_A_KEY)
        if frame.has_news:
            self._since_key[name] = 1 if frame.is_key else count + 1
        return frame

    async def _row(self, frame: Frame) -> FrameRow:
        if frame.pool not in self._numbers:
            async with self._db.acquire() as conn:
                self._numbers[frame.pool] = await plan_frames.find_last_seq(conn, frame.pool)
        self._numbers[frame.pool] += 1
        text = msgspec.json.encode(frame)
        body = await asyncio.to_thread(zlib.compress, text, 1)
        return FrameRow(frame.pool, self._numbers[frame.pool], frame.at, frame.is_key, body)


def read_frame(row: FrameRow) -> Frame:
    return msgspec.json.decode(zlib.decompress(row.body), type=Frame)

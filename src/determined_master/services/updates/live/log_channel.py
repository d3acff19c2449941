"""Lines of one task for all who follow it: read once, each line sent once to each of them.

A viewer that comes with a cursor is first brought to the position of the others by its own
reads; the database's snapshots say exactly which lines it lacks. Lines are never merged away: a
viewer that does not take them in time gets a reset with its own cursor and subscribes again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from determined_master import clock
from determined_master.domain.updates.log_position import LinePosition
from determined_master.services.updates.live.frames import LiveFrame, frame
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from determined_master.domain.updates.live import Topic
    from determined_master.records.logs import LogRow
    from determined_master.services.updates.live.connection import LiveConnection
    from determined_master.services.updates.live.views import LiveViews

log = logging.getLogger(__name__)

FRAME_LINES = 2000
EVERY_S = 0.25
"""Between two frames of a topic."""
LOOK_S = 5.0
"""The longest time between two looks at a task of which nothing is heard."""
RETRY_S = 1.0
SETTLED_S = 10.0
"""Age of a sent line at which the lines drawn before it are committed."""


class LineSource(Protocol):
    """Reads lines, in the order of their numbers."""

    async def end(self, task_id: str) -> LinePosition: ...
    async def is_over(self, task_id: str) -> bool: ...
    async def read(
        self, task_id: str, position: LinePosition, until: LinePosition | None, limit: int
    ) -> tuple[Sequence[LogRow], LinePosition] | None: ...


class LogChannel:
    """Follows one task while somebody watches it."""

    def __init__(self, topic: Topic, lines: LineSource, views: LiveViews) -> None:
        self.topic = topic
        self._lines = lines
        self._views = views
        self._position = LinePosition()
        self._seq = 0
        self._viewers: dict[LiveConnection, LinePosition] = {}
        """Those that have all lines up to the position, and where the last frame left them."""
        self._wake = asyncio.Event()
        self._door = asyncio.Lock()
        """Held while the position moves or a viewer joins."""
        self._settled: list[tuple[float, int]] = []
        self.is_over = False

    def wake(self) -> None:
        """There may be new lines."""
        self._wake.set()

    def leave(self, viewer: LiveConnection) -> None:
        """Send a viewer nothing more."""
        self._viewers.pop(viewer, None)

    async def run(self) -> None:
        """Send new lines as they come, until the task has ended and all lines were sent."""
        while not self.is_over:
            try:
                await self._look()
            except DATABASE_ERRORS as error:
                log.info("a followed log is not read", extra={"error": str(error)})
                await asyncio.sleep(RETRY_S)

    async def _look(self) -> None:
        """Send what is new, and wait for more."""
        began_s = clock.monotonic_s()
        self._wake.clear()
        is_over = await self._lines.is_over(self.topic.key)
        async with self._door:
            has_more = await self._advance()
            if is_over and not has_more:
                self.is_over = True
                self._end()
                return
        await asyncio.sleep(max(began_s + EVERY_S - clock.monotonic_s(), 0))
        if not has_more:
            await _first_of(self._wake, LOOK_S)

    async def follow(self, viewer: LiveConnection, cursor: LinePosition | None) -> None:
        """Bring a viewer to the others, from its own position on.

        It waits for the viewer, which nothing else does. After the end of a task it sends that.
        Without an answer of the database the viewer is to come again with its cursor.
        """
        position, is_first = cursor, True
        while True:
            try:
                moved = await self._step(viewer, position, is_first=is_first)
            except DATABASE_ERRORS as error:
                log.info("a log is not followed", extra={"error": str(error)})
                left = (position or self._position).text()
                viewer.push(frame(self.topic.name, self._seq, left, "reset"))
                viewer.end_log(self.topic.name)
                return
            if moved is None:
                return
            position, is_first = moved, False
            await asyncio.sleep(EVERY_S)
            await viewer.room()

    async def _step(
        self, viewer: LiveConnection, position: LinePosition | None, *, is_first: bool
    ) -> LinePosition | None:
        """Send one page to a viewer that comes; None once it has joined the others."""
        async with self._door:
            await self._advance()
            target = self._position
            if position is None or position == target:
                if is_first:
                    viewer.push(self._frame(b"[]", target))
                self._join(viewer, target)
                return None
        found = await self._lines.read(self.topic.key, position, target, FRAME_LINES)
        if found is None:
            viewer.push(frame(self.topic.name, self._seq, target.text(), "reset"))
            viewer.end_log(self.topic.name)
            return None
        lines, moved = found
        if lines or is_first:
            viewer.push(self._frame(self._views.log_lines(lines), moved))
        return moved

    def _join(self, viewer: LiveConnection, position: LinePosition) -> None:
        if self.is_over:
            viewer.push(self._last(position))
            viewer.end_log(self.topic.name)
        else:
            self._viewers[viewer] = position

    async def _advance(self) -> bool:
        """Send the next lines to all; whether there may be more."""
        if self.is_over:
            return False
        found = None
        if self._position.snapshot:
            found = await self._lines.read(self.topic.key, self._position, None, FRAME_LINES)
        if found is None:  # the first look: who wants earlier lines reads them on the way
            self._position = await self._lines.end(self.topic.key)
            return False
        lines, moved = found
        if not lines:
            return False
        self._position = self._settle(moved)
        self._seq += 1
        made = self._frame(self._views.log_lines(lines), self._position)
        for viewer in tuple(self._viewers):
            if viewer.is_full:
                self._drop(viewer)
            else:
                viewer.push(made)
                self._viewers[viewer] = self._position
        return len(lines) >= FRAME_LINES

    def _drop(self, viewer: LiveConnection) -> None:
        """A viewer lags: end its topic at the position of its last frame."""
        position = self._viewers[viewer]
        made = frame(self.topic.name, self._seq, position.text(), "reset")
        viewer.reset_later(self.topic.name, lambda: made)
        viewer.end_log(self.topic.name)

    def _settle(self, moved: LinePosition) -> LinePosition:
        now_s = clock.monotonic_s()
        if not self._settled or self._settled[-1][0] < now_s - 1:
            self._settled.append((now_s, moved.newest))
        floor = moved.floor
        while self._settled and self._settled[0][0] < now_s - SETTLED_S:
            floor = max(floor, self._settled.pop(0)[1])
        return LinePosition(moved.newest, floor, moved.snapshot)

    def _end(self) -> None:
        for viewer, position in tuple(self._viewers.items()):
            viewer.push(self._last(position))
            viewer.end_log(self.topic.name)

    def _frame(self, lines: bytes, position: LinePosition) -> LiveFrame:
        data = b'{"lines":%s}' % lines
        return frame(self.topic.name, self._seq, position.text(), "append", data)

    def _last(self, position: LinePosition) -> LiveFrame:
        data = b'{"lines":[],"ended":true}'
        return frame(self.topic.name, self._seq, position.text(), "append", data)


async def _first_of(event: asyncio.Event, timeout_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()

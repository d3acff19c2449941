"""One viewer's connection: its topics, and the frames that wait to be sent.

Nothing waits for a viewer: what it does not take in time is dropped, and it is told to read the
topic again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from determined_master.domain.access.rules import Caller
    from determined_master.services.updates.live.channel import Channel
    from determined_master.services.updates.live.frames import LiveFrame

MAX_FRAMES = 512
MAX_BYTES = 4 * 2**20
"""Of the frames that wait for one viewer."""


class LiveConnection:
    """The outgoing frames of one viewer."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.topics: dict[str, Channel] = {}
        """By name, except for logs."""
        self.logs: dict[str, Callable[[], None]] = {}
        """By name: ends the topic."""
        self.recheck = asyncio.Event()
        """Set when the caller may have to leave, or may see less."""
        self._frames: deque[LiveFrame] = deque()
        self._size = 0
        self._lagging: dict[str, Callable[[], LiveFrame]] = {}
        """Topics with dropped frames: their reset is made when there is room again."""
        self._wake = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()

    @property
    def is_full(self) -> bool:
        """Whether the viewer is too far behind for another frame."""
        return len(self._frames) >= MAX_FRAMES or self._size >= MAX_BYTES

    @property
    def is_over(self) -> bool:
        """Whether it has no topic, and nothing waits."""
        return not (self.topics or self.logs or self._frames or self._lagging)

    def has(self, topic: str) -> bool:
        """Whether the viewer has that topic."""
        return topic in self.topics or topic in self.logs

    def offer(self, channel: Channel, made: LiveFrame) -> None:
        """Have a frame of a topic sent with the next `deliver`, if there is room."""
        if self.is_full or channel.topic.name in self._lagging:
            self._lagging[channel.topic.name] = channel.reset
            return
        self._add(made)

    def push(self, made: LiveFrame) -> None:
        """Send a frame in any case, and at once."""
        self._add(made)
        self._wake.set()

    def deliver(self) -> bool:
        """Send what was offered; whether there is anything."""
        if self._frames or self._lagging:
            self._wake.set()
            return True
        return False

    def _add(self, made: LiveFrame) -> None:
        self._frames.append(made)
        self._size += len(made)
        if self.is_full:
            self._has_room.clear()

    def forget(self, topic: str) -> None:
        """Send nothing more of a topic but what waits already."""
        self._lagging.pop(topic, None)

    def end_log(self, topic: str) -> None:
        """Leave the topic of a log."""
        leave = self.logs.pop(topic, None)
        if leave is not None:
            leave()

    def reset_later(self, topic: str, make: Callable[[], LiveFrame]) -> None:
        """Send this once there is room."""
        self._lagging[topic] = make
        self._wake.set()

    async def room(self) -> None:
        """Wait until the viewer is not too far behind."""
        await self._has_room.wait()

    async def take(self) -> list[LiveFrame]:
        """Wait for frames; all that there are."""
        await self._wake.wait()
        self._wake.clear()
        taken = list(self._frames)
        self._frames.clear()
        self._size = 0
        self._has_room.set()
        lagging, self._lagging = self._lagging, {}
        return [*taken, *(make() for make in lagging.values())]

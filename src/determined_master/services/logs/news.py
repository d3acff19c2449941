"""News of tasks' lines: wakes those who follow a task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress

from determined_master import clock

POLL_S = 5.0
"""The longest time between two looks of a follower that gets no notification."""


class LogNews:
    """Tasks that may have new lines, and who waits for them."""

    def __init__(self, on_lines: Callable[[str], None]) -> None:
        """`on_lines` gets each task that may have new lines; it must not block."""
        self._on_lines = on_lines
        self._news: dict[str, asyncio.Event] = {}

    def notify(self, task_id: str) -> None:
        """Wake those who follow a task."""
        self._on_lines(task_id)
        event = self._news.pop(task_id, None)
        if event is not None:
            event.set()

    async def wakes(
        self, task_ids: Sequence[str], *, every_s: float, within_s: Callable[[], float]
    ) -> AsyncGenerator[None, None]:
        """Once at first, then each time one of the tasks may have new lines; close it at the end.

        Args:
            task_ids: whose lines.
            every_s: the least time from one wake to the next.
            within_s: asked at each wake, how long to wait for the next notification.
        """
        try:
            while True:
                began_s = clock.monotonic_s()
                event = self._listen(task_ids)
                yield
                with suppress(TimeoutError):
                    async with asyncio.timeout(within_s()):
                        await event.wait()
                await asyncio.sleep(began_s + every_s - clock.monotonic_s())
        finally:
            for task_id in task_ids:  # a task without followers has no entry
                self.notify(task_id)

    def _listen(self, task_ids: Sequence[str]) -> asyncio.Event:
        event = asyncio.Event()
        for task_id in task_ids:
            event = self._news.setdefault(task_id, event)
        return event

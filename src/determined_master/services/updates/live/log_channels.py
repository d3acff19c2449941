"""The tasks whose logs are followed, each with one loop for all of its viewers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from determined_master.services.updates.live.log_channel import LineSource, LogChannel

if TYPE_CHECKING:
    from determined_master.domain.updates.live import Topic
    from determined_master.domain.updates.log_position import LinePosition
    from determined_master.services.updates.live.connection import LiveConnection
    from determined_master.services.updates.live.views import LiveViews


class _Followed:
    def __init__(self, channel: LogChannel) -> None:
        self.channel = channel
        self.joins: dict[LiveConnection, asyncio.Task[None]] = {}
        """By viewer: brings it to the position of the others."""
        self.task: asyncio.Task[None] | None = None


class LogChannels:
    """Starts a loop with the first viewer of a task and ends it with the last."""

    def __init__(
        self, lines: LineSource, watched: dict[str, Callable[[], None]], views: LiveViews
    ) -> None:
        """`watched` gets for each task a function to call when it may have new lines."""
        self._lines = lines
        self._watched = watched
        self._views = views
        self._followed: dict[str, _Followed] = {}

    def join(self, viewer: LiveConnection, topic: Topic, cursor: LinePosition | None) -> None:
        """Send a viewer the lines after a position, or the new ones only."""
        followed = self._followed.get(topic.key)
        if followed is None or followed.channel.is_over:
            channel = LogChannel(topic, self._lines, self._views)
            followed = self._followed[topic.key] = _Followed(channel)
            self._watched[topic.key] = channel.wake
            followed.task = asyncio.create_task(channel.run())
        viewer.logs[topic.name] = partial(self._leave, viewer, followed)
        followed.joins[viewer] = asyncio.create_task(followed.channel.follow(viewer, cursor))

    def _leave(self, viewer: LiveConnection, followed: _Followed) -> None:
        followed.channel.leave(viewer)
        join = followed.joins.pop(viewer, None)
        if join is not None:
            join.cancel()
        task_id = followed.channel.topic.key
        if not followed.joins and self._followed.get(task_id) is followed:
            del self._followed[task_id]
            self._watched.pop(task_id, None)
        if not followed.joins and followed.task is not None:
            followed.task.cancel()

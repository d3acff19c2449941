"""One topic as one audience sees it: its latest frames, and who gets the next ones."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.services.updates.live.frames import LiveFrame, Op, frame

if TYPE_CHECKING:
    from collections.abc import Hashable

    from determined_master.domain.updates.live import Topic
    from determined_master.services.updates.live.connection import LiveConnection

KEPT_FRAMES = 64
KEPT_BYTES = 256 * 1024
"""Of the latest frames of a topic, for clients that come back."""
LINGER_S = 60.0
"""Time that an unwatched topic is kept up to date for clients that come back."""

Audience = frozenset[int] | int | None
"""The viewers that share a topic's frames: None for all that may see it; the workspaces that
they see; the user that owns it."""


class Channel:
    """A topic's frames, encoded once, and its viewers."""

    def __init__(self, topic: Topic, audience: Audience, epoch: str) -> None:
        """`epoch` is of this start of the master: its cursors differ from earlier ones."""
        self.topic = topic
        self.audience = audience
        self.seq = 0
        self.viewers: set[LiveConnection] = set()
        self.unwatched_since_s = clock.monotonic_s()
        self.published_s = float("-inf")
        self.offered_bytes = 0
        """To all viewers together, since the hub last counted them."""
        self._epoch = epoch
        self._kept: deque[tuple[int, LiveFrame]] = deque()
        self._size = 0

    @property
    def key(self) -> Hashable:
        """Of the topic and the audience."""
        return self.topic.name, self.audience

    @property
    def cursor(self) -> str:
        """The position after the latest frame."""
        return f"{self._epoch}-{self.seq}"

    def publish(self, op: Op, data: bytes = b"") -> None:
        """Offer a frame to all viewers, which get it with the next delivery."""
        self.seq += 1
        self.published_s = clock.monotonic_s()
        made = frame(self.topic.name, self.seq, self.cursor, op, data)
        self._keep(made)
        self.offered_bytes += len(made) * len(self.viewers)
        for viewer in tuple(self.viewers):
            viewer.offer(self, made)

    def opening(self, cursor: str, current: bytes) -> list[LiveFrame]:
        """The first frames for a viewer: what it lacks since a cursor, or that it lacks all.

        Args:
            cursor: of the last frame that it has; empty if it has none.
            current: data of the frame that confirms a new subscription.
        """
        op: Op = "append" if self.topic.kind == "metrics" else "upsert"
        if not cursor:
            return [frame(self.topic.name, self.seq, self.cursor, op, current)]
        epoch, _, number = cursor.rpartition("-")
        seq = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else -1
        oldest = self._kept[0][0] if self._kept else self.seq + 1
        if epoch != self._epoch or not oldest - 1 <= seq <= self.seq:
            return [self.reset()]
        missed = [made for n, made in self._kept if n > seq]
        return missed or [frame(self.topic.name, self.seq, self.cursor, op, current)]

    def reset(self) -> LiveFrame:
        """The frame after which a client must read all of the topic again."""
        return frame(self.topic.name, self.seq, self.cursor, "reset")

    def _keep(self, made: LiveFrame) -> None:
        self._kept.append((self.seq, made))
        self._size += len(made)
        while self._size > KEPT_BYTES or len(self._kept) > KEPT_FRAMES:
            self._size -= len(self._kept.popleft()[1])

"""Sequence numbers of the link's two message streams. PURE."""

from __future__ import annotations

from collections import deque

from determined_wire.agent_link import ContainerChanged, ContainerReport


class SendQueue:
    """Messages of this boot that the master has not acknowledged yet."""

    def __init__(self) -> None:
        self._waiting: deque[ContainerChanged] = deque()
        self._last = 0

    def add(self, report: ContainerReport) -> None:
        """Queue a message under the next number."""
        self._last += 1
        self._waiting.append(ContainerChanged(self._last, report))

    def acknowledge(self, number: int) -> None:
        """Remove all messages up to this number."""
        while self._waiting and self._waiting[0].number <= number:
            self._waiting.popleft()

    def after(self, number: int) -> list[ContainerChanged]:
        """Return the messages with higher numbers, in order."""
        return [message for message in self._waiting if message.number > number]


class ReceiveSequence:
    """Which of the master's messages have been processed."""

    def __init__(self) -> None:
        self.cluster_id = ""
        self.epoch = 0
        self.last = 0

    def open(self, cluster_id: str, epoch: int) -> None:
        """Start receiving from a master; a new epoch restarts its numbers at 1."""
        if (cluster_id, epoch) != (self.cluster_id, self.epoch):
            self.cluster_id, self.epoch, self.last = cluster_id, epoch, 0

    def is_new(self, number: int) -> bool:
        """Whether the message with this number has not been processed yet."""
        return number > self.last

    def done(self, number: int) -> None:
        """Record that a message has been processed."""
        self.last = number

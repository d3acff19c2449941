"""Bookkeeping of the link's two numbered streams. PURE."""

from __future__ import annotations

from collections import deque

from determined_wire.agent_link import ContainerChanged, ContainerReport


class Outbox:
    """Messages of this boot that the master has not committed yet."""

    def __init__(self) -> None:
        self._waiting: deque[ContainerChanged] = deque()
        self._last = 0

    def add(self, report: ContainerReport) -> None:
        """Take a message and give it its number."""
        self._last += 1
        self._waiting.append(ContainerChanged(self._last, report))

    def acknowledge(self, number: int) -> None:
        """The master has committed all messages up to this number."""
        while self._waiting and self._waiting[0].number <= number:
            self._waiting.popleft()

    def after(self, number: int) -> list[ContainerChanged]:
        """Messages of higher numbers, in order."""
        return [message for message in self._waiting if message.number > number]


class Inbox:
    """Which of the master's messages have been carried out."""

    def __init__(self) -> None:
        self.cluster_id = ""
        self.epoch = 0
        self.last = 0

    def open(self, cluster_id: str, epoch: int) -> None:
        """A master is in: a new epoch numbers its messages anew."""
        if (cluster_id, epoch) != (self.cluster_id, self.epoch):
            self.cluster_id, self.epoch, self.last = cluster_id, epoch, 0

    def is_new(self, number: int) -> bool:
        """Whether a message of this number has not been carried out yet."""
        return number > self.last

    def done(self, number: int) -> None:
        """A message has been carried out."""
        self.last = number

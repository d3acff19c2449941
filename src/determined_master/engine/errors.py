"""Errors that a caller of the engine may have to handle."""

from __future__ import annotations

from determined_master.domain.errors import DetError, Unavailable


class EngineUnavailable(Unavailable):
    """The event was not settled in time; posting it again with the same cause is safe."""


class NotLeader(Unavailable):
    """The call needs the leader, and this process is not it."""


class InternalError(DetError):
    """A defect of ours; the log has the details."""

    code = "internal"


class Deferred(Exception):
    """Raised by a handler whose effect has to wait; the effect is tried again later.

    It does not count as a failure. `Engine.retry_deferred` with the topic retries it at once.

    Args:
        topic: what the effect waits for, such as the id of an agent; empty if that has no name.
    """

    def __init__(self, reason: str, *, retry_s: float = 1.0, topic: str = "") -> None:
        super().__init__(reason)
        self.retry_s = retry_s
        self.topic = topic


class TermEnded(Exception):
    """Inside the engine: leadership was lost before the outcome was known."""


class StaleEpoch(Exception):
    """Inside the engine: another process leads now, and the transaction must not commit."""

"""Errors that a caller of the engine may have to handle."""

from __future__ import annotations

from determined_master.domain.errors import DetError, Unavailable


class EngineUnavailable(Unavailable):
    """The event could not be settled in time; posting it again under its cause is safe."""


class NotLeader(Unavailable):
    """The call needs the leader, and this process is not it."""


class InternalError(DetError):
    """A defect of ours; the log has the whole story."""

    code = "internal"


class Deferred(Exception):
    """Raised by a handler: the world is not ready for this effect, ask again later.

    It does not count as a failure; `Engine.retry_deferred` with the topic asks again at once.

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
    """Inside the engine: another process leads now, the transaction must not commit."""

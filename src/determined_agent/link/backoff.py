"""How long the agent waits before it connects to the master again. PURE."""

from __future__ import annotations

from determined_wire.backoff import Backoff

BACKOFF = Backoff(0.2, 10.0, jitter=0.5)
"""Well below the pool's `agent_reconnect_wait` (25 s), which starts when the master accepts agents
again: the tasks of an agent that reconnects later are lost."""
EAGER_DOUBLINGS = 3
EAGER_ATTEMPTS = 70
"""A restarted master is back within seconds, so pauses stay below one second for a minute."""
STABLE_AFTER_S = 10.0
"""A connection that lasted this long does not count as short-lived."""
SHORT_LIVED_DOUBLINGS = 5
"""After many short-lived connections: a few seconds, for the reason given above."""


class ReconnectBackoff:
    """The pause after each failed or ended connection.

    Args:
        limit: number of failures to tolerate; None for no limit.
        fixed_pause_s: pause after each failure if there is a limit.
    """

    def __init__(self, limit: int | None, fixed_pause_s: float) -> None:
        self._limit = limit
        self._fixed_pause_s = fixed_pause_s
        self._failures = 0
        self._short_lived = 0

    def joined(self) -> None:
        """Record that the master has accepted the agent."""
        self._failures = 0

    def disconnected(self, lasted_s: float) -> None:
        """Record that a connection has ended after the master had accepted the agent."""
        self._short_lived = 0 if lasted_s > STABLE_AFTER_S else self._short_lived + 1

    def next_pause_s(self, jitter: float) -> float | None:
        """Count one more failure and return the pause before the next attempt.

        Args:
            jitter: a random number in [0, 1).

        Returns:
            Seconds; None if the limit is exceeded.
        """
        self._failures += 1
        if self._limit is None:
            return pause_after_s(self._failures, self._short_lived, jitter)
        return None if self._failures > self._limit else self._fixed_pause_s


def pause_after_s(failures: int, short_lived: int, jitter: float = 1.0) -> float:
    """Return the pause before the next attempt, in seconds; without `jitter` the longest.

    Args:
        failures: consecutive failed attempts. The pause doubles at most three times during the
            first minute, then again with each attempt.
        short_lived: consecutive connections that ended soon after the master had accepted the
            agent.
    """
    failed = min(failures, EAGER_DOUBLINGS) + max(failures - EAGER_ATTEMPTS, 0)
    return BACKOFF.after(max(failed, min(short_lived, SHORT_LIVED_DOUBLINGS)), jitter)

"""Failures to start machines: when they count, and for how long."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from determined_wire.backoff import Backoff

BACKOFF = Backoff(timedelta(seconds=5), timedelta(minutes=1))
LOG_EVERY = timedelta(minutes=10)


class LaunchRetryPolicy(msgspec.Struct, frozen=True):
    """The settings for failed launches."""

    timeout: timedelta = timedelta(0)
    """How long a failure counts; with 0 none ever does."""
    retries: int = 0
    """How many failures in a row do not count yet."""


class LaunchErrors(msgspec.Struct, frozen=True):
    """The last failure of a pool, and the number of failures before it within its time."""

    text: str
    at: datetime
    repeats: int = 0


class LaunchBackoff(msgspec.Struct, frozen=True, kw_only=True):
    """The failures of a pool since a launch succeeded, and when to try again."""

    errors: LaunchErrors | None = None
    failures: int = 0
    """Launches in a row that started no machine."""
    retry_at: datetime | None = None
    """No launch is tried before."""
    logged_at: datetime | None = None

    def may_launch(self, patience: LaunchRetryPolicy, now: datetime) -> bool:
        """Whether neither a pause nor a failure that counts prevents a launch."""
        if self.retry_at is not None and now < self.retry_at:
            return False
        return standing_failure(self.errors, patience, now) is None


def back_off(
    backoff: LaunchBackoff, text: str, patience: LaunchRetryPolicy, now: datetime
) -> tuple[LaunchBackoff, bool]:
    """Account for a failed launch.

    Returns:
        The back-off, and whether to log the failure. Each provider's text may hold another
        number, so time decides about the log, not the text.
    """
    is_due = backoff.logged_at is None or now - backoff.logged_at >= LOG_EVERY
    failures = backoff.failures + 1
    after = replace(
        backoff,
        errors=note_failure(backoff.errors, text, patience, now),
        failures=failures,
        retry_at=now + pause_after(failures, patience),
        logged_at=now if is_due else backoff.logged_at,
    )
    return after, is_due


def note_failure(
    before: LaunchErrors | None, text: str, patience: LaunchRetryPolicy, now: datetime
) -> LaunchErrors:
    """Record a failure; one that follows another soon is a repeat."""
    follows = before is not None and patience.timeout > timedelta(0)
    if before is None or not follows or now - before.at > patience.timeout:
        return LaunchErrors(text, now)
    return LaunchErrors(text, now, before.repeats + 1)


def pause_after(failures: int, patience: LaunchRetryPolicy) -> timedelta:
    """The delay before the next launch after `failures` in a row, at least 1.

    It grows up to a minute, since clouds count refused requests too. It stays shorter than the
    timeout of a failure, so that the next failure is a repeat.
    """
    pause = BACKOFF.after(failures)
    return min(pause, patience.timeout / 2) if patience.timeout > timedelta(0) else pause


def standing_failure(
    errors: LaunchErrors | None, patience: LaunchRetryPolicy, now: datetime
) -> str | None:
    """The text of the failure that counts now; while there is one, no machine is started."""
    if errors is None or patience.timeout <= timedelta(0):
        return None
    if errors.repeats < patience.retries or now - errors.at > patience.timeout:
        return None
    return errors.text

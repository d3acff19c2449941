"""Failures to start machines: when they count, and for how long."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=1)


class LaunchPatience(msgspec.Struct, frozen=True):
    """How failures are taken."""

    timeout: timedelta = timedelta(0)
    """How long one counts; 0: none ever does."""
    retries: int = 0
    """So many in a row do not count yet."""


class LaunchErrors(msgspec.Struct, frozen=True):
    """The last failure of a pool, and how many came before it within its time."""

    text: str
    at: datetime
    repeats: int = 0


def note_failure(
    before: LaunchErrors | None, text: str, patience: LaunchPatience, now: datetime
) -> LaunchErrors:
    """Take a failure down; one that follows another soon is a repeat."""
    follows = before is not None and patience.timeout > timedelta(0)
    if before is None or not follows or now - before.at > patience.timeout:
        return LaunchErrors(text, now)
    return LaunchErrors(text, now, before.repeats + 1)


def pause_after(failures: int, patience: LaunchPatience) -> timedelta:
    """How long the next try waits after so many failures in a row, at least 1.

    Longer each time, up to a minute: clouds count refused requests too. Never so long that the
    next failure would not be within the time of this one.
    """
    pause: timedelta = min(FIRST_PAUSE * 2 ** min(failures - 1, 10), LONGEST_PAUSE)
    return min(pause, patience.timeout / 2) if patience.timeout > timedelta(0) else pause


def standing_failure(
    errors: LaunchErrors | None, patience: LaunchPatience, now: datetime
) -> str | None:
    """The text of the failure that counts now; while there is one, no machine is started."""
    if errors is None or patience.timeout <= timedelta(0):
        return None
    if errors.repeats < patience.retries or now - errors.at > patience.timeout:
        return None
    return errors.text

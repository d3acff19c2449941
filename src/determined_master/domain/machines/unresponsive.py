"""Machines from which no agent comes: the next is tried later each time, and alone.

A wrong image or a network without a way to the master costs every machine for as long as one may
take to come. Machines that were launched together fail together, and count once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

FIRST_REST = timedelta(minutes=5)
LONGEST_REST = timedelta(hours=1)


class Unresponsive(msgspec.Struct, frozen=True):
    """Launches in a row from which no agent came."""

    rounds: int = 0
    at: datetime | None = None
    """When a machine of the last one was given up first."""

    @property
    def until(self) -> datetime | None:
        """Before that no machine is started; None where nothing was given up."""
        if self.at is None:
            return None
        rest: timedelta = min(FIRST_REST * 2 ** min(self.rounds - 1, 10), LONGEST_REST)
        return self.at + rest


def note_mute(before: Unresponsive, launched: Iterable[datetime], now: datetime) -> Unresponsive:
    """Take down that machines are given up.

    Args:
        before: since an agent came last.
        launched: when each of them was. Those that were on their way when others were given up
            give no new information.
        now: of this look.
    """
    if any(before.at is None or at > before.at for at in launched):
        return Unresponsive(before.rounds + 1, now)
    return before


def launch_after(mute: Unresponsive, wanted: int, now: datetime, *, is_one_tried: bool) -> int:
    """How many of the machines that are wanted are started now.

    Args:
        mute: since an agent came last.
        wanted: machines that scaling would start.
        now: of this look.
        is_one_tried: whether one that was launched after the last rest is still awaited.

    Returns:
        All of them while agents come; else one after each rest, and none until its fate is known.
    """
    if mute.until is None:
        return wanted
    return min(wanted, 0 if is_one_tried or now < mute.until else 1)

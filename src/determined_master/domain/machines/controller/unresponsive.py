"""Back-off for machines whose agents never join: later launches wait longer and start one machine.

With a wrong image or a network without a route to the master, every machine costs money until it
is given up. Machines that were launched together fail together and count once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from determined_wire.backoff import Backoff

BACKOFF = Backoff(timedelta(minutes=5), timedelta(hours=1))


class Unresponsive(msgspec.Struct, frozen=True):
    """Launches in a row whose agents never joined."""

    rounds: int = 0
    at: datetime | None = None
    """When the first machine of the last launch was given up."""

    @property
    def until(self) -> datetime | None:
        """No machine is started before; None when none was given up."""
        return None if self.at is None else self.at + BACKOFF.after(self.rounds)


def record_silence(
    before: Unresponsive, launched: Iterable[datetime], now: datetime
) -> Unresponsive:
    """Record that machines are given up.

    Args:
        before: since an agent joined last.
        launched: launch time of each machine. Machines that were already starting when others
            were given up give no new information.
        now: of this tick.
    """
    if any(before.at is None or at > before.at for at in launched):
        return Unresponsive(before.rounds + 1, now)
    return before


def launch_after(
    unresponsive: Unresponsive, wanted: int, now: datetime, *, is_one_tried: bool
) -> int:
    """How many of the wanted machines to start now.

    Args:
        unresponsive: since an agent joined last.
        wanted: machines that scaling would start.
        now: of this tick.
        is_one_tried: whether a machine that was launched after the last pause is still awaited.

    Returns:
        All of them while agents join; otherwise one after each pause, and none while one is tried.
    """
    if unresponsive.until is None:
        return wanted
    return min(wanted, 0 if is_one_tried or now < unresponsive.until else 1)

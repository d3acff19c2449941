"""Which machines ever had an agent: those that have none cost as long as one may take to come."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from determined_master.domain.scaling import Ending, Seen

log = logging.getLogger(__name__)


class Joins:
    """Of one pool, in one lead."""

    def __init__(self, pool: str, joined: Iterable[str] = ()) -> None:
        """`joined`: ids of machines whose agents an earlier lead has seen."""
        self.silent = 0
        """How many machines in a row are ended because their agents never came."""
        self._pool = pool
        self._joined = frozenset(joined)

    def note(self, seen: Sequence[Seen], endings: Sequence[Ending]) -> None:
        """Take note of a look and of what goes after it."""
        here = frozenset(s.machine.id for s in seen)
        now = frozenset(s.machine.id for s in seen if s.agent != "away")
        if now - self._joined:
            self.silent = 0
        self._joined = (self._joined | now) & here
        gone = [e.machine.id for e in endings if e.reason == "long disconnected"]
        if mute := sorted(set(gone) - self._joined):
            self.silent += len(mute)
            log.error(
                "machines are ended whose agents never came: the cloud's console log of the next "
                "one tells why, in lines that begin with determined:",
                extra={"pool": self._pool, "machines": mute},
            )

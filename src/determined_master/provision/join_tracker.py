"""Which machines ever had an agent: those that have none cost as long as one may take to come."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from determined_master.domain.machines.scaling import Ending
from determined_master.domain.machines.unresponsive import Unresponsive, launch_after, note_mute

if TYPE_CHECKING:
    from datetime import datetime

    from determined_master.domain.machines.scaling import Limits, Machine, Scaling, Seen

log = logging.getLogger(__name__)


class JoinTracker:
    """Of one pool, in one lead."""

    def __init__(self, pool: str, limits: Limits, joined: Iterable[str] = ()) -> None:
        """`joined`: ids of machines whose agents an earlier lead has seen."""
        self.silent = 0
        """How many machines in a row were given up because their agents never came."""
        self.mute = Unresponsive()
        self._pool = pool
        self._limits = limits
        self._joined = frozenset(joined)
        self._awaited: frozenset[str] = frozenset()
        """Machines that run, and that may still come."""
        self._given_up: frozenset[str] = frozenset()
        self._proven_at: datetime | None = None
        """When the youngest was launched whose agent came."""
        self._is_one_tried = False

    def count_again(self, now: datetime) -> None:
        """The clock was set: a rest begins now."""
        if self.mute.at is not None:
            self.mute = replace(self.mute, at=now)

    def note(self, seen: Sequence[Seen], decided: Scaling, now: datetime) -> None:
        """Take note of a look and of what was decided after it."""
        here = frozenset(s.machine.id for s in seen)
        present = frozenset(s.machine.id for s in seen if s.agent != "away")
        if present - self._joined:
            self.silent, self.mute = 0, Unresponsive()
        self._joined = (self._joined | present) & here
        came = [s.machine.launched_at for s in seen if s.machine.id in self._joined]
        self._proven_at = max(
            [*came, *([self._proven_at] if self._proven_at else [])], default=None
        )
        running = {s.machine.id for s in seen if s.machine.state in ("starting", "running")}
        self._awaited = ((self._awaited | running) & here) - self._joined - self._given_up
        self._give_up([s.machine for s in seen if self._is_lost(s.machine, decided, now)], now)
        self._awaited -= {e.machine.id for e in decided.endings} | self._given_up
        self._given_up &= here
        self._is_one_tried = any(self._is_tried(s.machine) for s in seen)

    def launch(self, wanted: int, now: datetime) -> int:
        """How many of the machines that are wanted are started now."""
        return launch_after(self.mute, wanted, now, is_one_tried=self._is_one_tried)

    def started(self, machines: Iterable[Machine]) -> None:
        """These were launched after the last look."""
        self._awaited |= {m.id for m in machines}

    def _is_lost(self, machine: Machine, decided: Scaling, now: datetime) -> bool:
        """Whether no agent comes any more: it has stopped, or scaling awaits it no longer."""
        if machine.id not in self._awaited:
            return False
        if machine.state == "stopped" or Ending(machine, "long disconnected") in decided.endings:
            return True
        away_since = decided.clocks.away_since.get(machine.id, now)
        return now - away_since > self._limits.return_wait

    def _is_tried(self, machine: Machine) -> bool:
        """Whether it was launched after the last rest, and may still come."""
        may_come = machine.state == "pending" or machine.id in self._awaited
        return may_come and self.mute.at is not None and machine.launched_at > self.mute.at

    def _give_up(self, lost: Sequence[Machine], now: datetime) -> None:
        if not lost:
            return
        self._given_up |= {m.id for m in lost}
        log.error(
            "no agent came from machines: the cloud's console log of one shows why, in lines that "
            "begin with determined:",
            extra={"pool": self._pool, "machines": sorted(m.id for m in lost)},
        )
        proven_at = self._proven_at  # where one that is as young has come, the fault is its own
        new = [m.launched_at for m in lost if proven_at is None or m.launched_at > proven_at]
        self.silent += len(new)
        self.mute = note_mute(self.mute, new, now)

"""A small aggregate with everything that the engine must get right.

A tally counts. `Added` adds to its total, and may order effects and timers. An effect `Echo` is
carried out by posting `Echoed` back.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.messages import (
    CancelTimer,
    Effect,
    Event,
    Record,
    SetTimer,
    State,
    timer,
)
from determined_master.engine import Change, Kind
from determined_master.store.db import Conn


class Tally(State, frozen=True):
    total: int = 0
    echoes: int = 0
    failures: tuple[str, ...] = ()
    ticks: int = 0
    padding: str = ""


class Added(Event, frozen=True, tag="added"):
    amount: int
    echoes: tuple[str, ...] = ()
    """One effect for each."""
    tick_s: float | None = None
    """Sets the timer."""
    cancel_tick: bool = False
    padding: str = ""


class Echoed(Event, frozen=True, tag="echoed"):
    text: str


class Ticked(Event, frozen=True, tag="ticked"):
    pass


class Exploded(Event, frozen=True, tag="exploded"):
    """Hits a defect in `step`."""


class EffectFailed(Event, frozen=True, tag="effect_failed"):
    effect: str
    error: str
    text: str = ""


class Echo(Effect, frozen=True, tag="echo"):
    """`x@a` is about a; without a sign it is about the whole."""

    text: str

    @property
    def about(self) -> str | None:
        return self.text.partition("@")[2] or None


class Line(Record, frozen=True, tag="line"):
    amount: int


TallyEvent = Added | Echoed | Ticked | Exploded | EffectFailed


def step(
    tally: Tally | None, event: TallyEvent, context: object
) -> tuple[Tally, Sequence[Effect | Record]]:
    now = tally or Tally()
    match event:
        case Added(amount=amount) if amount < 0:
            raise FailedPrecondition(f"a tally cannot take {amount}")
        case Added():
            produced: list[Effect | Record] = [Echo(text) for text in event.echoes]
            if event.tick_s is not None:
                produced.append(timer("tick", event.tick_s, Ticked()))
            if event.cancel_tick:
                produced.append(CancelTimer("tick"))
            produced.append(Line(event.amount))
            padding = event.padding or now.padding
            total = now.total + event.amount
            return msgspec.structs.replace(now, total=total, padding=padding), produced
        case Echoed():
            return msgspec.structs.replace(now, echoes=now.echoes + 1), []
        case Ticked():
            return msgspec.structs.replace(now, ticks=now.ticks + 1), []
        case Exploded():
            raise ZeroDivisionError("a defect")
        case EffectFailed():
            return msgspec.structs.replace(now, failures=(*now.failures, event.text)), []


async def project(conn: Conn, changes: Sequence[Change[Tally, TallyEvent]]) -> None:
    await conn.executemany(
        "INSERT INTO tallies (id, total) VALUES ($1, $2)"
        " ON CONFLICT (id) DO UPDATE SET total = excluded.total",
        [(change.id, change.after.total) for change in changes],
    )
    lines = [(c.id, r.amount) for c in changes for r in c.records if isinstance(r, Line)]
    await conn.executemany("INSERT INTO lines (id, amount) VALUES ($1, $2)", lines)


def given_up(effect: Echo, error: str) -> TallyEvent:
    return EffectFailed(effect="echo", error=error, text=effect.text)


TABLES = """
    CREATE TABLE tallies (id text PRIMARY KEY, total bigint NOT NULL);
    CREATE TABLE lines (id text NOT NULL, amount bigint NOT NULL);
"""
TALLY: Kind[str, Tally, TallyEvent, Echo | SetTimer | CancelTimer] = Kind(
    name="tally",
    state=Tally,
    event=TallyEvent,
    effect=Echo | SetTimer | CancelTimer,
    step=step,
    given_up=given_up,
    project=project,
)

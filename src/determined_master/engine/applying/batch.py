"""Collects the rows of one transaction as arrays, one array for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from determined_master.domain.messages import CancelTimer, Effect, Record, SetTimer
from determined_master.engine.applying.queue import Post
from determined_master.engine.ids import EffectId, Key
from determined_master.engine.kind import (
    STATE_LIMIT_BYTES,
    AnyKind,
    Change,
    Outcome,
    encode,
    tag_of,
)
from determined_master.engine.turns import NOBODY, Owner

_MAX_EFFECT_CHARS = 400
"""The journal has longer effects by name only."""


@dataclass(slots=True)
class Subject:
    """An aggregate inside the transaction, after the events applied so far."""

    kind: AnyKind
    id: str
    version: int
    born: date
    before: Any
    state: Any
    first_version: int
    stored_parts: Sequence[Any] = ()
    """The parts that are stored beside the state in the database."""
    context: Any = None
    has_context: bool = False
    events: list[Any] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return self.kind.name, self.id

    def change(self, at: datetime) -> Change[Any, Any]:
        """The transaction's change to the aggregate, for its projection."""
        return Change(
            self.id, self.version, self.before, self.state, self.events, self.records, at
        )


@dataclass(slots=True)
class OpenEffect:
    """An effect that is not closed; `effect` is None when its stored form cannot be read."""

    id: EffectId
    effect: Any
    ordered_at: datetime
    attempts: int = 0
    due_at: datetime | None = None
    owner: Owner = NOBODY


@dataclass(slots=True)
class TimerChange:
    version: int
    due_at: datetime
    event: str


@dataclass(slots=True)
class Applied:
    """The result of a committed transaction."""

    outcomes: list[tuple[Post, Outcome[Any] | Exception]]
    subjects: list[Subject]
    """Those that changed, in the order of their keys."""
    duplicates: list[tuple[Subject, int]]
    """Aggregates with an event that was applied before, and the version that it produced."""
    effects: list[OpenEffect]
    closed: set[EffectId]
    next_timer_at: datetime | None


class Writes:
    """Rows of one transaction, in the order of their creation."""

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.journal: list[tuple[Any, ...]] = []
        self.outbox: list[tuple[Any, ...]] = []
        self.effects: list[OpenEffect] = []
        self.closed: set[EffectId] = set()
        self.timers: dict[tuple[str, str, str], TimerChange | None] = {}
        self.inbox: list[tuple[int, str]] = []
        self.parts: list[tuple[str, str, int, str]] = []
        """The changed parts, after a call of `parameters`."""
        self.must_lead = False
        """Whether something was written outside of these arrays."""

    def add(self, subject: Subject, post: Post, produced: Sequence[Any]) -> list[Record]:
        """Add the result of `step`; return its records."""
        kind, id, version = post.kind.name, post.id, subject.version
        records: list[Record] = []
        ordered: list[str] = []
        for thing in produced:
            if isinstance(thing, Record):
                records.append(thing)
                continue
            text = encode(thing)
            if isinstance(thing, SetTimer):
                due_at = self.at + timedelta(seconds=thing.after_s)
                event = bytes(thing.event).decode()
                self.timers[kind, id, thing.name] = TimerChange(version, due_at, event)
            elif isinstance(thing, CancelTimer):
                self.timers[kind, id, thing.name] = None
            else:
                self._add_effect(EffectId(kind, id, version, len(ordered)), thing, text, subject)
            ordered.append(text if len(text) <= _MAX_EFFECT_CHARS else _by_name(thing))
        effects = f"[{','.join(ordered)}]" if ordered else None
        event = encode(post.event)
        self.journal.append((subject.born, kind, id, version, post.cause, event, effects))
        return records

    def close(self, effect: EffectId | None) -> None:
        """Delete an effect; a closed effect stays closed."""
        if effect is not None:
            self.closed.add(effect)

    def is_empty(self) -> bool:
        """Whether there is nothing that only a leader may commit."""
        return not self.journal and not self.closed and not self.must_lead

    def parameters(self, subjects: Sequence[Subject], epoch: int) -> list[Any]:
        """The arguments of `statements.WRITE`."""
        created = [s for s in subjects if s.first_version == 0]
        saved = [s for s in subjects if s.first_version > 0]
        texts = {s.key: self._split(s) for s in subjects}
        return [
            [s.kind.name for s in created],
            [s.id for s in created],
            [s.version for s in created],
            [s.born for s in created],
            [texts[s.key] for s in created],
            [s.kind.name for s in saved],
            [s.id for s in saved],
            [s.version for s in saved],
            [texts[s.key] for s in saved],
            *columns(self.journal, 7),
            self.at,
            *columns(self.outbox, 5),
            epoch,
            *columns([(e.kind, e.aggregate, e.version, e.n) for e in self.closed], 4),
        ]

    def _split(self, subject: Subject) -> str:
        """The state's text; also collects its parts that are not stored in this form yet."""
        state, parts = subject.kind.codec.split(subject.state)
        stored_parts = subject.stored_parts
        self.parts += [
            (*subject.key, n, encode(part))
            for n, part in enumerate(parts)
            if n >= len(stored_parts) or (stored_parts[n] is not part and stored_parts[n] != part)
        ]
        return _encode_state(subject, state)

    def _add_effect(self, id: EffectId, effect: Effect, text: str, subject: Subject) -> None:
        owner = subject.kind.owner_of(subject.id, subject.state)
        self.effects.append(OpenEffect(id, effect, self.at, owner=owner))
        self.outbox.append((id.kind, id.aggregate, id.version, id.n, text))


def columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Transpose rows into one list for each column."""
    return (
        [list(column) for column in zip(*rows, strict=True)]
        if rows
        else [[] for _ in range(width)]
    )


def _by_name(effect: Effect) -> str:
    return f'{{"effect":"{tag_of(effect)}"}}'


def _encode_state(subject: Subject, state: Any) -> str:
    text = encode(state)
    assert len(text) <= STATE_LIMIT_BYTES, (
        f"the state of {subject.kind.name} {subject.id} takes {len(text)} bytes, over "
        f"{STATE_LIMIT_BYTES}: store growing data in rows"
    )
    return text

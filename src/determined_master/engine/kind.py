"""The definition of one kind of aggregate, and the results of the engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from determined_master.domain.errors import DetError
from determined_master.domain.messages import Event, Record, State
from determined_master.engine.causes import Cause
from determined_master.engine.ids import EffectId
from determined_master.engine.turns import Owner
from determined_master.store.db import Conn

Id = TypeVar("Id")
S = TypeVar("S", bound=State)
E = TypeVar("E", bound=Event)
F = TypeVar("F")

STATE_LIMIT_BYTES = 10 << 10
"""Data that grows with the number of trials is rows, never a part of a state."""


class RowWriter(Protocol):
    """Writes the rows of several events with one set of statements."""

    async def write(self, conn: Conn, items: Sequence[Any]) -> Sequence[DetError | None]:
        """Write the rows of each event, in the transaction of the events.

        Returns:
            For each item None, or the error that prevented its rows; its event is then not
            applied.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to be written with an event, together with those of other events in its batch.

    Events that are applied in one transaction and have the same writer share its statements: a
    hundred metric reports need a few round trips, not a few hundred.
    """

    writer: RowWriter
    item: Any
    trials: Sequence[int] = ()
    """The trials whose rows the writer locks."""
    experiments: Sequence[int] = ()
    """The experiments whose rows the writer changes."""


@dataclass(frozen=True, slots=True)
class Inserting:
    """The `RowWriter` around a store function that inserts several rows."""

    insert: Callable[[Conn, Sequence[Any]], Awaitable[None]]

    async def write(self, conn: Conn, items: Sequence[Any]) -> Sequence[DetError | None]:
        await self.insert(conn, items)
        return [None] * len(items)


Within = Callable[[Conn], Awaitable[None]] | Rows
"""Rows written in the transaction of an event, before its `step`."""


class ContextLoader(Protocol):
    """Keeps an ordered copy of the rows that `step` needs, in the leader's memory.

    It is a cache. It is built on first use, kept for the version of its aggregate, and dropped on
    any mismatch and whenever a commit fails.
    """

    async def load(self, conn: Conn, id: str, state: Any | None) -> Any:
        """Build it from the rows, inside the transaction that has the aggregate locked."""
        ...

    def advance(self, context: Any, records: Sequence[Record]) -> Any:
        """The context with the records of one step added; may change it in place."""
        ...


@dataclass(frozen=True)
class Change(Generic[S, E]):
    """The change of one transaction to one aggregate: one or more events in their order."""

    id: str
    version: int
    before: S | None
    after: S
    events: Sequence[E]
    records: Sequence[Record]
    at: datetime


@dataclass(frozen=True)
class Parts(Generic[S]):
    """The growing part of a state, kept in rows beside the state, one row per part.

    In memory a state has all of its parts; `split` and `join` define their stored form. A part is
    identified by its position; the number of parts never shrinks.
    """

    type: Any
    """Of one part."""
    split: Callable[[S], tuple[S, Sequence[Any]]]
    """The stored state and the parts beside it; no part if the state is small enough."""
    count: Callable[[S], int]
    """How many parts are stored beside a state."""
    join: Callable[[S, Sequence[Any]], S]
    """The inverse of `split`."""


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[Id, S, E, F]):
    """One kind of aggregate: the types of its id, state, events and effects, and its rules.

    `step` may return records among the effects: rows to add, which `project` writes. `project`
    writes all changes of a transaction to the resource's own tables, in the order of ids.
    """

    name: str
    """Stored with each state, event and effect."""
    state: type[S]
    event: Any
    """The union of the events, for their decoder."""
    effect: Any
    """The union of the effects that are stored, for their decoder."""
    step: Callable[[S | None, E, Any], tuple[S, Sequence[F | Record]]]
    given_up: Callable[[F, str], E] | None
    """The event for an effect whose last attempt failed with this error; None for no event."""
    project: Callable[[Conn, Sequence[Change[S, E]]], Awaitable[None]] | None = None
    context: ContextLoader | None = None
    rows: Literal["trials", "experiments"] | None = None
    """The table that `project` writes, if the aggregates' ids are those of its rows."""
    parts: Parts[S] | None = None
    owner: Callable[[S], Owner] | None = None
    """Whose work an aggregate's effects are; None: each aggregate's are a work of their own."""
    codec: Codec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "/" in self.name:
            raise ValueError(f"a kind's name has no slash, got {self.name!r}")
        object.__setattr__(self, "codec", Codec(self.state, self.event, self.effect, self.parts))

    def owner_of(self, id: str, state: S | None) -> Owner:
        """Whose work an aggregate's effects are."""
        if self.owner is not None and state is not None:
            return self.owner(state)
        return Owner.of(0, f"{self.name} {id}")


AnyKind = Kind[Any, Any, Any, Any]


class Codec:
    """JSON of a kind's stored states, events and effects."""

    def __init__(
        self, state: Any, event: Any, effect: Any, parts: Parts[Any] | None = None
    ) -> None:
        self._parts = parts
        self._part: msgspec.json.Decoder[Any] | None = None
        if parts is not None:
            self._part = msgspec.json.Decoder(parts.type)
        self._state: msgspec.json.Decoder[Any] = msgspec.json.Decoder(state)
        self._event: msgspec.json.Decoder[Any] = msgspec.json.Decoder(event)
        self._effect: msgspec.json.Decoder[Any] = msgspec.json.Decoder(effect)

    def state(self, text: str, parts: Sequence[str] | None = None) -> Any:
        """A stored state with its parts, in their order."""
        stored = self._state.decode(text)
        if not self.count_parts(stored):
            return stored
        return self.join(stored, [self.part(part) for part in parts or ()])

    def stored(self, text: str) -> Any:
        """A stored state without its parts."""
        return self._state.decode(text)

    def count_parts(self, stored: Any) -> int:
        """How many parts are stored beside a state."""
        return self._parts.count(stored) if self._parts is not None else 0

    def part(self, text: str) -> Any:
        assert self._part is not None
        return self._part.decode(text)

    def join(self, stored: Any, parts: Sequence[Any]) -> Any:
        """A stored state with its parts; a missing part is a defect of ours."""
        assert self._parts is not None
        count = self._parts.count(stored)
        if len(parts) < count:
            raise LookupError(f"{len(parts)} parts are stored for a state that has {count}")
        return self._parts.join(stored, parts)

    def split(self, state: Any) -> tuple[Any, Sequence[Any]]:
        """A stored state and its parts."""
        return (state, ()) if self._parts is None else self._parts.split(state)

    def event(self, text: str) -> Any:
        return self._event.decode(text)

    def effect(self, text: str) -> Any:
        return self._effect.decode(text)


@dataclass(frozen=True)
class Outcome(Generic[S]):
    """The result of an event.

    `version` is the aggregate's after this event. `state` is the newest when the event was
    applied here, None when another process applied it.
    """

    version: int
    is_duplicate: bool = False
    state: S | None = None


@dataclass(frozen=True)
class Posting(Generic[Id, S, E]):
    """One event for `Engine.post_many`."""

    kind: Kind[Id, S, E, Any]
    id: Id
    event: E
    cause: Cause
    closes: EffectId | None = None
    within: Within | None = None


AnyPosting = Posting[Any, Any, Any]


_encoder = msgspec.json.Encoder()


def encode(value: Any) -> str:
    """JSON text of a state, an event or an effect."""
    return _encoder.encode(value).decode()


def tag_of(message: Any) -> str:
    """The stored name of an event or effect."""
    return str(message.__struct_config__.tag)

"""The one entry for events, in the leader and in every other process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Generic

from determined_master import clock
from determined_master.engine.applying.queue import Closing, Post
from determined_master.engine.applying.transaction import Term
from determined_master.engine.causes import Cause
from determined_master.engine.connection import Connect, engine_connect
from determined_master.engine.effects.handlers import Handlers
from determined_master.engine.errors import EngineUnavailable, NotLeader, TermEnded
from determined_master.engine.feed import Changed, Feed
from determined_master.engine.ids import EffectId, Key
from determined_master.engine.inbox import POSTED, InboxClient
from determined_master.engine.kind import (
    AnyKind,
    AnyPosting,
    E,
    Id,
    Kind,
    Outcome,
    Posting,
    S,
    Within,
)
from determined_master.engine.leadership.leader import Leadership
from determined_master.engine.leadership.term import EngineSettings, LeaderTerm
from determined_master.engine.turns import OWNER
from determined_master.store.aggregates import PARTS
from determined_master.store.batch_loader import BatchLoader
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.db import Address, Conn, Database

_AGAIN_S = 0.05
_LOOK_S = 0.25
_LIST = f"""
    SELECT a.kind, a.id, a.version, a.state, {PARTS}
      FROM unnest($1::text[], $2::text[]) AS w (kind, id)
      JOIN aggregates a ON a.kind = w.kind AND a.id = w.id
"""


@dataclass(frozen=True)
class Current(Generic[S]):
    version: int
    state: S


class Engine:
    """Applies events to aggregates, stores them, and carries out their effects.

    Register handlers, then `async with engine:` or `start` and `stop`. Any number of processes
    may run one on the same database; one of them leads.

    Args:
        address: for the connections that live as long as the leadership or a worker.
        db: for everything else.
        connect: how appliers connect; None connects to `address`.
    """

    def __init__(
        self,
        address: Address,
        db: Database,
        kinds: Iterable[AnyKind],
        *,
        settings: EngineSettings | None = None,
        now: Callable[[], datetime] = clock.now,
        connect: Connect | None = None,
    ) -> None:
        self.handlers = Handlers()
        self.feed = Feed()
        self._kinds = {kind.name: kind for kind in kinds}
        self._db = db
        self._settings = settings or EngineSettings()
        self._now = now
        self._connect = connect or engine_connect(address)
        self._look_up = BatchLoader(self._fetch)
        self._inbox = InboxClient(db)
        self._leadership = Leadership(address, self._lead, self._on_notify)
        self._term: LeaderTerm | None = None
        self._term_changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.on_term: list[Callable[[int | None], None]] = []
        """Called with the epoch when this process becomes leader, and with None at the end."""

    @property
    def is_leader(self) -> bool:
        """Whether this process applies events now."""
        return self._term is not None

    @property
    def epoch(self) -> int | None:
        """The epoch under which this process leads; None when it does not."""
        return None if self._term is None else self._term.term.epoch

    async def __aenter__(self) -> Engine:
        self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    def start(self) -> None:
        """Start to campaign for leadership."""
        self._task = asyncio.get_running_loop().create_task(self._leadership.run())

    async def stop(self) -> None:
        """Stop acting and give up leadership; posts that are not settled are refused."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def run(self) -> None:
        """`start` and `stop` as one task, for the composition root's group."""
        await self._leadership.run()

    async def wait_while_leading(self, epoch: int) -> None:
        """Return once this process does not lead under that epoch any more."""
        while self._term is not None and self._term.term.epoch == epoch:
            changed = self._term_changed
            await changed.wait()

    async def wait_until_leading(self, timeout_s: float | None = 30) -> int:
        """The epoch, once this process leads; TimeoutError after `timeout_s`."""
        async with asyncio.timeout(timeout_s):
            while self._term is None:
                changed = self._term_changed
                await changed.wait()
            return self._term.term.epoch

    async def post(
        self,
        kind: Kind[Id, S, E, Any],
        id: Id,
        event: E,
        *,
        cause: Cause,
        closes: EffectId | None = None,
        within: Within | None = None,
        deadline_s: float = 30,
    ) -> Outcome[S]:
        """Apply one event to one aggregate, once for its cause.

        Args:
            closes: an effect that is closed in the same transaction.
            within: SQL, or `Rows`, in the same transaction, run before `step`; leader only. It is
                skipped for a cause that was applied before. It may run again when the transaction
                is repeated, but it takes effect only once.

        Raises:
            DetError: the refusal of the domain; nothing has changed.
            EngineUnavailable: not settled within `deadline_s`; posting it again is safe.
            NotLeader: `within` was given and this process did not become leader in time.
        """
        posting = Posting(kind, id, event, cause, closes, within)
        return await self._post_until(posting, clock.monotonic_s() + deadline_s)

    async def post_many(
        self, postings: Sequence[AnyPosting], *, deadline_s: float = 30
    ) -> list[Outcome[Any] | Exception]:
        """Post several events at once; the result has an outcome or an error for each.

        Events of one aggregate are applied in the given order.
        """
        until_s = clock.monotonic_s() + deadline_s
        results = await asyncio.gather(
            *(self._post_until(posting, until_s) for posting in postings), return_exceptions=True
        )
        for result in results:
            if not isinstance(result, Outcome | Exception):
                raise result
        return [result for result in results if isinstance(result, Outcome | Exception)]

    async def close(
        self, effect: EffectId, *, within: Callable[[Conn], Awaitable[None]] | None = None
    ) -> None:
        """Close an effect without an event; `within` is SQL that commits with it, once.

        Raises:
            NotLeader: this process does not lead.
            EngineUnavailable: leadership ended before; the effect will be handed out again.
        """
        term = self._term
        if term is None:
            raise NotLeader(f"the effect {effect} cannot be closed: this process does not lead")
        closing = Closing(effect, asyncio.get_running_loop().create_future(), within)
        term.queue.put_closing(closing)
        error = await closing.future
        if isinstance(error, TermEnded):
            raise EngineUnavailable(f"the lead was lost before the effect {effect} was closed")
        if error is not None:
            raise error

    async def find(self, kind: Kind[Id, S, Any, Any], id: Id) -> Current[S] | None:
        """The stored aggregate; None when it does not exist."""
        row = await self._look_up.find((kind.name, str(id)))
        if row is None:
            return None
        return Current(row["version"], kind.codec.state(row["state"], row["parts"]))

    async def read(self, kind: Kind[Id, S, Any, Any], id: Id) -> S | None:
        """The stored state of an aggregate; None when it does not exist."""
        current = await self.find(kind, id)
        return None if current is None else current.state

    async def wait_for(
        self, kind: Kind[Id, S, Any, Any], id: Id, predicate: Callable[[S], bool], timeout_s: float
    ) -> S:
        """Wait until the aggregate's state matches, and return it; TimeoutError after `timeout_s`.

        The state is read again when the leader changes: an event whose answer was lost, or that
        another leader committed, appears in no feed.
        """
        changed = asyncio.Event()
        newest: list[Changed[S]] = []

        def notice(change: Changed[S]) -> None:
            newest[:] = [change]
            changed.set()

        def look_again(_: int | None) -> None:
            newest.clear()
            changed.set()

        stop = self.feed.listen(kind, notice, id=id)
        self.on_term.append(look_again)
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    changed.clear()
                    is_told = self.is_leader
                    try:
                        state = await self._look(kind, id, newest)
                    except DATABASE_ERRORS:
                        state, is_told = None, False
                    if state is not None and predicate(state):
                        return state
                    await _wait_briefly(changed, None if is_told else _LOOK_S)
        finally:
            stop()
            self.on_term.remove(look_again)

    async def _fetch(self, keys: Sequence[Key]) -> dict[Key, Any]:
        rows = await self._db.fetch(_LIST, *map(list, zip(*keys, strict=True)))
        return {(row["kind"], row["id"]): row for row in rows}

    def oldest_effect_age_s(self) -> float | None:
        """How long ago the oldest effect was ordered that could be carried out now.

        0 without any; None where another process leads.
        """
        if self._term is None:
            return None
        oldest_at = self._term.outbox.find_oldest_at()
        return 0.0 if oldest_at is None else max((self._now() - oldest_at).total_seconds(), 0.0)

    def retry_deferred(self, topic: str = "") -> None:
        """Retry the effects that wait for the topic, such as an agent that connects."""
        if self._term is not None:
            self._term.executor.retry_deferred(topic)

    async def _look(
        self, kind: Kind[Id, S, Any, Any], id: Id, newest: list[Changed[S]]
    ) -> S | None:
        if newest and self.is_leader:
            return newest[0].state
        return await self.read(kind, id)

    async def _post_until(self, posting: AnyPosting, until_s: float) -> Outcome[Any]:
        """Retry until it is settled; the journal knows what an earlier attempt has done."""
        if self._kinds.get(posting.kind.name) is not posting.kind:
            raise ValueError(f"this engine has no such kind {posting.kind.name!r}")
        while True:
            try:
                outcome = await self._post_once(posting, until_s)
            except DATABASE_ERRORS:
                outcome = TermEnded()
            if isinstance(outcome, Outcome):
                return outcome
            if not isinstance(outcome, TermEnded):
                raise outcome
            if clock.monotonic_s() + _AGAIN_S > until_s:
                raise _too_late(
                    posting, is_leader_needed=posting.within is not None and not self._term
                )
            await self._wait_for_term(_AGAIN_S)

    async def _post_once(self, posting: AnyPosting, until_s: float) -> Outcome[Any] | Exception:
        """The outcome or the error; `TermEnded` when it must be tried again."""
        term = self._term
        if term is not None:
            return await self._post_here(term, posting, until_s)
        if posting.within is not None:
            return TermEnded()
        outcome = await self._inbox.post(posting, until_s)
        return TermEnded() if outcome is None else outcome

    async def _post_here(
        self, term: LeaderTerm, posting: AnyPosting, until_s: float
    ) -> Outcome[Any] | Exception:
        future = asyncio.get_running_loop().create_future()
        timer = future.get_loop().call_later(
            max(until_s - clock.monotonic_s(), 0), _answer_late, future
        )
        try:
            post = Post(
                posting.kind,
                str(posting.id),
                posting.event,
                str(posting.cause),
                future,
                posting.closes,
                posting.within,
                owner=OWNER.get(),
            )
            if not term.queue.has_room(post.turn):
                await term.queue.wait_for_room(post.turn)
                if self._term is not term:
                    return TermEnded()
            term.queue.put(post)
            outcome: Outcome[Any] | Exception = await future
            return outcome
        finally:
            timer.cancel()

    async def _lead(self, epoch: int) -> None:
        term = LeaderTerm(
            Term(epoch, self._now), self._kinds, self.handlers, self, self.feed, self._settings
        )
        self._set_term(term)
        try:
            await term.run(self._db, self._connect)
        finally:
            self._set_term(None)

    def _set_term(self, term: LeaderTerm | None) -> None:
        self._term = term
        self._term_changed.set()
        self._term_changed = asyncio.Event()
        for listener in self.on_term:
            listener(self.epoch)

    async def _wait_for_term(self, timeout_s: float) -> None:
        """Return when leadership changes, or after a moment."""
        await _wait_briefly(self._term_changed, timeout_s)

    def _on_notify(self, channel: str) -> None:
        if channel == POSTED and self._term is not None:
            self._term.inbox.posted.set()
        elif channel != POSTED:
            self._inbox.note_settled()


def _answer_late(future: asyncio.Future[Outcome[Any] | Exception]) -> None:
    if not future.done():
        future.set_result(TermEnded())


def _too_late(posting: AnyPosting, *, is_leader_needed: bool) -> EngineUnavailable | NotLeader:
    if is_leader_needed:
        return NotLeader(
            f"this process does not lead, and an event of {posting.kind.name} {posting.id} "
            "must be applied by the leader; try again"
        )
    return EngineUnavailable(
        f"an event of {posting.kind.name} {posting.id} was not settled in time; sending the same "
        "request again is safe"
    )


async def _wait_briefly(event: asyncio.Event, timeout_s: float | None) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        pass

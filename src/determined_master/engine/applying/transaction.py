"""One transaction: lock the aggregates, step each event, write everything, commit."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import groupby
from typing import Any

from determined_master import clock
from determined_master.domain.errors import DetError
from determined_master.engine import inbox_codec
from determined_master.engine.applying import statements
from determined_master.engine.applying.batch import Applied, Subject, Writes, columns
from determined_master.engine.applying.closing import close_all
from determined_master.engine.applying.queue import Closing, Post
from determined_master.engine.applying.refusal import as_refusal
from determined_master.engine.connection import abandon, is_connection_loss
from determined_master.engine.errors import StaleEpoch
from determined_master.engine.ids import Key
from determined_master.engine.kind import Outcome, Rows, RowWriter
from determined_master.store.db import Conn
from determined_master.store.row_locks import lock_rows

_YIELD_S = 0.005


class Poisoned(Exception):
    """An event that made the transaction fail; `error` is for its caller."""

    def __init__(self, post: Post | Closing, error: Exception) -> None:
        super().__init__(str(error))
        self.post = post
        self.error = error


class ContextCache:
    """Contexts of recently used aggregates. A transaction takes them out and puts them back."""

    def __init__(self, limit: int = 256) -> None:
        self._limit = limit
        self._entries: OrderedDict[Key, tuple[int, Any]] = OrderedDict()

    def take(self, key: Key, version: int) -> tuple[bool, Any]:
        """Whether there is a state for that version, and the state, which is removed."""
        held_version, context = self._entries.pop(key, (None, None))
        return held_version == version, context

    def put(self, key: Key, version: int, context: Any) -> None:
        """Keep the context of a committed version."""
        self._entries[key] = (version, context)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)


@dataclass(slots=True)
class Term:
    """The values of one term: this process leads under one epoch."""

    epoch: int
    now: Callable[[], datetime]
    contexts: ContextCache = field(default_factory=ContextCache)
    partitions: set[date] = field(default_factory=set)


async def apply_batch(
    conn: Conn, term: Term, posts: Sequence[Post], closings: Sequence[Closing]
) -> Applied:
    """Apply events of any aggregates in one transaction.

    An event that the domain refuses is left out and its caller gets the error, as long as it has
    written nothing (`within`). The other events of the batch are not affected.

    Raises:
        Poisoned: an event that must be taken out before the others can commit.
        StaleEpoch: another process leads. Errors of the connection: the outcome is unknown, and
        applying the same events again settles it.
    """
    if not posts and all(closing.within is None for closing in closings):
        closed = await close_all(conn, term.epoch, [closing.effect for closing in closings])
        return Applied([], [], [], [], closed, None)
    await conn.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
    try:
        work = _Transaction(conn, term)
        await work.lock(posts)
        await work.lock_listed(posts, closings)
        await work.write_rows(posts)
        await work.step_all(posts)
        await work.write(closings)
        await conn.execute("COMMIT")
    except BaseException as error:
        await abandon(conn, error)
        raise
    return work.finish()


async def ensure_partition(conn: Conn, month: date) -> None:
    """Create the journal's partition for aggregates created in that month."""
    end = date(month.year + month.month // 12, month.month % 12 + 1, 1)
    await conn.execute(
        statements.ENSURE_PARTITION.format(
            year=month.year, month=month.month, start=month.isoformat(), end=end.isoformat()
        )
    )


class _Transaction:
    """The steps between BEGIN and COMMIT."""

    def __init__(self, conn: Conn, term: Term) -> None:
        self._conn = conn
        self._term = term
        self._subjects: dict[Key, Subject] = {}
        self._applied_causes: dict[tuple[str, str, str], int] = {}
        self._writes = Writes(term.now())
        self._outcomes: list[tuple[Post, Outcome[Any] | Exception]] = []
        self._duplicates: list[tuple[Subject, int]] = []
        self._refused: dict[tuple[str, str, str], Exception] = {}

    async def lock(self, posts: Sequence[Post]) -> None:
        """Lock the aggregates in the order of their keys; look up the causes."""
        keys = {post.key: post.kind for post in posts}
        rows = await self._conn.fetch(
            statements.LOCK,
            *columns(list(keys), 2),
            *columns([(*post.key, post.cause) for post in posts], 3),
            statements.EPOCH_LOCK,
        )
        for kind, id, version, born, state, cause in rows:
            if kind is None:
                if not version:
                    raise StaleEpoch("another process is taking the lead")
            elif cause is not None:
                self._applied_causes[kind, id, cause] = version
            else:
                stored = keys[kind, id].codec.stored(state)
                self._subjects[kind, id] = Subject(
                    keys[kind, id], id, version, born, stored, stored, version
                )
        await self._join_parts([s for s in self._subjects.values() if _has_parts(s)])
        month = self._writes.at.date().replace(day=1)
        for key, kind in keys.items():
            if key not in self._subjects:
                self._subjects[key] = Subject(kind, key[1], 0, month, None, None, 0)
        if month not in self._term.partitions:
            await ensure_partition(self._conn, month)  # it exists after this commit
        await self._find_timers([post for post in posts if post.timer is not None])

    async def lock_listed(self, posts: Sequence[Post], closings: Sequence[Closing]) -> None:
        """Lock the trials, then the experiments, that events or their row writers change.

        A writer that locks a single row, or leaves rows to another single writer, needs no order.
        """
        if len(posts) + len(closings) < 2:
            return
        writes = [post.within for post in posts if isinstance(post.within, Rows)]
        trials = {int(post.id) for post in posts if post.kind.rows == "trials"}
        experiments = {i for rows in writes for i in rows.experiments}
        if experiments:
            experiments |= {int(post.id) for post in posts if post.kind.rows == "experiments"}
        if trials or experiments:
            await lock_rows(
                self._conn, trials.union(*(rows.trials for rows in writes)), experiments
            )

    async def write_rows(self, posts: Sequence[Post]) -> None:
        """Write the rows that go with events, grouped by writer.

        Raises:
            Poisoned: the rows of the only event cannot be written. A failure for several is
            raised unchanged: each is then applied alone.
        """
        applied = set(self._applied_causes)
        groups: dict[RowWriter, list[tuple[tuple[str, str, str], Any]]] = {}
        for post in posts:
            cause = (*post.key, post.cause)
            if isinstance(post.within, Rows) and cause not in applied:
                applied.add(cause)
                groups.setdefault(post.within.writer, []).append((cause, post.within.item))
        for writer, group in groups.items():
            try:
                refusals = await writer.write(self._conn, [item for _, item in group])
            except Exception as error:
                if len(posts) > 1 or is_connection_loss(self._conn, error):
                    raise
                raise Poisoned(posts[0], as_refusal(error, posts[0])) from error
            for (cause, _), refusal in zip(group, refusals, strict=True):
                if refusal is not None:
                    self._refused[cause] = refusal

    async def step_all(self, posts: Sequence[Post]) -> None:
        """Apply each event to the state that its predecessors left; yields now and then."""
        since = clock.monotonic_s()
        for post in posts:
            outcome = await self._step(post)
            self._outcomes.append((post, outcome))
            if post.inbox_seq is not None:
                self._writes.inbox.append((post.inbox_seq, inbox_codec.encode_outcome(outcome)))
            if clock.monotonic_s() - since > _YIELD_S:
                await asyncio.sleep(0)
                since = clock.monotonic_s()

    async def write(self, closings: Sequence[Closing]) -> None:
        """Save states, journal, outbox, timers and projections.

        Raises:
            StaleEpoch: the epoch is not ours any more.
        """
        writes = self._writes
        for closing in closings:
            await self._close(closing)
        changed = self._changed()
        if not writes.is_empty():
            epoch = await self._conn.fetchval(
                statements.WRITE, *writes.parameters(changed, self._term.epoch)
            )
            if epoch != self._term.epoch:
                raise StaleEpoch(f"epoch {epoch} has begun, this is {self._term.epoch}")
        if writes.parts:
            await self._conn.execute(statements.SET_PARTS, *columns(writes.parts, 4))
        await self._write_timers()
        if writes.inbox:
            await self._conn.execute(statements.SETTLE_INBOX, *columns(writes.inbox, 2), writes.at)
        for _, subjects in groupby(changed, key=lambda subject: subject.kind.name):
            of_kind = list(subjects)
            project = of_kind[0].kind.project
            if project is not None:
                await project(self._conn, [s.change(writes.at) for s in of_kind])

    def finish(self) -> Applied:
        self._term.partitions.add(self._writes.at.date().replace(day=1))
        changed = self._changed()
        for subject in self._subjects.values():
            if subject.has_context:
                self._term.contexts.put(subject.key, subject.version, subject.context)
        dues = [timer.due_at for timer in self._writes.timers.values() if timer is not None]
        return Applied(
            self._outcomes,
            changed,
            self._duplicates,
            self._writes.effects,
            self._writes.closed,
            min(dues) if dues else None,
        )

    def _changed(self) -> list[Subject]:
        changed = [s for s in self._subjects.values() if s.version > s.first_version]
        return sorted(changed, key=lambda subject: subject.key)

    async def _step(self, post: Post) -> Outcome[Any] | Exception:
        """Apply one event; a refusal by the domain is returned unless `within` has written."""
        subject = self._subjects[post.key]
        version = self._applied_causes.get((*post.key, post.cause))
        if version is not None:
            self._duplicates.append((subject, version))
            self._writes.close(post.closes)
            return Outcome(version, is_duplicate=True, state=subject.state)
        if post.timer is not None and not self._is_due(post):
            return Outcome(subject.version, is_duplicate=True, state=subject.state)
        if (refusal := self._refused.get((*post.key, post.cause))) is not None:
            return refusal
        if post.within is not None and not isinstance(post.within, Rows):
            await self._run_within(post, post.within)
        try:
            await self._load_context(subject)
            state, produced = post.kind.step(subject.state, post.event, subject.context)
        except Exception as error:
            if is_connection_loss(self._conn, error):
                raise
            refusal = as_refusal(error, post)
            if post.within is not None or not isinstance(error, DetError):
                raise Poisoned(post, refusal) from error
            return refusal
        subject.version += 1
        subject.state = state
        subject.events.append(post.event)
        records = self._writes.add(subject, post, produced)
        if records:
            subject.records += records
            if subject.has_context and post.kind.context is not None:
                subject.context = post.kind.context.advance(subject.context, records)
        self._writes.close(post.closes)
        self._applied_causes[(*post.key, post.cause)] = subject.version
        return Outcome(subject.version, state=state)

    async def _close(self, closing: Closing) -> None:
        """Close an effect; whoever closes it first also does what comes with it, once."""
        if closing.within is None:
            self._writes.close(closing.effect)
            return
        id = closing.effect
        is_first = await self._conn.fetchval(
            statements.CLOSE_ONE, id.kind, id.aggregate, id.version, id.n
        )
        if is_first:
            self._writes.must_lead = True
            try:
                await closing.within(self._conn)
            except Exception as error:
                if is_connection_loss(self._conn, error):
                    raise
                raise Poisoned(closing, error) from error

    async def _run_within(self, post: Post, within: Callable[[Conn], Awaitable[None]]) -> None:
        try:
            await within(self._conn)
        except Exception as error:
            if is_connection_loss(self._conn, error):
                raise
            raise Poisoned(post, as_refusal(error, post)) from error

    async def _load_context(self, subject: Subject) -> None:
        loader = subject.kind.context
        if loader is None or subject.has_context:
            return
        is_held, context = self._term.contexts.take(subject.key, subject.version)
        if not is_held:
            context = await loader.load(self._conn, subject.id, subject.state)
        subject.context, subject.has_context = context, True

    async def _join_parts(self, subjects: Sequence[Subject]) -> None:
        """Read the parts of states in a statement after the lock, so that they are current."""
        if not subjects:
            return
        parts: dict[Key, list[Any]] = {subject.key: [] for subject in subjects}
        rows = await self._conn.fetch(statements.LIST_PARTS, *columns(list(parts), 2))
        for kind, id, text in rows:
            parts[kind, id].append(self._subjects[kind, id].kind.codec.part(text))
        for subject in subjects:
            subject.stored_parts = parts[subject.key]
            subject.state = subject.kind.codec.join(subject.state, subject.stored_parts)
            subject.before = subject.state

    async def _find_timers(self, posts: Sequence[Post]) -> None:
        """Find which of the fired timers are still set."""
        self._in_force: set[tuple[str, str, str, int]] = set()
        if posts:
            keys = [(*post.key, post.timer[0]) for post in posts if post.timer is not None]
            rows = await self._conn.fetch(statements.FIND_TIMERS, *columns(keys, 3))
            self._in_force = {tuple(row) for row in rows}

    def _is_due(self, post: Post) -> bool:
        """Whether the timer was neither cancelled nor set again; it is used up now."""
        assert post.timer is not None
        name, version = post.timer
        timer = (*post.key, name)
        if timer in self._writes.timers or (*timer, version) not in self._in_force:
            return False
        self._writes.timers[timer] = None
        return True

    async def _write_timers(self) -> None:
        timers = self._writes.timers
        rows = [(*key, t.version, t.due_at, t.event) for key, t in timers.items() if t]
        dropped = [key for key, timer in timers.items() if timer is None]
        if rows:
            await self._conn.execute(statements.SET_TIMERS, *columns(rows, 6))
        if dropped:
            await self._conn.execute(statements.DROP_TIMERS, *columns(dropped, 3))


def _has_parts(subject: Subject) -> bool:
    return subject.kind.codec.count_parts(subject.state) > 0

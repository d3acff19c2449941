"""Everything that runs while this process leads under one epoch."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import date

from determined_master.engine.applying.applier import Applier
from determined_master.engine.applying.batch import Applied
from determined_master.engine.applying.queue import PostQueue, end_all
from determined_master.engine.applying.transaction import Term, ensure_partition
from determined_master.engine.connection import Connect
from determined_master.engine.effects.executor import EffectExecutor, RetryPolicy
from determined_master.engine.effects.handlers import Handlers, Poster
from determined_master.engine.effects.outbox import Outbox
from determined_master.engine.feed import Feed
from determined_master.engine.inbox import DELETE_OLD, KEEP, InboxDrain
from determined_master.engine.kind import AnyKind
from determined_master.engine.leadership.timers import Timers
from determined_master.store.db import Database


@dataclass(frozen=True)
class EngineSettings:
    """The engine's limits on parallel work and retries."""

    appliers: int = 2
    batch: int = 128
    queue_limit: int = 20_000
    sweep_s: float = 300.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class LeaderTerm:
    """The queue, its appliers, and the loops that turn rows into events and effects into calls."""

    def __init__(
        self,
        term: Term,
        kinds: dict[str, AnyKind],
        handlers: Handlers,
        engine: Poster,
        feed: Feed,
        settings: EngineSettings,
    ) -> None:
        self.term = term
        self._feed = feed
        self._settings = settings
        self.queue = PostQueue(limit=settings.queue_limit, batch=settings.batch)
        self.executor = EffectExecutor(term, kinds, handlers, engine, settings.retry)
        self.outbox = Outbox(term, kinds, self.executor)
        self.timers = Timers(term, kinds, self.queue.put)
        self.inbox = InboxDrain(term, kinds, self.queue.put)

    async def run(self, db: Database, connect: Connect) -> None:
        """Lead until cancelled or until a failure; all waiting events then get `TermEnded`."""
        try:
            await self._ensure_partitions(db)
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._settings.appliers):
                    applier = Applier(self.queue, self.term, connect, self)
                    tasks.create_task(applier.run())
                tasks.create_task(self.outbox.run(db))
                tasks.create_task(self.timers.run(db))
                tasks.create_task(self.inbox.run(db))
                tasks.create_task(self._sweep(db))
        finally:
            posts, closings = self.queue.drain()
            end_all(posts, closings)

    def note_applied(self, applied: Applied) -> None:
        """Hand out effects, wake timers, publish to the feed; see `applier.Sink`."""
        self.executor.note_closed(applied.closed)
        self.outbox.take(applied.effects)
        self.timers.note(applied.next_timer_at)
        self._feed.publish(applied.subjects)
        self._feed.publish(subject for subject, _ in applied.duplicates)

    async def recover(self, applied: Applied) -> None:
        """Take up the effects and timers of transactions from before a lost connection."""
        await self.outbox.reload(
            {(subject.kind.name, subject.id, version) for subject, version in applied.duplicates}
        )
        self.timers.note(self.term.now())

    async def _sweep(self, db: Database) -> None:
        """Slow maintenance.

        It creates the journal's next partition, and finds answers that nobody waits for and missed
        effects.
        """
        while True:
            await asyncio.sleep(self._settings.sweep_s)
            await self._ensure_partitions(db)
            await db.execute(DELETE_OLD, self.term.now() - KEEP)
            await self.outbox.sweep()

    async def _ensure_partitions(self, db: Database) -> None:
        """Create this month's and the next month's partition, outside of event transactions."""
        month = self.term.now().date().replace(day=1)
        following = date(month.year + month.month // 12, month.month % 12 + 1, 1)
        for start in (month, following):
            if start not in self.term.partitions:
                async with db.acquire() as conn:
                    await ensure_partition(conn, start)
                self.term.partitions.add(start)

"""Workers that apply waiting events, and settle each of them even if the connection is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Protocol

import asyncpg

from determined_master import clock
from determined_master.engine import inbox_codec
from determined_master.engine.applying import statements
from determined_master.engine.applying.batch import Applied
from determined_master.engine.applying.queue import Closing, Post, PostQueue, end_all
from determined_master.engine.applying.refusal import as_refusal
from determined_master.engine.applying.transaction import Poisoned, Term, apply_batch
from determined_master.engine.connection import Connect, is_connection_loss
from determined_master.engine.errors import StaleEpoch, TermEnded
from determined_master.store.connection_errors import DATABASE_ERRORS

_log = logging.getLogger(__name__)
_RECONNECT_S = (0.0, 0.05, 0.2, 0.5, 1.0)
_CONFLICT_RETRIES = 5
REPLAN_S = 2.0
"""How long plans are kept. One that was made while a table was nearly empty reads the whole table
at each batch: with 5,000 aggregates, ninety times what the batch costs."""


class Sink(Protocol):
    """Receives committed transactions."""

    def note_applied(self, applied: Applied) -> None:
        """Acts on committed events: effects, timers, the change feed."""
        ...

    async def recover(self, applied: Applied) -> None:
        """Catch up with an earlier attempt at this transaction whose answer was lost."""
        ...


class Applier:
    """One worker with a connection of its own; several share a queue."""

    def __init__(
        self,
        queue: PostQueue,
        term: Term,
        connect: Connect,
        sink: Sink,
    ) -> None:
        self._queue = queue
        self._term = term
        self._connect = connect
        self._sink = sink
        self._conn: Any = None
        self._planned_s = 0.0

    async def run(self) -> None:
        """Apply batches until cancelled; queued posts then fail with `TermEnded`."""
        posts: list[Post] = []
        closings: list[Closing] = []
        try:
            while True:
                posts, closings = await self._queue.take()
                since_s = clock.monotonic_s()
                await self._settle(posts, closings)
                self._queue.give_back(posts, clock.monotonic_s() - since_s)
        finally:
            end_all(posts, closings)
            if self._conn is not None:
                self._conn.terminate()

    async def _settle(self, posts: Sequence[Post], closings: Sequence[Closing]) -> None:
        """Apply a batch without its poisoned events; in doubt apply each event alone."""
        try:
            applied = await self._apply_until_known(posts, closings)
        except Poisoned as poisoned:
            spoilt = poisoned.post
            if isinstance(spoilt, Closing):
                spoilt.answer(poisoned.error)
            else:
                await self._refuse(spoilt, poisoned.error)
            await self._settle(
                [post for post in posts if post is not spoilt],
                [closing for closing in closings if closing is not spoilt],
            )
        except (StaleEpoch, TermEnded):
            raise
        except Exception as error:
            if len(posts) + len(closings) > 1:
                for post in posts:
                    await self._settle([post], [])
                for closing in closings:
                    await self._settle([], [closing])
            elif posts:
                await self._refuse(posts[0], as_refusal(error, posts[0]))
            else:
                closings[0].answer(error)
        else:
            self._sink.note_applied(applied)
            for post, outcome in applied.outcomes:
                post.answer(outcome)
            for closing in closings:
                closing.answer(None)

    async def _apply_until_known(
        self, posts: Sequence[Post], closings: Sequence[Closing]
    ) -> Applied:
        """Apply, and repeat after every lost connection: the causes show what was committed."""
        conflicts = 0
        was_lost = False
        while True:
            conn = await self._connection()
            try:
                applied = await apply_batch(conn, self._term, posts, closings)
            except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
                conflicts += 1
                if conflicts > _CONFLICT_RETRIES:
                    raise
            except Exception as error:
                if isinstance(error, Poisoned) or not is_connection_loss(conn, error):
                    raise
                was_lost = True
                _log.warning("lost the connection in a transaction", extra={"error": repr(error)})
            else:
                if was_lost and applied.duplicates:
                    await self._recover(applied)
                return applied

    async def _recover(self, applied: Applied) -> None:
        try:
            await self._sink.recover(applied)
        except Exception as error:
            raise TermEnded from error  # the next term reads everything again

    async def _connection(self) -> Any:
        for wait_s in (*_RECONNECT_S, None):
            try:
                if self._conn is not None and not self._conn.is_closed():
                    await self._forget_plans(self._conn)
                    return self._conn
                self._conn = await self._connect()
            except DATABASE_ERRORS as error:
                if wait_s is None:
                    raise TermEnded from error
                await asyncio.sleep(wait_s)
        return self._conn

    async def _forget_plans(self, conn: Any) -> None:
        """Let the next statements be planned for the tables as they are now."""
        now_s = clock.monotonic_s()
        if now_s - self._planned_s >= REPLAN_S:
            await conn.execute("DISCARD PLANS")
            self._planned_s = now_s

    async def _refuse(self, post: Post, error: Exception) -> None:
        """Return the error of an event that was taken out of its transaction."""
        if post.inbox_seq is not None:
            conn = await self._connection()
            outcome = inbox_codec.encode_outcome(error)
            await conn.execute(
                statements.SETTLE_INBOX, [post.inbox_seq], [outcome], self._term.now()
            )
        post.answer(error)

"""Events from processes that do not lead: rows that the leader applies in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from determined_master import clock
from determined_master.engine import inbox_codec
from determined_master.engine.applying.queue import Post
from determined_master.engine.applying.transaction import Term
from determined_master.engine.errors import InternalError
from determined_master.engine.ids import EffectId
from determined_master.engine.kind import AnyKind, AnyPosting, Outcome, encode
from determined_master.store.db import Database

_log = logging.getLogger(__name__)
POSTED = "determined_inbox"
"""Channel on which a process announces posted rows."""
SETTLED = "determined_outcomes"
"""Channel on which the leader announces settled rows."""
_PAGE = 200
_LOOK_S = 5.0
_WAIT_S = 0.25
KEEP = timedelta(hours=1)

_INSERT = """
    INSERT INTO inbox (kind, id, cause, event, closes, posted_at)
    VALUES ($1, $2, $3, $4, $5, $6)
    RETURNING seq
"""
_LIST = """
    SELECT seq, kind, id, cause, event, closes
      FROM inbox
     WHERE done_at IS NULL AND seq > $1
     ORDER BY seq
     LIMIT $2
"""
_FIND_OUTCOME = "SELECT outcome FROM inbox WHERE seq = $1 AND done_at IS NOT NULL"
_REFUSE = "UPDATE inbox SET done_at = $2, outcome = $3 WHERE seq = $1"
DELETE_OLD = "DELETE FROM inbox WHERE done_at < $1"


class InboxDrain:
    """The leader's side: puts posted rows into the queue, in the order of their numbers."""

    def __init__(
        self,
        term: Term,
        kinds: dict[str, AnyKind],
        put: Callable[[Post], None],
    ) -> None:
        self._term = term
        self._kinds = kinds
        self._put = put
        self._settled = asyncio.Event()
        self.posted = asyncio.Event()

    async def run(self, db: Database) -> None:
        while True:
            self.posted.clear()
            if not await self._drain(db):
                try:
                    async with asyncio.timeout(_LOOK_S):
                        await self.posted.wait()
                except TimeoutError:
                    pass

    async def _drain(self, db: Database) -> bool:
        """Settle one page; the next pass finds a row that was committed late."""
        rows = await db.fetch(_LIST, 0, _PAGE)
        waiting: list[asyncio.Future[Outcome[Any] | Exception]] = []
        for row in rows:
            kind = self._kinds.get(row["kind"])
            try:
                if kind is None:
                    raise ValueError(f"there is no kind {row['kind']!r}")
                event = kind.codec.event(row["event"])
            except ValueError as error:
                refusal = inbox_codec.encode_outcome(InternalError(str(error)))
                await db.execute(_REFUSE, row["seq"], self._term.now(), refusal)
                continue
            future = asyncio.get_running_loop().create_future()
            closes = EffectId.parse(row["closes"]) if row["closes"] else None
            self._put(
                Post(kind, row["id"], event, row["cause"], future, closes, inbox_seq=row["seq"])
            )
            waiting.append(future)
        if waiting:
            await asyncio.wait(waiting)
        if rows:
            await db.execute(f"NOTIFY {SETTLED}")
        return bool(rows)


class InboxClient:
    """The other side: posts a row and waits for its outcome."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._settled = asyncio.Event()

    def note_settled(self) -> None:
        """The leader has settled something: check for outcomes."""
        self._settled.set()
        self._settled = asyncio.Event()

    async def post(self, posting: AnyPosting, until_s: float) -> Outcome[Any] | Exception | None:
        """Post one event.

        Args:
            posting: without `within`, which cannot be sent to another process.
            until_s: on the monotonic clock.

        Returns:
            The outcome or the error; None when it was not settled in time.
        """
        seq = await self._db.fetchval(
            _INSERT,
            *(posting.kind.name, str(posting.id), str(posting.cause), encode(posting.event)),
            *(None if posting.closes is None else str(posting.closes), clock.now()),
        )
        await self._db.execute(f"NOTIFY {POSTED}")
        while True:
            settled = self._settled
            outcome = await self._db.fetchval(_FIND_OUTCOME, seq)
            if outcome is not None:
                return inbox_codec.decode_outcome(outcome)
            left_s = until_s - clock.monotonic_s()
            if left_s <= 0:
                return None
            try:
                async with asyncio.timeout(min(left_s, _WAIT_S)):
                    await settled.wait()
            except TimeoutError:
                pass

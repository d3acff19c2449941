"""Turns timers that are due into events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from determined_master import clock
from determined_master.domain.errors import Unavailable
from determined_master.engine.applying.queue import Post
from determined_master.engine.applying.transaction import Term
from determined_master.engine.causes import TimerFired
from determined_master.engine.errors import InternalError, TermEnded
from determined_master.engine.kind import AnyKind
from determined_master.store.db import Database
from determined_wire.backoff import Backoff

_log = logging.getLogger(__name__)
_LOOK_S = 10.0
"""The longest sleep, which also finds timers from another process or a restored backup."""
_LOOK_AT_CLOCK_S = 1.0
_BACKOFF = Backoff(5.0, 3600.0)
_ATTEMPTS = 10
"""Attempts that meet a defect; afterwards a timer stays for the next master."""
_PAGE = 200

_LIST = """
    SELECT kind, id, name, version, due_at, event
      FROM timers
     ORDER BY due_at
     LIMIT $1
"""

_SHIFT = "UPDATE timers SET due_at = due_at + $1"


_Timer = tuple[str, str, str, int]
"""Kind, id, name and the version that set it."""


class Timers:
    """Fires each timer once: the event and the end of its timer commit together."""

    def __init__(
        self,
        term: Term,
        kinds: dict[str, AnyKind],
        put: Callable[[Post], None],
    ) -> None:
        self._term = term
        self._kinds = kinds
        self._put = put
        self._next_at: datetime | None = None
        self._changed = asyncio.Event()
        self._in_flight: dict[_Timer, asyncio.Future[Any]] = {}
        self._failures: dict[_Timer, int] = {}
        self._jumps = clock.Jumps(term.now)

    def note(self, due_at: datetime | None) -> None:
        """A timer was set; wake up early when it is the next."""
        if due_at is not None and (self._next_at is None or due_at <= self._next_at):
            self._changed.set()

    async def run(self, db: Database) -> None:
        """Fire due timers until cancelled."""
        while True:
            self._changed.clear()
            await self._keep_lengths(db)
            await self._wait(self._fire(await db.fetch(_LIST, _PAGE + len(self._in_flight))))

    async def _keep_lengths(self, db: Database) -> None:
        """Keep the lengths of timers: when the clock jumps, they move with it.

        Otherwise a task that was asked to exit would be killed at once, or never.
        """
        jump = self._jumps.take()
        if jump:
            _log.warning("the clock has jumped", extra={"by_s": round(jump.total_seconds(), 1)})
            await db.execute(_SHIFT, jump)

    async def _wait(self, wait_s: float) -> None:
        """Wait that long, until an earlier timer is set, or until the clock jumps."""
        while wait_s > 0 and not self._jumps.is_due():
            step_s = min(wait_s, _LOOK_AT_CLOCK_S)
            try:
                async with asyncio.timeout(step_s):
                    await self._changed.wait()
                return
            except TimeoutError:
                wait_s -= step_s

    def _fire(self, rows: list[Any]) -> float:
        """Post due timers; returns the time until the next one."""
        now = self._term.now()
        self._next_at = None
        if self._jumps.is_due():
            return 0.0  # the next due time is known only after the rows are moved
        for row in rows:
            if row["due_at"] > now:
                self._next_at = row["due_at"]
                return min(float((row["due_at"] - now).total_seconds()), _LOOK_S)
            timer = (row["kind"], row["id"], row["name"], row["version"])
            if timer not in self._in_flight and row["kind"] in self._kinds:
                self._post(timer, row["event"])
        return _LOOK_S

    def _post(self, timer: _Timer, text: str) -> None:
        kind, id, name, version = timer
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._in_flight[timer] = future
        future.add_done_callback(lambda done: self._settle(timer, done.result()))
        of_kind = self._kinds[kind]
        try:
            event = of_kind.codec.event(text)
        except ValueError as error:
            _log.error("a timer's event cannot be read", extra={"id": id, "error": str(error)})
            return  # stays in flight: not tried again in this term
        cause = str(TimerFired(name, version))
        self._put(Post(of_kind, id, event, cause, future, timer=(name, version)))

    def _settle(self, timer: _Timer, outcome: Any) -> None:
        if isinstance(outcome, TermEnded):
            return
        if isinstance(outcome, Exception):
            self._refused(timer, outcome)
        else:
            self._forget(timer)

    def _refused(self, timer: _Timer, error: Exception) -> None:
        """A refusal by the domain uses up the timer; after a defect it is tried again.

        A timer that still fails stays in flight: it is not tried again in this term. While the
        database is full, timers are tried without limit.
        """
        kind, id, name, _ = timer
        facts = {"kind": kind, "id": id, "timer": name, "error": str(error)}
        if isinstance(error, Unavailable):
            _log.warning("a timer's event failed", extra=facts)
            asyncio.get_running_loop().call_later(_BACKOFF.first, self._try_again, timer)
            return
        if not isinstance(error, InternalError):
            _log.warning("a timer's event was refused", extra=facts)
            self._forget(timer)
            return
        failures = self._failures[timer] = self._failures.get(timer, 0) + 1
        if failures == _ATTEMPTS:
            _log.error("gave up a timer until the next start", extra=facts)
            return
        _log.warning("a timer's event failed", extra=facts)
        asyncio.get_running_loop().call_later(_BACKOFF.after(failures), self._try_again, timer)

    def _forget(self, timer: _Timer) -> None:
        self._failures.pop(timer, None)
        self._try_again(timer)

    def _try_again(self, timer: _Timer) -> None:
        self._in_flight.pop(timer, None)
        self._changed.set()

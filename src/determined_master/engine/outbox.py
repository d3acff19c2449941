"""Open effects: handed out in order for each aggregate, retried, and given up in the end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from determined_master.domain.errors import DetError
from determined_master.engine.apply import Term
from determined_master.engine.batch import OpenEffect, columns
from determined_master.engine.errors import Deferred
from determined_master.engine.handlers import EffectContext, Handlers, Poster
from determined_master.engine.kind import EffectId, Key, Kind
from determined_master.store.pool import Pool

_log = logging.getLogger(__name__)
_PAGE = 1000

_CLAIM = """
    UPDATE outbox
       SET claimed_epoch = $1
     WHERE claimed_epoch < $1
"""
_LIST = """
    SELECT kind, id, version, n, effect, ordered_at, due_at, attempts
      FROM outbox
     WHERE (kind, id, version, n) > ($1, $2, $3, $4) AND claimed_epoch = $5
     ORDER BY kind, id, version, n
     LIMIT $6
"""
_LIST_OF_EVENTS = """
    SELECT o.kind, o.id, o.version, o.n, o.effect, o.ordered_at, o.due_at, o.attempts
      FROM unnest($1::text[], $2::text[], $3::bigint[]) AS w (kind, id, version)
      JOIN outbox o ON o.kind = w.kind AND o.id = w.id AND o.version = w.version
     ORDER BY o.kind, o.id, o.version, o.n
"""
_NOTE_FAILURE = """
    UPDATE outbox
       SET attempts = $6, last_error = $7, due_at = $8
     WHERE kind = $1 AND id = $2 AND version = $3 AND n = $4 AND claimed_epoch = $5
"""


class EnginePort(Poster, Protocol):
    """What the outbox needs of the engine."""

    async def close(self, effect: EffectId) -> None: ...


@dataclass(frozen=True)
class Patience:
    """Bounds of retrying, unless a handler has its own."""

    attempts: int = 8
    timeout_s: float = 60.0
    first_s: float = 0.1
    longest_s: float = 15.0
    concurrency: int = 64

    def wait_s(self, failures: int) -> float:
        """How long to wait after that many failures."""
        return min(self.first_s * 2.0 ** (failures - 1), self.longest_s)


class Outbox:
    """The effects of one term in memory, a lane for each aggregate that has any."""

    def __init__(
        self,
        term: Term,
        kinds: dict[str, Kind[Any, Any, Any]],
        handlers: Handlers,
        engine: EnginePort,
        patience: Patience,
    ) -> None:
        self._term = term
        self._kinds = kinds
        self._handlers = handlers
        self._engine = engine
        self._patience = patience
        self._slots = asyncio.Semaphore(patience.concurrency)
        self._lanes: dict[Key, deque[OpenEffect]] = {}
        self._active: dict[EffectId, EffectContext] = {}
        self._wake = asyncio.Event()
        self._start_lane: Callable[[Key], None] | None = None
        self._pool: Pool | None = None

    @property
    def open_count(self) -> int:
        """Effects that are not closed."""
        return sum(len(lane) for lane in self._lanes.values())

    def take(self, effects: Iterable[OpenEffect]) -> None:
        """Add effects behind those that their aggregates have already."""
        for effect in effects:
            key = (effect.id.kind, effect.id.aggregate)
            lane = self._lanes.get(key)
            if lane is not None:
                if effect.id > lane[-1].id:  # else `reload` was faster
                    lane.append(effect)
                continue
            self._lanes[key] = deque((effect,))
            if self._start_lane is not None:
                self._start_lane(key)

    def note_closed(self, closed: Iterable[EffectId]) -> None:
        """Remember which effects the committed events have closed."""
        for id in closed:
            context = self._active.get(id)
            if context is not None:
                context.is_closed = True

    async def reload(self, events: Iterable[tuple[str, str, int]]) -> None:
        """Take the open effects of events (kind, id, version) whose commit went unheard.

        The caller sees to it that no later event of these aggregates is applied meanwhile.
        """
        assert self._pool is not None
        rows = await self._pool.fetch(_LIST_OF_EVENTS, *columns(sorted(events), 3))
        self.take(self._open_effect(row) for row in rows)

    def retry_deferred(self) -> None:
        """Ask again at once for every effect that the world was not ready for."""
        self._wake.set()
        self._wake = asyncio.Event()

    async def run(self, pool: Pool) -> None:
        """Claim and load what is open, then hand out effects until cancelled."""
        self._pool = pool
        await self._load(pool)
        async with asyncio.TaskGroup() as lanes:
            self._start_lane = lambda key: _discard(lanes.create_task(self._run_lane(key)))
            for key in list(self._lanes):
                self._start_lane(key)
            await asyncio.Event().wait()

    async def _load(self, pool: Pool) -> None:
        """All open effects of earlier terms, in front of those that came meanwhile."""
        newer = self._lanes
        seen = {effect.id for lane in newer.values() for effect in lane}
        self._lanes = {}
        await pool.execute(_CLAIM, self._term.epoch)
        after: tuple[str, str, int, int] = ("", "", 0, 0)
        while True:
            rows = await pool.fetch(_LIST, *after, self._term.epoch, _PAGE)
            for row in rows:
                if row["kind"] in self._kinds:
                    loaded = self._open_effect(row)
                    if loaded.id not in seen:
                        self._lanes.setdefault((row["kind"], row["id"]), deque()).append(loaded)
            if len(rows) < _PAGE:
                break
            after = tuple(rows[-1])[:4]
        for key, lane in newer.items():
            self._lanes.setdefault(key, deque()).extend(lane)

    def _open_effect(self, row: Any) -> OpenEffect:
        id = EffectId(row["kind"], row["id"], row["version"], row["n"])
        effect = self._decode(id, row["effect"])
        return OpenEffect(id, effect, row["ordered_at"], row["attempts"], row["due_at"])

    def _decode(self, id: EffectId, text: str) -> Any:
        try:
            return self._kinds[id.kind].codec.effect(text)
        except ValueError as error:
            _log.error("an effect cannot be read", extra={"effect": str(id), "error": str(error)})
            return None

    async def _run_lane(self, key: Key) -> None:
        lane = self._lanes[key]
        while lane:
            open_effect = lane[0]
            if open_effect.due_at is not None:
                await asyncio.sleep((open_effect.due_at - self._term.now()).total_seconds())
            await self._carry_out(open_effect)
            lane.popleft()
        del self._lanes[key]

    async def _carry_out(self, open_effect: OpenEffect) -> None:
        """Return once the effect is closed, by success or by giving up."""
        while True:
            context = EffectContext(
                open_effect.id,
                open_effect.ordered_at,
                open_effect.attempts + 1,
                self._term.epoch,
                self._engine,
            )
            self._active[open_effect.id] = context
            wake = self._wake
            try:
                await self._attempt(open_effect, context)
                if not context.is_closed:
                    await self._engine.close(open_effect.id)
                return
            except Deferred as deferred:
                await _wait_briefly(wake, deferred.retry_s)
            except Exception as error:
                if context.is_closed or await self._has_given_up(open_effect, error):
                    return
            finally:
                del self._active[open_effect.id]

    async def _attempt(self, open_effect: OpenEffect, context: EffectContext) -> None:
        if open_effect.effect is None:
            raise LookupError("its stored form cannot be read")
        registration = self._handlers.get(type(open_effect.effect))
        async with self._slots:
            async with asyncio.timeout(registration.timeout_s or self._patience.timeout_s):
                await registration.handler(open_effect.effect, context)

    async def _has_given_up(self, open_effect: OpenEffect, error: Exception) -> bool:
        """Note a failure and wait, or tell the aggregate after the last one."""
        open_effect.attempts += 1
        effect = open_effect.effect
        limit = self._patience.attempts
        if effect is not None:
            try:
                limit = self._handlers.get(type(effect)).attempts or limit
            except LookupError:
                limit = 1  # it would be missing the next time too
        facts = {"effect": str(open_effect.id), "attempt": open_effect.attempts}
        if effect is None or open_effect.attempts >= limit:
            _log.error("gave up an effect", exc_info=error, extra=facts)
            await self._tell_failure(open_effect, _words(error))
            return True
        _log.warning("an effect failed", extra={**facts, "error": repr(error)})
        wait_s = self._patience.wait_s(open_effect.attempts)
        id = open_effect.id
        assert self._pool is not None
        await self._pool.execute(
            _NOTE_FAILURE,
            *(id.kind, id.aggregate, id.version, id.n, self._term.epoch),
            *(open_effect.attempts, _words(error)[:2000]),
            self._term.now() + timedelta(seconds=wait_s),
        )
        await asyncio.sleep(wait_s)
        return False

    async def _tell_failure(self, open_effect: OpenEffect, words: str) -> None:
        id = open_effect.id
        event = None
        if open_effect.effect is not None:
            event = self._kinds[id.kind].codec.effect_failed(open_effect.effect, words)
        if event is not None:
            try:
                await self._engine.post(
                    id.kind, id.aggregate, event, cause=f"failed:{id}", closes=id
                )
                return
            except DetError as error:
                _log.error(
                    "an aggregate refused to hear of a failed effect",
                    extra={"effect": str(id), "error": str(error)},
                )
        await self._engine.close(id)


def _words(error: Exception) -> str:
    return str(error) or repr(error)


async def _wait_briefly(event: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        pass


def _discard(_: object) -> None:
    """The task belongs to its group."""

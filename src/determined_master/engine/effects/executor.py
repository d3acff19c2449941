"""Carries out effects: together where a handler can, with retries up to a limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from determined_master.domain.errors import DetError, Unavailable
from determined_master.engine.applying.batch import OpenEffect
from determined_master.engine.applying.transaction import Term
from determined_master.engine.causes import GaveUp
from determined_master.engine.effects.handlers import (
    EffectContext,
    GroupHandler,
    HandlerRegistration,
    Handlers,
    Poster,
)
from determined_master.engine.errors import Deferred
from determined_master.engine.ids import EffectId
from determined_master.engine.kind import AnyKind
from determined_master.engine.turns import OWNER, FairSlots, Owner
from determined_master.store.db import Database
from determined_wire.backoff import Backoff

_log = logging.getLogger(__name__)
_BACKOFF = Backoff(0.1, 15.0)
_MAX_WOKEN = 10_000
"""An older wake was noticed by all attempts that had begun before it."""

_NOTE_FAILURE = """
    UPDATE outbox
       SET attempts = $6, last_error = $7, due_at = $8
     WHERE kind = $1 AND id = $2 AND version = $3 AND n = $4 AND claimed_epoch = $5
"""


@dataclass(frozen=True)
class RetryPolicy:
    """Limits of retries, unless a handler has its own."""

    attempts: int = 8
    timeout_s: float = 60.0
    backoff: Backoff[float] = _BACKOFF
    concurrency: int = 64


class EffectExecutor:
    """Passes effects to their handlers until each is closed, by success or by giving up."""

    def __init__(
        self,
        term: Term,
        kinds: dict[str, AnyKind],
        handlers: Handlers,
        engine: Poster,
        retry: RetryPolicy,
    ) -> None:
        self._term = term
        self._kinds = kinds
        self._handlers = handlers
        self._engine = engine
        self._retry = retry
        self._slots = FairSlots(retry.concurrency)
        self._active: dict[EffectId, EffectContext] = {}
        self._deferred: set[EffectId] = set()
        self._wakes: dict[str, asyncio.Event] = {}
        self._woken: dict[str, int] = {}
        self._wake_count = 0
        self.db: Database | None = None

    def note_closed(self, closed: Iterable[EffectId]) -> None:
        """Remember the effects that committed events have closed."""
        for id in closed:
            context = self._active.get(id)
            if context is not None:
                context.is_closed = True

    def is_deferred(self, id: EffectId) -> bool:
        """Whether an effect rightly waits for something, such as an agent that is away."""
        return id in self._deferred

    def retry_deferred(self, topic: str) -> None:
        """Retry at once the effects that wait for the topic."""
        self._wake_count += 1
        self._woken.pop(topic, None)
        self._woken[topic] = self._wake_count
        if len(self._woken) > _MAX_WOKEN:
            del self._woken[next(iter(self._woken))]
        waited_for = self._wakes.pop(topic, None)
        if waited_for is not None:
            waited_for.set()

    async def carry_out(self, group: Sequence[OpenEffect]) -> None:
        """Return once all effects of a group are closed; they do not wait for each other."""
        if len(group) == 1:
            await self._carry_out(group[0])
            return
        by_type: dict[type[Any], list[OpenEffect]] = {}
        for open_effect in group:
            by_type.setdefault(type(open_effect.effect), []).append(open_effect)
        async with asyncio.TaskGroup() as tasks:
            for effect_type, alike in by_type.items():
                tasks.create_task(self._carry_out_alike(effect_type, alike))

    async def _carry_out_alike(self, effect_type: type[Any], alike: Sequence[OpenEffect]) -> None:
        """Together if their handler can; effects that it leaves open follow singly."""
        registration = self._handlers.find(effect_type)
        if registration is not None and registration.group is not None:
            fresh = [e for e in alike if not e.attempts]
            closed = await self._attempt_together(registration, registration.group, fresh)
            alike = [e for e in alike if e.id not in closed]
        async with asyncio.TaskGroup() as tasks:
            for open_effect in alike:
                tasks.create_task(self._carry_out(open_effect))

    async def _attempt_together(
        self,
        registration: HandlerRegistration,
        handler: GroupHandler,
        effects: Sequence[OpenEffect],
    ) -> set[EffectId]:
        """The ids of those that are closed afterwards."""
        contexts = [self._context(open_effect) for open_effect in effects]
        self._active.update({context.effect_id: context for context in contexts})
        try:
            async with self._turn(effects[0].owner):
                async with asyncio.timeout(registration.timeout_s or self._retry.timeout_s):
                    await handler([(e.effect, c) for e, c in zip(effects, contexts, strict=True)])
            open_contexts = [context for context in contexts if not context.is_closed]
            await asyncio.gather(
                *(self._engine.close(context.effect_id) for context in open_contexts)
            )
            return {context.effect_id for context in contexts}
        except Exception as error:
            if not isinstance(error, Deferred):
                facts = {"effects": len(effects), "error": repr(error)}
                _log.warning("effects failed together, each is tried by itself", extra=facts)
            return {context.effect_id for context in contexts if context.is_closed}
        finally:
            for context in contexts:
                del self._active[context.effect_id]

    def _context(self, open_effect: OpenEffect) -> EffectContext:
        return EffectContext(
            open_effect.id,
            open_effect.ordered_at,
            open_effect.attempts + 1,
            self._term.epoch,
            self._engine,
        )

    async def _carry_out(self, open_effect: OpenEffect) -> None:
        """Return once the effect is closed, by success or by giving up."""
        if open_effect.due_at is not None:
            await asyncio.sleep((open_effect.due_at - self._term.now()).total_seconds())
        try:
            await self._attempt_until_closed(open_effect)
        finally:
            self._deferred.discard(open_effect.id)

    async def _attempt_until_closed(self, open_effect: OpenEffect) -> None:
        while True:
            context = self._context(open_effect)
            self._active[open_effect.id] = context
            begun = self._wake_count
            try:
                await self._attempt(open_effect, context)
                if not context.is_closed:
                    await self._engine.close(open_effect.id)
                return
            except Deferred as deferred:
                self._deferred.add(open_effect.id)
                if self._woken.get(deferred.topic, 0) <= begun:  # otherwise it was set since
                    waited_for = self._wakes.setdefault(deferred.topic, asyncio.Event())
                    await _wait_briefly(waited_for, deferred.retry_s)
            except Exception as error:
                self._deferred.discard(open_effect.id)
                if context.is_closed or await self._has_given_up(open_effect, error):
                    return
            finally:
                del self._active[open_effect.id]

    async def _attempt(self, open_effect: OpenEffect, context: EffectContext) -> None:
        if open_effect.effect is None:
            raise LookupError("its stored form cannot be read")
        registration = self._handlers.get(type(open_effect.effect))
        async with self._turn(open_effect.owner):
            async with asyncio.timeout(registration.timeout_s or self._retry.timeout_s):
                await registration.handler(open_effect.effect, context)

    @asynccontextmanager
    async def _turn(self, owner: Owner) -> AsyncIterator[None]:
        """A slot in the owner's turn; the events that are posted with it are its work too."""
        async with self._slots.slot(owner):
            token = OWNER.set(owner)
            try:
                yield
            finally:
                OWNER.reset(token)

    async def _has_given_up(self, open_effect: OpenEffect, error: Exception) -> bool:
        """Record a failure and wait; after the last one, report it to the aggregate."""
        open_effect.attempts += 1
        effect = open_effect.effect
        limit = self._retry.attempts
        if effect is not None:
            try:
                limit = self._handlers.get(type(effect)).attempts or limit
            except LookupError:
                limit = 1  # it would be missing the next time too
        facts = {"effect": str(open_effect.id), "attempt": open_effect.attempts}
        if effect is None or open_effect.attempts >= limit:
            _log.error("gave up an effect", exc_info=error, extra=facts)
            await self._report_failure(open_effect, _words(error))
            return True
        _log.warning("an effect failed", extra={**facts, "error": repr(error)})
        wait_s = self._retry.backoff.after(open_effect.attempts)
        id = open_effect.id
        assert self.db is not None
        await self.db.execute(
            _NOTE_FAILURE,
            *(id.kind, id.aggregate, id.version, id.n, self._term.epoch),
            *(open_effect.attempts, _words(error)[:2000]),
            self._term.now() + timedelta(seconds=wait_s),
        )
        await asyncio.sleep(wait_s)
        return False

    async def _report_failure(self, open_effect: OpenEffect, words: str) -> None:
        """Report the failure to the aggregate, however long the database is away; then close."""
        id = open_effect.id
        kind = self._kinds[id.kind]
        event = None
        if open_effect.effect is not None and kind.given_up is not None:
            event = kind.given_up(open_effect.effect, words)
        tries = 0
        while event is not None:
            try:
                await self._engine.post(kind, id.aggregate, event, cause=GaveUp(id), closes=id)
                return
            except Unavailable as error:
                tries += 1
                facts = {"effect": str(id), "error": str(error)}
                _log.warning("failed to report a failed effect to its aggregate", extra=facts)
                await asyncio.sleep(self._retry.backoff.after(tries))
            except DetError as error:
                _log.error(
                    "an aggregate refused the report of a failed effect",
                    extra={"effect": str(id), "error": str(error)},
                )
                break
        await self._engine.close(id)


def _words(error: Exception) -> str:
    return str(error) or repr(error)


async def _wait_briefly(event: asyncio.Event, timeout_s: float | None) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        pass

"""The registry of effect handlers, and their context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from determined_master.engine.causes import CarriedOut, Cause
from determined_master.engine.errors import Deferred
from determined_master.engine.ids import EffectId
from determined_master.engine.kind import E, Id, Kind, Outcome, S, Within

Handler = Callable[[Any, "EffectContext"], Awaitable[None]]
GroupHandler = Callable[[Sequence[tuple[Any, "EffectContext"]]], Awaitable[None]]
"""Carries out several effects of one aggregate and one type. It raises when any has failed, after
all others are done."""


class Poster(Protocol):
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
    ) -> Outcome[S]: ...

    async def close(self, effect: EffectId) -> None: ...


@dataclass(slots=True)
class EffectContext:
    """The facts of an effect for its handler.

    `attempt` counts from 1. `epoch` is part of every message to an agent, which refuses lower
    ones.
    """

    effect_id: EffectId
    ordered_at: datetime
    attempt: int
    epoch: int
    engine: Poster
    is_closed: bool = False

    @property
    def aggregate_id(self) -> str:
        return self.effect_id.aggregate

    @property
    def cause(self) -> CarriedOut:
        """The cause of events that result from this effect: the same at every attempt."""
        return CarriedOut(self.effect_id)

    def deferred(self, reason: str) -> Deferred:
        """An exception to raise when the effect has to wait; it does not count as a failure."""
        return Deferred(reason)

    async def post(
        self,
        kind: Kind[Id, S, E, Any],
        id: Id,
        event: E,
        *,
        within: Within | None = None,
    ) -> Outcome[S]:
        """Report the outcome and close the effect, in one transaction."""
        return await self.engine.post(
            kind, id, event, cause=self.cause, closes=self.effect_id, within=within
        )

    async def close(self) -> None:
        """Close the effect, independently of those that are carried out with it."""
        await self.engine.close(self.effect_id)


@dataclass(frozen=True)
class HandlerRegistration:
    """A handler with its retry limits; None uses the engine's own."""

    handler: Handler
    attempts: int | None = None
    timeout_s: float | None = None
    group: GroupHandler | None = None


class Handlers:
    """The registry; filled by the composition root before the engine runs."""

    def __init__(self) -> None:
        self._by_type: dict[type[Any], HandlerRegistration] = {}

    def register(
        self,
        effect: type[Any],
        handler: Handler,
        *,
        attempts: int | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Let `handler` carry out effects of that type, each at most `attempts` times.

        Raises:
            ValueError: the type has a handler already.
        """
        self._add(effect, HandlerRegistration(handler, attempts, timeout_s))

    def register_group(self, effect: type[Any], handler: GroupHandler) -> None:
        """Let `handler` carry out effects of that type, all that wait together in one call.

        An effect that it leaves open when it raises is then given to it alone.

        Raises:
            ValueError: the type has a handler already.
        """

        async def carry_out_one(one: Any, context: EffectContext) -> None:
            await handler([(one, context)])

        self._add(effect, HandlerRegistration(carry_out_one, group=handler))

    def find(self, effect: type[Any]) -> HandlerRegistration | None:
        """None if no handler takes such effects."""
        return self._by_type.get(effect)

    def get(self, effect: type[Any]) -> HandlerRegistration:
        """Raises LookupError if no handler takes such effects."""
        try:
            return self._by_type[effect]
        except KeyError:
            raise LookupError(f"no handler is registered for {effect.__name__}") from None

    def _add(self, effect: type[Any], registration: HandlerRegistration) -> None:
        if effect in self._by_type:
            raise ValueError(f"{effect.__name__} has a handler already")
        self._by_type[effect] = registration

"""The offers of one pool, and what its cloud answered to each.

They are kept in memory: a new leader tries every offer again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from determined_master.domain.machines.offers import (
    Choice,
    Cooldowns,
    Offer,
    OfferReport,
    Refusal,
    Tried,
    accept,
    choose,
    left_out_sentence,
    refuse,
)
from determined_master.ports.machines import LaunchFailed

OTHER = "refused, for a reason that the master's log has"


class PoolOffers:
    """Calls may come from several threads; each reads and writes whole values."""

    def __init__(
        self, offers: Sequence[Offer], max_price: float | None, now: Callable[[], datetime]
    ) -> None:
        """
        Args:
            offers: of the settings, in their order.
            max_price: of the settings.
            now: the clock.
        """
        self._offers = tuple(offers)
        self._max_price = max_price
        self._now = now
        self._cooldowns: Cooldowns = {}
        self._tried: tuple[Tried, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether there is nothing to choose from."""
        return len(self._offers) == 1

    def choice(self) -> Choice:
        return choose(self._offers, self._cooldowns, self._max_price, self._now())

    def begin(self) -> tuple[Offer, ...]:
        """Begin a launch; the offers to try in their order.

        Raises:
            LaunchFailed: all are left out.
        """
        choice = self.choice()
        if not choice.offers:  # users still read what the launch before has tried
            raise LaunchFailed(left_out_sentence(choice.left_out))
        self._tried = ()
        return choice.offers

    def refused(self, offer: Offer, refusal: Refusal | None) -> None:
        """An offer gave no machine; None for an answer that concerns other offers as well."""
        self._note(offer, refusal or OTHER)
        if refusal is not None:
            self._cooldowns = refuse(self._cooldowns, offer, refusal, self._now())

    def started(self, offer: Offer, count: int) -> None:
        """Machines were started with an offer."""
        self._note(offer, f"{count} started")
        self._cooldowns = accept(self._cooldowns, offer)

    def report(self) -> OfferReport:
        choice = self.choice()
        left_out = {one.offer.key for one in choice.left_out}
        cooldowns = {key: one for key, one in self._cooldowns.items() if key in left_out}
        return OfferReport(choice=choice, tried=self._tried, cooldowns=cooldowns)

    def _note(self, offer: Offer, answer: str) -> None:
        before = {one.offer.key: one for one in self._tried}
        if (first := before.pop(offer.key, None)) is not None:
            answer = f"{first.answer}, then {answer}"
        self._tried = (*before.values(), Tried(offer=offer, answer=answer))

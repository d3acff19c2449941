"""Where and how a pool's machines can be had: in which order, and what is left out for a while.

An offer is a machine type in a zone or subnet on a market. A cloud that has no room for one may
have room for the next, so a launch tries them in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from determined_wire.backoff import Backoff

Market = Literal["on-demand", "spot"]
SpotUse = Literal["never", "prefer", "only"]
OfferOrder = Literal["listed", "price"]
Refusal = Literal["no room", "quota", "price"]
"""Answers of a cloud that concern one offer: another offer may still be had."""

COOLDOWN = Backoff(timedelta(minutes=3), timedelta(hours=1))
MARKETS: Mapping[SpotUse, tuple[Market, ...]] = {
    "never": ("on-demand",),
    "prefer": ("spot", "on-demand"),
    "only": ("spot",),
}
MAX_NAMED = 8
"""Offers that one sentence names."""


class OfferKind(msgspec.Struct, frozen=True, kw_only=True):
    """A machine type, with the usual dollars an hour on each market; None if unknown."""

    machine_type: str
    accelerator: str = ""
    """Attached GPUs, for types that may have several kinds."""
    on_demand: float | None = None
    spot: float | None = None


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    machine_type: str
    accelerator: str = ""
    place: str = ""
    """Zone or subnet; empty where the provider chooses."""
    market: Market = "on-demand"
    price_per_hour: float | None = None
    """Usual US dollars; None if unknown."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies it: prices change."""
        return self.machine_type, self.accelerator, self.place, self.market

    @property
    def name(self) -> str:
        """The name in messages: `g4dn.xlarge in us-west1-b, spot`."""
        kind = f"{self.machine_type} with {self.accelerator}" if self.accelerator else ""
        where = f" in {self.place}" if self.place else ""
        return f"{kind or self.machine_type}{where}, {self.market}"


class Cooldown(msgspec.Struct, frozen=True, kw_only=True):
    """An offer is left out because its cloud refused it."""

    reason: Refusal
    at: datetime
    until: datetime
    times: int
    """Refusals in a row."""

    def is_at(self, now: datetime) -> bool:
        """Whether it still counts; not after the clock was set to before the refusal."""
        return self.at <= now < self.until


Cooldowns = Mapping[tuple[str, str, str, str], Cooldown]
"""By the key of the offer."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    offer: Offer
    reason: str
    until: datetime | None = None
    """None for as long as the settings are as they are."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """All offers of a pool at one instant."""

    offers: tuple[Offer, ...]
    """Those that may be tried, in order."""
    left_out: tuple[LeftOut, ...] = ()


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """An offer of the last launch, and the cloud's answer."""

    offer: Offer
    answer: str
    """For every user: without the cloud's own words, which may name accounts and networks."""


class OfferReport(msgspec.Struct, frozen=True, kw_only=True):
    """The offers of a pool, and the last launch."""

    choice: Choice
    tried: tuple[Tried, ...] = ()
    cooldowns: Cooldowns = {}
    """Of offers that are left out now."""


def offers_of(
    kinds: Sequence[OfferKind], places: Sequence[str], spot: SpotUse, order: OfferOrder
) -> tuple[Offer, ...]:
    """All offers of a pool, in the order in which they are tried.

    The preferred market comes first. On a market, `listed` takes the types as they are listed,
    each in all places. `price` takes the cheapest first and those without a known price last;
    equal prices stay as listed.

    Args:
        kinds: at least one.
        places: zones or subnets; the provider's own choice without any.
        spot: which markets, and which of them first.
        order: on a market.
    """
    found: list[Offer] = []
    for market in MARKETS[spot]:
        offers = [
            Offer(
                machine_type=kind.machine_type,
                accelerator=kind.accelerator,
                place=place,
                market=market,
                price_per_hour=kind.spot if market == "spot" else kind.on_demand,
            )
            for kind in kinds
            for place in (places or ("",))
        ]
        if order == "price":
            offers.sort(key=lambda o: (o.price_per_hour is None, o.price_per_hour or 0.0))
        found += offers
    return tuple(found)


def choose(
    offers: Sequence[Offer], cooldowns: Cooldowns, max_price: float | None, now: datetime
) -> Choice:
    """Divide the offers into those that may be tried now and those that are left out.

    A pool with a single offer has nothing else to try: its launches are repeated as others that
    failed, and a refusal does not leave the offer out.

    Args:
        offers: of the pool, in their order, which is kept.
        cooldowns: earlier refusals.
        max_price: dollars an hour of a machine; None for any. Without a known price an offer might
            be above it.
        now: the instant.
    """
    chosen: list[Offer] = []
    left_out: list[LeftOut] = []
    for offer in offers:
        cooldown = cooldowns.get(offer.key)
        if problem := _price_problem(offer, max_price):
            left_out.append(LeftOut(offer=offer, reason=problem))
        elif cooldown is not None and cooldown.is_at(now) and len(offers) > 1:
            left_out.append(LeftOut(offer=offer, reason=cooldown.reason, until=cooldown.until))
        else:
            chosen.append(offer)
    return Choice(offers=tuple(chosen), left_out=tuple(left_out))


def _price_problem(offer: Offer, max_price: float | None) -> str:
    if max_price is None:
        return ""
    if offer.price_per_hour is None:
        return f"its price is unknown, and max_price is {max_price:g} USD per hour"
    if offer.price_per_hour <= max_price:
        return ""
    return f"{offer.price_per_hour:g} USD per hour is more than max_price ({max_price:g})"


def machines_for(slots: int, slots_of_machine: int) -> int:
    """How many machines hold `slots` slots; one for a task without slots."""
    return max(1, -(-slots // slots_of_machine)) if slots_of_machine else 1


def refuse(cooldowns: Cooldowns, offer: Offer, reason: Refusal, now: datetime) -> Cooldowns:
    """Leave an offer out: for three minutes, then twice as long each time, up to an hour.

    An hour without a refusal ends the row.
    """
    before = cooldowns.get(offer.key)
    if before is not None and before.is_at(now):
        return cooldowns  # the same round
    follows = before is not None and before.at <= now <= before.until + COOLDOWN.longest
    times = before.times + 1 if before is not None and follows else 1
    return {
        **cooldowns,
        offer.key: Cooldown(reason=reason, at=now, until=now + COOLDOWN.after(times), times=times),
    }


def accept(cooldowns: Cooldowns, offer: Offer) -> Cooldowns:
    """A launch succeeded with an offer: its earlier refusals do not count any more."""
    return {key: cooldown for key, cooldown in cooldowns.items() if key != offer.key}


def tried_sentence(tried: Sequence[Tried], cooldowns: Cooldowns) -> str:
    """What the last launch tried and what each offer answered; empty without any.

    The time is the one until which an offer is left out, if it is.
    """
    if not tried:
        return ""
    parts = (
        f"{one.offer.name}: {one.answer}{_until(cooldowns.get(one.offer.key))}" for one in tried
    )
    return f"tried {_named(parts)}"


def left_out_sentence(left_out: Sequence[LeftOut]) -> str:
    """Why no offer can be tried now."""
    parts = [
        f"{one.offer.name}: {one.reason}"
        + (f", until {_clock(one.until)}" if one.until is not None else "")
        for one in left_out
    ]
    return f"every machine type and place of the pool is left out now: {_named(parts)}"


def _until(cooldown: Cooldown | None) -> str:
    return f", left out until {_clock(cooldown.until)}" if cooldown is not None else ""


def _clock(at: datetime) -> str:
    return at.strftime("%H:%M:%S UTC")


def _named(parts: Iterable[str]) -> str:
    every = list(parts)
    shown = "; ".join(every[:MAX_NAMED])
    more = len(every) - MAX_NAMED
    return f"{shown}; and {more} more" if more > 0 else shown

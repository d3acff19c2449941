"""Dollars an hour of a pool's machines, and how many machines a budget allows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from determined_master.domain.machines.offers import Offer
from determined_master.domain.machines.scaling import Machine

PAID = ("starting", "running", "stopping", "terminating", "unknown")
"""States of machines that cost: the cloud counts until a machine has ended."""
MAX_MACHINES = 1_000_000
"""Machines without a price are limited by other settings."""
_TOLERANCE = 1e-9
"""Sums of prices are not exact: three machines of 0.1 are within 0.3."""


class Budget(msgspec.Struct, frozen=True):
    """The most that a pool may cost, in dollars an hour."""

    limit: float
    price: float
    """The most that one machine costs."""
    max_instances: int
    """The other limit of the settings."""

    def reason(self) -> str:
        """Why it allows no more machines."""
        return (
            f"max_cost_per_hour of {self.limit:g} USD pays for "
            f"{machines_within(self.limit, self.price)} machines of up to {self.price:g} USD"
        )


def cost_per_hour(machines: Iterable[Machine]) -> float | None:
    """The sum of the usual prices of machines.

    Returns:
        0 without machines. None where no price is known; otherwise a machine without a known price
        counts as 0.
    """
    paid = [machine.price_per_hour for machine in machines if machine.state in PAID]
    known = [price for price in paid if price is not None]
    return round(math.fsum(known), 4) if known or not paid else None


def slot_price(machines: Iterable[Machine], slots: int) -> float | None:
    """The mean price of a slot for an hour; None without machines of a known price.

    Args:
        machines: of a pool.
        slots: of each of them.
    """
    paid = [m.price_per_hour for m in machines if m.state in PAID and m.price_per_hour is not None]
    return math.fsum(paid) / (len(paid) * slots) if paid and slots else None


def allowed(offers: Iterable[Offer], max_price: float | None) -> list[Offer]:
    """The offers that `max_price` does not exclude."""
    if max_price is None:
        return list(offers)
    return [o for o in offers if o.price_per_hour is not None and o.price_per_hour <= max_price]


def highest_price(offers: Sequence[Offer]) -> float | None:
    """The price of the dearest offer; None if one is unknown, or without offers."""
    prices = [offer.price_per_hour for offer in offers]
    known = [price for price in prices if price is not None]
    return max(known) if known and len(known) == len(prices) else None


def machines_within(budget: float, price: float) -> int:
    """How many machines of at most `price` cost at most `budget`, both in dollars an hour."""
    if budget >= price * MAX_MACHINES:
        return MAX_MACHINES
    return math.floor(budget / price + _TOLERANCE) if budget > 0 and price > 0 else 0


def affordable(count: int, cost: float, price: float, budget: float) -> int:
    """How many of `count` further machines of at most `price` the budget leaves room for."""
    return max(0, min(count, machines_within(budget - cost, price)))

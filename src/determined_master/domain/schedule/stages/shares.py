"""The number of slots that each job of a pool is offered: weighted progressive filling.

Source: scheduling-and-provisioning b.2, steps 3 to 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(slots=True)
class Share:
    """One job's claim on a pool, and its offer."""

    job_id: str
    submitted_at: datetime
    weight: float
    demand: int
    """Slots of all of its requests, no more than its max_slots."""
    fixed: int = 0
    """Slots of its tasks that cannot be preempted."""
    smallest: int | None = None
    """Slots of its smallest request that can be preempted later.

    It does not matter whether that request runs or waits: offers that depended on it would
    oscillate.
    """
    offered: int = 0
    credit: int = 0
    is_disabled: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it may be offered more."""
        return not self.is_disabled and self.offered < self.demand


def fill(shares: Iterable[Share], capacity: int) -> list[Share]:
    """Offer slots in rounds until none are left or no job wants more.

    In each round a job is offered its part of the remaining slots, by weight, at least one slot.
    Slots that it holds and cannot give back count first. When no slots are left, jobs whose offer
    fits none of their requests return it, the latest first.

    Args:
        shares: with `offered` 0; changed in place.
        capacity: slots of the pool, a whole number.

    Returns:
        The shares in the order of their offers: the smallest demand first, then by age.
    """
    order = sorted(shares, key=lambda s: (s.demand, s.submitted_at, s.job_id))
    for share in order:
        share.offered = share.credit = min(share.fixed, capacity)
        capacity -= share.offered
    wanting, latest = order, sorted(order, key=lambda s: (s.submitted_at, s.job_id))
    while True:
        wanting = [s for s in wanting if not s.is_disabled and s.offered < s.demand]
        capacity, is_progress = _round(wanting, capacity)
        if capacity == 0:
            capacity = _take_useless(latest)
            if capacity == 0:
                return order
        elif not is_progress:
            return order


def _round(wanting: list[Share], capacity: int) -> tuple[int, bool]:
    at_start, is_progress = capacity, False
    # A single slot is not divided: the first job gets it.
    total = sum([s.weight for s in wanting]) if capacity > 1 else 0.0
    for share in wanting:
        if capacity == 0:
            break
        part = max(1, int(at_start * share.weight / total)) if total > 0 else 1
        # Slots that it already holds count as offered in the rounds that would have offered them.
        used = min(share.credit, part)
        share.credit -= used
        offer = min(part - used, capacity, share.demand - share.offered)
        share.offered += offer
        capacity -= offer
        is_progress |= bool(offer or used)
        if not share.is_open:
            total -= share.weight
    return capacity, is_progress


def _take_useless(latest: list[Share]) -> int:
    """Take back an offer that the latest job cannot use for any request; 0 if there is none.

    Args:
        latest: jobs still to check, the latest last. A job that can use its offer, or wants no
            more, is removed for good, as its offer never shrinks. So is one that returns its
            offer.
    """
    while latest:
        share = latest.pop()
        spare = _spare(share)
        if not share.is_open or share.smallest is None or share.smallest <= spare:
            continue
        share.is_disabled = True
        if spare:
            share.offered -= spare
            return spare
    return 0


def _spare(share: Share) -> int:
    """The part of its offer that no non-preemptible task holds."""
    return max(0, share.offered - share.fixed)

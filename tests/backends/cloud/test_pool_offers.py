"""The memory of a pool's offers: the order of a launch, and the report for users."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from tests.domain.builders import T0

from determined_master.backends.cloud.pool_offers import PoolOffers
from determined_master.domain.machines.offers import Offer, tried_sentence
from determined_master.ports.machines import LaunchFailed

FIRST, SECOND = Offer(machine_type="first"), Offer(machine_type="second")
MINUTE = timedelta(minutes=1)


class Clock:
    """The test's."""

    def __init__(self) -> None:
        self.now = T0

    def __call__(self) -> datetime:
        return self.now


def texts(offers: PoolOffers) -> str:
    """The sentence for users."""
    report = offers.report()
    return tried_sentence(report.tried, report.cooldowns)


def test_users_read_the_last_tries_while_all_offers_are_left_out() -> None:
    offers = PoolOffers([FIRST, SECOND], None, Clock())
    for offer in offers.begin():
        offers.refused(offer, "no room")
    before = texts(offers)
    assert "second, on-demand: no room, left out until" in before
    with pytest.raises(LaunchFailed, match="every machine type and place"):
        offers.begin()
    assert texts(offers) == before


def test_a_single_offer_is_tried_again_and_never_named_as_left_out() -> None:
    offers = PoolOffers([FIRST], None, Clock())
    offers.refused(FIRST, "quota")
    assert texts(offers) == "tried first, on-demand: quota"
    assert offers.begin() == (FIRST,)


def test_the_time_of_an_offer_that_may_be_tried_again_is_not_named() -> None:
    clock = Clock()
    offers = PoolOffers([FIRST, SECOND], None, clock)
    offers.refused(FIRST, "price")
    clock.now += 3 * MINUTE
    assert texts(offers) == "tried first, on-demand: price"


def test_a_refusal_that_concerns_all_offers_leaves_none_out() -> None:
    offers = PoolOffers([FIRST, SECOND], None, Clock())
    offers.refused(FIRST, None)
    assert texts(offers) == (
        "tried first, on-demand: refused, for a reason that the master's log has"
    )
    assert offers.begin() == (FIRST, SECOND)


def test_a_new_launch_forgets_the_tries_of_the_last() -> None:
    offers = PoolOffers([FIRST, SECOND], None, Clock())
    offers.started(FIRST, 2)
    assert texts(offers) == "tried first, on-demand: 2 started"
    offers.begin()
    assert texts(offers) == ""

"""Who is ahead of whom."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import permutations
from random import Random

import pytest
from tests.covers import covers
from tests.domain.builders import T0, pending

from determined_master.domain.schedule.ordering import age_key, moved_ahead, queue_key
from determined_master.domain.schedule.view import RequestView, position_of

LATER = T0 + timedelta(seconds=1)


def names(requests: list[RequestView]) -> list[str]:
    """Ids by the key of the queue, which no order of the input changes."""
    orders = {
        tuple(r.allocation_id for r in sorted(shuffled, key=queue_key))
        for shuffled in permutations(requests)
    }
    assert len(orders) == 1
    return list(orders.pop())


@covers("scheduling-and-provisioning a.1.age")
@pytest.mark.parametrize("key", [age_key, queue_key])
def test_age_is_that_of_the_job_then_of_the_request_then_the_id(key) -> None:
    requests = [
        pending("b", submitted_at=T0, requested_at=LATER),
        pending("a", submitted_at=T0, requested_at=LATER),
        pending("y", submitted_at=LATER, requested_at=T0),
        pending("z", submitted_at=T0, requested_at=T0),
    ]
    assert [r.allocation_id for r in sorted(requests, key=key)] == ["z", "a", "b", "y"]


@covers("scheduling-and-provisioning a.2.same_position")
def test_at_one_position_the_older_is_ahead() -> None:
    place = Decimal(7)
    requests = [pending("young", after_s=9, position=place), pending("old", position=place)]
    assert names(requests) == ["old", "young"]


@covers("scheduling-and-provisioning a.2.smaller a.2.no_position")
def test_the_smaller_position_is_ahead_and_one_that_is_not_set_is_that_of_its_age() -> None:
    own = position_of(T0)
    requests = [
        pending("early"),
        pending("behind", after_s=-5, position=Decimal(own) + Decimal("0.5")),
        pending("ahead", after_s=9, position=Decimal(own) - Decimal("0.5")),
        pending("negative", after_s=99, position=Decimal(-3)),
        pending("late", after_s=1),
    ]
    assert names(requests) == ["negative", "ahead", "early", "behind", "late"]


@covers("scheduling-and-provisioning a.3.start")
def test_a_position_begins_as_the_microseconds_since_1970() -> None:
    assert position_of(T0 + timedelta(microseconds=3)) == int(T0.timestamp()) * 1_000_000 + 3


def one_after_the_other(members: list[RequestView], waiting: list[RequestView]) -> list[str]:
    """A literal version of `moved_ahead`."""
    order: list[str] = []
    for request in members:
        before = [r for r in waiting if r.requested_at < request.requested_at]
        for one in (*sorted(before, key=lambda r: r.requested_at), request):
            if one.allocation_id not in order:
                order.append(one.allocation_id)
    return order


@pytest.mark.parametrize("seed", range(20))
def test_an_aged_request_goes_before_all_later_ones(seed: int) -> None:
    chance = Random(seed)
    members = [
        pending(f"r{n}", requested_at=T0 + timedelta(seconds=chance.randrange(12)))
        for n in range(chance.randrange(25))
    ]
    until = T0 + timedelta(seconds=chance.randrange(12))
    waiting = [r for r in members if r.requested_at <= until and chance.random() < 0.6]
    made = moved_ahead(members, waiting)
    order = [r.allocation_id for r in made.order]
    assert order == one_after_the_other(members, waiting)
    places = {r.allocation_id: n for n, r in enumerate(members)}
    passes = {id for n, id in enumerate(order) if any(places[o] < places[id] for o in order[n:])}
    assert made.early == passes

"""What is kept up with every change is what counting again would give."""

from __future__ import annotations

from random import Random

from tests.domain.builders import agent, holding

from determined_master.domain.schedule.capacity import Capacity
from determined_master.domain.schedule.seats import CapacityIndex, Measure
from determined_master.domain.schedule.view import Rules

NAMES = "abcdefgh"


def counted_again(capacity: Capacity, measure: Measure) -> dict:
    return CapacityIndex(capacity.seats.values(), measure).groups


def test_agents_stay_grouped_by_their_places_whatever_happens() -> None:
    chance = Random(5)
    agents = [agent(name, chance.choice((2, 4, 8)), free=chance.randrange(3)) for name in NAMES]
    runs = [
        holding(f"r{n}", *((name, 1) for name in chance.sample(NAMES, chance.randrange(1, 4))))
        for n in range(20)
    ]
    capacity = Capacity(agents, runs, Rules(), "slots")
    for one in runs:
        capacity.add_preemptible(one)
    kept = {
        "open": capacity.now,
        "reservable": capacity.reservable,
        "preemptible": capacity.preemptible,
    }
    for _ in range(300):
        one, sign = chance.choice(runs), chance.choice((1, -1))
        name = chance.choice(NAMES)
        match chance.randrange(4):
            case 0:
                capacity.add_preempted(one, sign)
            case 1:
                capacity.add_preemptible(one, sign)
            case 2:
                capacity.reserve(((name, chance.randrange(3)),))
            case _ if capacity.seats[name].free:
                capacity.take(((name, 1),))
        for measure, index in kept.items():
            assert index.groups == counted_again(capacity, measure)


def test_agents_that_are_excluded_do_not_count() -> None:
    capacity = Capacity([agent("a"), agent("b"), agent("c", free=1)], (), Rules(), "slots")
    assert capacity.reservable.whole() == {4: 2}
    assert capacity.reservable.whole(frozenset({"a", "c", "unknown"})) == {4: 1}
    assert capacity.reservable.count((4, 4, None), frozenset({"a", "b"})) == 0

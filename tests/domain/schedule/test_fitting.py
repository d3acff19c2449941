"""Which agents hold one request."""

import pytest
from tests.covers import covers
from tests.domain.builders import agent

from determined_master.domain.schedule.fitting import Demand, fit, fits_when_drained


def demand(slots: int, *, single: bool = False, excluded: tuple[str, ...] = ()) -> Demand:
    return Demand(slots=slots, is_single_node=single, excluded_agents=frozenset(excluded))


@covers("experiment-config 11.multi_slot")
def test_a_gang_fills_the_tightest_agent_that_holds_it() -> None:
    agents = [agent("roomy"), agent("tight", free=2)]
    assert fit(demand(2), agents) == {"tight": (2, 3)}


def test_equally_tight_agents_are_taken_by_id_and_slots_by_number() -> None:
    agents = [agent("b"), agent("a")]
    assert fit(demand(2), agents) == {"a": (0, 1)}


@covers("experiment-config 11.multi_slot")
def test_a_gang_larger_than_one_agent_takes_whole_idle_agents_of_one_size() -> None:
    agents = [agent("c", 4), agent("a", 4), agent("b", 4), agent("small", 2)]
    assert fit(demand(8), agents) == {"a": (0, 1, 2, 3), "b": (0, 1, 2, 3)}


def test_the_largest_size_that_divides_the_request_is_taken() -> None:
    agents = [agent("a", 4), agent("b", 3), agent("c", 3), agent("d", 3)]
    assert fit(demand(9), agents) == {"b": (0, 1, 2), "c": (0, 1, 2), "d": (0, 1, 2)}


@pytest.mark.parametrize(
    "agents",
    [
        [agent("a", 4), agent("b", 4, free=3)],
        [agent("a", 4), agent("b", 2), agent("c", 2)],
        [agent("a", 4), agent("b", 4, is_accepting=False)],
        [agent("a", 8, free=7), agent("b", 8, free=7)],
        [],
    ],
    ids=["one in use", "unequal sizes", "one shut", "none whole", "no agents"],
)
def test_nothing_less_holds_a_gang_of_8(agents) -> None:
    assert fit(demand(8), agents) is None


def test_a_request_that_no_whole_number_of_agents_holds_never_fits() -> None:
    agents = [agent(i, 8) for i in "abc"]
    assert fit(demand(12), agents) is None
    assert fit(demand(16), agents) is not None


@covers("experiment-config 11.is_single_node")
def test_a_single_node_request_is_never_split() -> None:
    agents = [agent("a", 4), agent("b", 4)]
    assert fit(demand(8, single=True), agents) is None
    assert fit(demand(4, single=True), agents) == {"a": (0, 1, 2, 3)}


@covers("experiment-config 16.exclude_node")
def test_excluded_and_shut_agents_are_left_out() -> None:
    agents = [agent("a"), agent("b", is_accepting=False), agent("c")]
    assert fit(demand(1, excluded=("a",)), agents) == {"c": (0,)}


def test_a_task_without_slots_lets_idle_agents_idle() -> None:
    agents = [agent("idle"), agent("busy", free=1)]
    assert fit(demand(0), agents) == {"busy": ()}
    assert fit(demand(0), [agent("a"), agent("b", zero_slot_tasks=1)]) == {"b": ()}
    assert fit(demand(0), [agent("a"), agent("b", slots=0)]) == {"b": ()}


def test_a_task_without_slots_finds_no_place_where_the_limit_is_reached() -> None:
    full = agent("a", zero_slot_tasks=2, max_zero_slot_tasks=2)
    assert fit(demand(0), [full]) is None
    assert fits_when_drained(demand(0), [full])
    assert not fits_when_drained(demand(0), [agent("a", max_zero_slot_tasks=0)])


def test_what_fits_the_empty_pool_is_known_while_it_is_full() -> None:
    agents = [agent("a", 4, free=0), agent("b", 4, free=0)]
    assert fits_when_drained(demand(8), agents)
    assert not fits_when_drained(demand(6), agents)

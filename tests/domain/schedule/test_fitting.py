"""Which agents hold one request."""

from collections import Counter

import pytest
from msgspec.structs import replace
from tests.covers import covers
from tests.domain.builders import agent

from determined_master.domain.schedule.capacity import Capacity, drained
from determined_master.domain.schedule.fitting import Demand, could_fit, fit_drained
from determined_master.domain.schedule.hash_ring import distance, hash_of
from determined_master.domain.schedule.view import Rules

BEST, WORST = Rules(), Rules(fitting="worst")


def demand(slots: int, *, single: bool = False, excluded: tuple[str, ...] = ()) -> Demand:
    return Demand(slots=slots, is_single_node=single, excluded_agents=frozenset(excluded))


def where(wanted: Demand, agents, rules: Rules = BEST, id: str = "x") -> dict[str, int] | None:
    kind = "slots" if wanted.slots else "aux"
    parts = Capacity(agents, (), rules, kind).fit(wanted, id)
    return None if parts is None else dict(parts)


def possible(wanted: Demand, agents) -> bool:
    capacity = drained(agents, BEST, "slots" if wanted.slots else "aux")
    return capacity.fit(wanted, "x") is not None


@covers("scheduling-and-provisioning b.5.one_agent b.5.best_slots")
@covers("experiment-config 11.multi_slot")
def test_a_gang_fills_the_tightest_agent_that_holds_it() -> None:
    agents = [agent("roomy"), agent("tight", free=2)]
    assert where(demand(2), agents) == {"tight": 2}


@covers("scheduling-and-provisioning b.5.worst_slots")
def test_worst_takes_the_emptiest_by_proportion() -> None:
    agents = [agent("most", 8, free=5), agent("half", 2, free=2), agent("tight", 4, free=2)]
    assert where(demand(2), agents, WORST) == {"half": 2}
    assert where(demand(3), agents, WORST) == {"most": 3}


@covers("scheduling-and-provisioning b.5.ties")
@pytest.mark.parametrize("rules", [BEST, WORST])
def test_equally_good_agents_are_taken_by_the_distance_of_hashes(rules: Rules) -> None:
    agents = [agent(name) for name in "abcdefgh"]
    for id in ("x", "y", "17.3.1"):
        nearest = min("abcdefgh", key=lambda a: distance(hash_of(id), hash_of(a)))
        assert where(demand(1), agents, rules, id) == {nearest: 1}


@covers("scheduling-and-provisioning b.5.ties")
def test_the_distance_goes_round_the_corner() -> None:
    assert distance(5, 3) == 2
    assert distance(3, 5) == 2**64 - 2


@covers("scheduling-and-provisioning b.5.hash")
def test_a_hash_is_the_first_half_of_an_md5_read_from_its_low_end() -> None:
    # md5("a") begins with the bytes 0c c1 75 b9 c0 f1 b6 a8
    assert hash_of("a") == 0xA8B6F1C0B975C10C


@covers("scheduling-and-provisioning b.5.whole")
@covers("experiment-config 11.multi_slot")
def test_a_gang_larger_than_one_agent_takes_whole_idle_agents_of_one_size() -> None:
    agents = [agent("b", 4), agent("a", 4), agent("used", 4, free=3), agent("small", 2)]
    assert where(demand(8), agents) == {"a": 4, "b": 4}


@covers("scheduling-and-provisioning b.5.uniform")
def test_the_largest_size_that_divides_the_request_is_taken() -> None:
    agents = [agent("a", 4), agent("b", 3), agent("c", 3), agent("d", 3)]
    assert where(demand(9), agents) == {"b": 3, "c": 3, "d": 3}


@covers("scheduling-and-provisioning b.5.mixed")
def test_several_sizes_are_mixed_only_where_the_pool_allows_it() -> None:
    agents = [agent("a", 8), agent("b", 4)]
    assert where(demand(12), agents) is None
    mixed = Rules(is_heterogeneous=True)
    assert where(demand(12), agents, mixed) == {"a": 8, "b": 4}
    assert where(demand(11), agents, mixed) is None
    assert where(demand(8), [*agents, agent("c", 4)], mixed) == {"a": 8}


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
    assert where(demand(8), agents) is None


@covers("scheduling-and-provisioning b.5.multiples")
def test_a_request_that_no_whole_number_of_agents_holds_never_fits() -> None:
    agents = [agent(i, 8) for i in "abc"]
    assert where(demand(12), agents) is None
    assert where(demand(16), agents) is not None


@covers("scheduling-and-provisioning b.5.single_agent")
@covers("experiment-config 11.is_single_node")
def test_a_single_node_request_is_never_split() -> None:
    agents = [agent("a", 4), agent("b", 4)]
    assert where(demand(8, single=True), agents) is None
    assert sum((where(demand(4, single=True), agents) or {}).values()) == 4


@covers("scheduling-and-provisioning b.5.blocked")
@covers("experiment-config 16.exclude_node")
def test_excluded_and_shut_agents_are_left_out() -> None:
    agents = [agent("a"), agent("b", is_accepting=False), agent("c")]
    assert where(demand(1, excluded=("a",)), agents) == {"c": 1}
    gang = [agent("a"), agent("b"), agent("c")]
    assert where(demand(8, excluded=("a",)), gang) == {"b": 4, "c": 4}
    assert where(demand(12, excluded=("a",)), gang) is None


@covers("scheduling-and-provisioning b.5.best_aux")
def test_a_task_without_slots_lets_idle_agents_idle() -> None:
    agents = [agent("idle"), agent("busy", free=1)]
    assert where(demand(0), agents) == {"busy": 1}
    assert where(demand(0), [agent("a"), agent("b", zero_slot_tasks=1)]) == {"b": 1}
    assert where(demand(0), [agent("a"), agent("b", zero_slot_tasks=1)], WORST) == {"a": 1}


@covers("scheduling-and-provisioning b.5.worst_aux")
def test_worst_spreads_tasks_without_slots_by_free_slots_of_used_agents_else_by_places() -> None:
    used = [agent("most", 8, free=3), agent("half", 2, free=1)]
    assert where(demand(0), used, WORST) == {"half": 1}
    places = [agent("a", zero_slot_tasks=40), agent("b", zero_slot_tasks=60)]
    assert where(demand(0), places, WORST) == {"a": 1}
    assert where(demand(0), [*used, places[0]], WORST) == {"a": 1}


def test_tasks_without_slots_are_spread_over_pods_nodes_whatever_their_slots_do() -> None:
    spread = replace(BEST, spreads_aux=True)
    agents = [agent("busy", free=1, zero_slot_tasks=2), agent("idle", zero_slot_tasks=1)]
    assert where(demand(0), agents, spread) == {"idle": 1}
    assert where(demand(0), [agents[0], agent("no", 0, zero_slot_tasks=3)], spread) == {"busy": 1}
    half = [agent("half", free=1), agent("idle")]
    assert where(demand(1), half, spread) == {"half": 1}  # slots are packed as before


def test_many_tasks_without_slots_at_once_share_the_nodes_equally() -> None:
    agents = [agent(name) for name in "abc"]
    capacity = Capacity(agents, (), replace(BEST, spreads_aux=True), "aux")
    counts = Counter[str]()
    for n in range(30):
        parts = capacity.fit(demand(0), f"t{n}")
        assert parts is not None
        capacity.take(parts)
        counts.update(agent_id for agent_id, _ in parts)
    assert counts == {"a": 10, "b": 10, "c": 10}


@covers("scheduling-and-provisioning b.5.aux_place b.5.aux_zero")
def test_a_task_without_slots_finds_no_place_where_the_limit_is_reached() -> None:
    full = agent("a", zero_slot_tasks=2, max_zero_slot_tasks=2)
    assert where(demand(0), [full]) is None
    assert possible(demand(0), [full])
    assert not possible(demand(0), [agent("a", max_zero_slot_tasks=0)])


def test_the_capacity_of_the_empty_pool_is_known_while_it_is_full() -> None:
    agents = [agent("a", 4, free=0), agent("b", 4, free=0)]
    assert possible(demand(8), agents)
    assert not possible(demand(6), agents)


def test_slots_reserved_for_one_request_are_not_usable_by_another() -> None:
    capacity = Capacity([agent("a", 4, free=2)], (), BEST, "slots")
    capacity.reserve((("a", 3),))
    assert capacity.fit(demand(1), "x") is None
    capacity = Capacity([agent("a", 4)], (), BEST, "slots")
    capacity.reserve((("a", 3),))
    assert capacity.fit(demand(1), "x") == (("a", 1),)


def test_agents_are_drained_where_the_least_is_in_use() -> None:
    agents = [agent("a", 4, free=1), agent("b", 4, free=3), agent("c", 4, free=2)]
    capacity = Capacity(agents, (), BEST, "slots")
    index, seats = capacity.reservable, capacity.seats
    assert fit_drained(demand(4), "x", index, seats) == (("b", 4),)
    assert fit_drained(demand(8), "x", index, seats) == (("b", 4), ("c", 4))
    assert fit_drained(demand(6), "x", index, seats) is None


def test_could_fit_knows_gangs_and_single_agents() -> None:
    def could(wanted: Demand, *free: int) -> bool:
        agents = [agent(name, 4, free=n) for name, n in zip("ab", free, strict=True)]
        return could_fit(wanted, Capacity(agents, (), BEST, "slots").reservable, BEST)

    assert could(demand(8), 4, 4)
    assert not could(demand(8), 4, 3)
    assert could(demand(3), 0, 3)
    assert not could(demand(3, excluded=("b",)), 0, 3)
    assert not could(demand(8, excluded=("b",)), 4, 4)

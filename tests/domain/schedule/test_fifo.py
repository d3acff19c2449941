"""A pool that serves in the order of submission."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.builders import agent, pending

from determined_master.domain.schedule.fifo import plan
from determined_master.domain.schedule.fitting import Demand, fits_when_drained
from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.view import PoolView


def view(agents, requests) -> PoolView:
    return PoolView(pool="gpus", agents=tuple(agents), pending=tuple(requests))


def started(made: Plan) -> list[str]:
    return [s.allocation_id for s in made.starts]


def waits(made: Plan) -> dict[str, str]:
    return {w.allocation_id: w.reason for w in made.waits}


def test_requests_start_in_the_order_of_submission() -> None:
    requests = [pending("late", 2, after_s=9), pending("early", 2), pending("mid", 2, after_s=5)]
    made = plan(view([agent("a", 4)], requests))
    assert started(made) == ["early", "mid"]
    assert [s.placement for s in made.starts] == [(("a", (0, 1)),), (("a", (2, 3)),)]


def test_submitted_at_once_they_start_by_id() -> None:
    assert started(plan(view([agent("a", 1)], [pending("y"), pending("x")]))) == ["x"]


def test_a_gang_is_placed_in_the_order_of_agent_ids() -> None:
    made = plan(view([agent("b", 2), agent("a", 2)], [pending("x", 4)]))
    assert made.starts[0].placement == (("a", (0, 1)), ("b", (0, 1)))


def test_nobody_overtakes_a_request_that_waits_for_slots() -> None:
    requests = [pending("big", 4), pending("small", 1, after_s=1), pending("next", 1, after_s=2)]
    made = plan(view([agent("a", 4, free=2)], requests))
    assert started(made) == []
    [big, small, after] = made.waits
    assert big.reason == "is next; waits for 4 slots, of which 2 are free now"
    assert (big.needs_slots, big.free_slots, big.largest_hole, big.ahead) == (4, 2, 2, ())
    assert small.reason.startswith("waits for 1 slot behind a request submitted earlier; ")
    assert small.reason.endswith("big is next")
    assert after.ahead == ("small", "big")


def test_a_request_that_these_agents_can_never_hold_holds_nobody_back() -> None:
    made = plan(view([agent("a", 4)], [pending("huge", 64), pending("small", 1, after_s=1)]))
    assert started(made) == ["small"]
    assert waits(made) == {
        "huge": "needs 64 slots, and pool 'gpus' has 4: ask for less, or add agents"
    }
    assert made.waits[0].ahead == ()


def test_tasks_without_slots_neither_wait_behind_nor_hold_back() -> None:
    requests = [pending("big", 4), pending("tiny", 0, after_s=1), pending("one", 1, after_s=2)]
    made = plan(view([agent("a", 4, free=2)], requests))
    assert started(made) == ["tiny"]
    full = agent("a", 4, zero_slot_tasks=1, max_zero_slot_tasks=1)
    made = plan(view([full], [pending("tiny", 0), pending("one", 1, after_s=1)]))
    assert started(made) == ["one"]
    assert "max_aux_containers_per_agent" in waits(made)["tiny"]


@pytest.mark.parametrize(
    ("agents", "request_", "said"),
    [
        ([], pending("x"), "pool 'gpus' has no agent that takes work: start or enable one"),
        (
            [agent("a", is_accepting=False)],
            pending("x"),
            "pool 'gpus' has no agent that takes work (a take no work at present): "
            "start or enable one",
        ),
        (
            [agent("a", 8), agent("b", 8)],
            pending("x", 12),
            "12 slots cannot be split over whole agents of one size in pool 'gpus', whose agents "
            "have 2 x 8 slots: ask for at most 8, or for a multiple of one of these sizes",
        ),
        (
            [agent("a", 8), agent("b", 8)],
            pending("x", 16, is_single_node=True),
            "needs 16 slots on one agent, and the largest of pool 'gpus' has 8: ask for at most "
            "8, or turn resources.is_single_node off",
        ),
        (
            [agent("a")],
            pending("x", excluded_agents=frozenset({"a"})),
            "log policies exclude every agent of pool 'gpus' (a) for this task: repair or "
            "replace them, or start a new trial",
        ),
        (
            [agent("a", max_zero_slot_tasks=0)],
            pending("x", 0),
            "pool 'gpus' takes no tasks without slots: raise its max_aux_containers_per_agent",
        ),
        (
            [agent("a", 4, free=2), agent("b", 4, free=2)],
            pending("x", 3),
            "is next; waits for 3 slots, of which 4 are free now, but at most 2 on one agent",
        ),
        (
            [agent("a", 4, free=3), agent("b", 4), agent("c", 4, free=1)],
            pending("x", 8),
            "is next; waits for 8 slots, of which 8 are free now, but not on agents that are "
            "wholly free and equally large",
        ),
    ],
)
def test_who_waits_is_told_why_in_words(agents, request_, said) -> None:
    made = plan(view(agents, [request_]))
    assert made.starts == ()
    assert waits(made) == {"x": said}


def test_at_most_ten_of_those_ahead_are_named_nearest_first() -> None:
    requests = [pending(f"r{i:02}", 4, after_s=i) for i in range(15)]
    made = plan(view([agent("a", 4, free=0)], requests))
    assert made.waits[14].ahead == tuple(f"r{i:02}" for i in range(13, 3, -1))


@st.composite
def views(draw) -> PoolView:
    agents = []
    for name in draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)):
        slots = draw(st.integers(0, 4))
        free = draw(st.lists(st.integers(0, slots - 1), unique=True)) if slots else []
        agents.append(
            agent(
                name,
                slots,
                is_accepting=draw(st.booleans()) or draw(st.booleans()),
                zero_slot_tasks=draw(st.integers(0, 2)),
                max_zero_slot_tasks=2,
            )
        )
        agents[-1] = msgspec.structs.replace(agents[-1], free_slots=tuple(free))
    requests = [
        pending(
            name,
            draw(st.integers(0, 9)),
            after_s=draw(st.integers(0, 3)),
            is_single_node=draw(st.booleans()),
            excluded_agents=draw(st.frozensets(st.sampled_from("abc"), max_size=1)),
        )
        for name in draw(st.lists(st.sampled_from("stuvwxyz"), unique=True, max_size=8))
    ]
    return view(agents, requests)


@pytest.mark.slow
@given(views())
@settings(max_examples=50, deadline=None)
def test_a_plan_never_gives_a_slot_twice_or_one_that_is_not_free(pool) -> None:
    made = plan(pool)
    free = {a.id: set(a.free_slots) for a in pool.agents}
    aux = {a.id: a.max_zero_slot_tasks - a.zero_slot_tasks for a in pool.agents}
    wanted = {r.allocation_id: r for r in pool.pending}
    shut = {a.id for a in pool.agents if not a.is_accepting}
    for start in made.starts:
        request = wanted[start.allocation_id]
        assert sum(len(slots) for _, slots in start.placement) == request.slots
        assert [a for a, _ in start.placement] == sorted({a for a, _ in start.placement})
        assert len({len(slots) for _, slots in start.placement}) == 1
        for agent_id, slots in start.placement:
            assert agent_id not in shut | request.excluded_agents
            assert set(slots) <= free[agent_id]
            free[agent_id] -= set(slots)
            aux[agent_id] -= not slots
            assert aux[agent_id] >= 0 or slots
        assert len(start.placement) == 1 or not request.is_single_node
    decided = [*started(made), *waits(made)]
    assert sorted(decided) == sorted(wanted)
    assert made.preemptions == ()


@pytest.mark.slow
@given(views())
@settings(max_examples=50, deadline=None)
def test_nobody_who_could_be_held_is_overtaken(pool) -> None:
    made = plan(pool)
    order = {r.allocation_id: (r.submitted_at, r.allocation_id) for r in pool.pending}
    held_back = [
        order[r.allocation_id]
        for r in pool.pending
        if r.slots > 0
        and r.allocation_id in waits(made)
        and fits_when_drained(Demand.of(r), pool.agents)
    ]
    slots = {r.allocation_id: r.slots for r in pool.pending}
    began = [order[s] for s in started(made) if slots[s] > 0]
    assert not held_back or all(b < min(held_back) for b in began)


@pytest.mark.slow
@given(views(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_the_order_of_a_views_parts_never_changes_the_plan(pool, random) -> None:
    agents, requests = list(pool.agents), list(pool.pending)
    random.shuffle(agents)
    random.shuffle(requests)
    agents = [
        msgspec.structs.replace(
            a, free_slots=tuple(random.sample(a.free_slots, len(a.free_slots)))
        )
        for a in agents
    ]
    assert plan(view(agents, requests)) == plan(pool)


def test_ten_thousand_waiting_requests_are_each_told_why() -> None:
    agents = [agent(f"a{i:03}", 8, free=0) for i in range(200)]
    requests = [pending(f"r{i:05}", 1 + i % 8, after_s=i) for i in range(10_000)]
    made = plan(view(agents, requests))
    assert len(made.waits) == 10_000

"""What holds a waiting request, told from the decision that left it waiting."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from tests.domain.builders import T0, agent, holding, pending

from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import PoolView, Rules
from determined_master.domain.schedule.why import (
    MAX_AHEAD,
    MAX_NEXT,
    Ahead,
    Free,
    Next,
    Why,
    explain,
    smaller,
)


def view(agents, requests, running=(), **rules) -> PoolView:
    return PoolView(
        pool="gpus",
        agents=tuple(agents),
        pending=tuple(requests),
        running=tuple(running),
        now=T0 + timedelta(seconds=60),
        rules=Rules(**rules),
    )


def told(pool: PoolView, id: str, **more) -> Why:
    why = explain(pool, plan(pool), id, **more)
    assert why is not None
    return why


def test_it_shows_needed_and_free_slots_and_their_agents() -> None:
    agents = [
        agent("a", 4, free=1),
        agent("b", 4, free=2),
        agent("full", 4, free=0),
        agent("shut", 4, is_accepting=False),
        agent("banned", 4),
    ]
    request = pending("x", 4, after_s=7, excluded_agents=frozenset({"banned"}))
    why = told(view(agents, [request]), "x")
    assert (why.needs_slots, why.is_single_node, why.waits_since) == (
        4,
        False,
        T0 + timedelta(seconds=7),
    )
    assert (why.free_slots, why.largest_hole) == (3, 2)
    assert why.free == (Free("b", 2, 4), Free("a", 1, 4))
    assert (why.pool, why.job_id, why.code) == ("gpus", "job of x", "full")
    assert why.reason == "waits for 4 slots, of which 3 are free now"
    assert why.decided_at == T0 + timedelta(seconds=60)


def test_those_ahead_are_of_its_kind_the_nearest_first() -> None:
    requests = [
        pending("first", 4, priority=1),
        pending("second", 3, priority=10),
        pending("third", 2, priority=20),
        pending("huge", 64, priority=1),
        pending("aux", 0, priority=1),
        pending("behind", 2, priority=50),
    ]
    full = agent("a", 4, free=0, zero_slot_tasks=1, max_zero_slot_tasks=1)
    why = told(view([full], requests), "third")
    assert why.ahead_count == 2
    assert why.ahead == (
        Ahead("second", "job of second", 3, 10),
        Ahead("first", "job of first", 4, 1),
    )
    assert told(view([full], requests), "aux").ahead_count == 0


def test_a_long_line_is_counted_and_its_end_is_named() -> None:
    requests = [pending(f"r{n:02}", 1, after_s=n) for n in range(30)]
    why = told(view([agent("a", 4, free=0)], requests), "r29")
    assert why.ahead_count == 29
    assert [a.allocation_id for a in why.ahead] == [f"r{n}" for n in range(28, 28 - MAX_AHEAD, -1)]


def test_exiting_tasks_free_slots_first_then_the_soonest_end_then_the_oldest() -> None:
    running = [
        holding("old", ("a", 1), started_at=T0),
        holding("young", ("a", 1), started_at=T0 + timedelta(seconds=9)),
        holding("late", ("b", 1)),
        holding("soon", ("b", 1)),
        holding("leaves", ("b", 1), ("a", 1), is_leaving=True),
        holding("gone", ("a", 1), is_gone=True),
        holding("aux", ("a", 0)),
        holding("oldest", ("b", 1), started_at=T0 - timedelta(seconds=1)),
    ]
    ends = {"late": T0 + timedelta(hours=2), "soon": T0 + timedelta(hours=1)}
    pool = view([agent("a", 4, free=0), agent("b", 4, free=0)], [pending("x", 2)], running)
    why = told(pool, "x", ends=ends)
    assert [n.allocation_id for n in why.next] == ["leaves", "soon", "late", "oldest", "old"]
    assert len(why.next) == MAX_NEXT
    assert why.next[0] == Next("leaves", "job of leaves", 2, ("a", "b"), True, None)
    assert why.next[1].about_at == ends["soon"]


@pytest.mark.parametrize(
    ("slots", "agents", "fields", "rules", "largest"),
    [
        (4, [agent("a", 4, free=3), agent("b", 4, free=1)], {}, {}, 3),
        (16, [agent("a", 4), agent("b", 4), agent("c", 4, free=1)], {}, {}, 8),
        (16, [agent("a", 4), agent("b", 4)], {"is_single_node": True}, {}, 4),
        (4, [agent("a", 4, free=0)], {}, {}, None),
        (1, [agent("a", 4, free=0)], {}, {}, None),
        (4, [agent("a", 4), agent("b", 4)], {"excluded_agents": frozenset("ab")}, {}, None),
    ],
    ids=["a hole", "whole agents", "one agent", "nothing free", "already least", "excluded"],
)
def test_the_largest_smaller_ask_that_would_have_started(
    slots, agents, fields, rules, largest
) -> None:
    request = pending("x", slots, **fields)
    assert smaller(view(agents, [request], **rules), request) == largest


def test_a_smaller_ask_keeps_its_place_in_the_queue() -> None:
    agents = [agent("a", 4, free=2)]
    queue = [pending("x", 4), pending("y", 4, priority=60)]
    pool = msgspec.structs.replace(view(agents, queue), is_sorted=True)
    assert told(pool, "x").smaller == 2


def test_a_smaller_ask_is_worth_nothing_behind_somebody_more_urgent() -> None:
    requests = [pending("next", 4, priority=1), pending("x", 2)]
    pool = view([agent("a", 4, free=1)], requests)
    assert told(pool, "x").smaller is None
    alone = view([agent("a", 4, free=1)], requests[1:])
    assert told(alone, "x").smaller == 1
    assert told(alone, "x", with_smaller=False).smaller is None


def test_started_and_unknown_requests_have_no_blockers() -> None:
    pool = view([agent("a", 4)], [pending("starts", 1), pending("waits", 4)])
    made = plan(pool)
    assert explain(pool, made, "starts") is None
    assert explain(pool, made, "nobody") is None
    assert [wait.allocation_id for wait in made.waits] == ["waits"]


@pytest.mark.parametrize("rules", [{"type": "kubernetes"}, {"max_slots_per_pod": 4}])
@pytest.mark.parametrize(
    ("agents", "request_"),
    [
        ([], pending("x", 1)),
        ([agent("a", 0)], pending("x", 1)),
        ([agent("a", 4)], pending("x", 8)),
        ([agent("a", 4, is_accepting=False)], pending("x", 1)),
        ([agent("a", 4, free=1)], pending("x", 2)),
        ([agent("a", 4)], pending("x", 1, excluded_agents=frozenset({"a"}))),
    ],
)
def test_agents_of_kubernetes_are_nodes(agents, request_, rules) -> None:
    reason = told(view(agents, [request_], **rules), "x").reason
    assert "agent" not in reason

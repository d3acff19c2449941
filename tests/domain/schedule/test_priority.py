"""The priority scheduler."""

from datetime import timedelta
from decimal import Decimal
from typing import Literal

import pytest
from tests.covers import covers
from tests.domain.builders import T0, agent, holding, pending

from determined_master.domain.schedule.ordering import between, rank
from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.reasons import reason
from determined_master.domain.schedule.view import PoolView, Rules

PREEMPTS = Rules(preemption=True)


def view(agents, requests, running=(), rules=None, after_s=0.0) -> PoolView:
    return PoolView(
        pool="gpus",
        agents=tuple(agents),
        pending=tuple(requests),
        running=tuple(running),
        now=T0 + timedelta(seconds=after_s),
        rules=rules or Rules(),
    )


def started(made: Plan) -> list[str]:
    return [s.allocation_id for s in made.starts]


def asked(made: Plan) -> list[str]:
    return sorted(p.allocation_id for p in made.preemptions)


def codes(made: Plan) -> dict[str, str]:
    return {w.allocation_id: w.code for w in made.waits}


def said(pool: PoolView, made: Plan) -> dict[str, str]:
    requests = {r.allocation_id: r for r in pool.pending}
    return {w.allocation_id: reason(pool, requests[w.allocation_id], w) for w in made.waits}


@covers("scheduling-and-provisioning b.3.order")
def test_requests_start_by_priority_then_position_then_age() -> None:
    requests = [
        pending("late", after_s=9),
        pending("early"),
        pending("urgent", after_s=20, priority=1),
        pending("moved", after_s=30, position=Decimal(5)),
    ]
    made = plan(view([agent("a", 8)], requests))
    assert started(made) == ["urgent", "moved", "early", "late"]


@covers("scheduling-and-provisioning b.3.pass_equals")
def test_equals_pass_one_that_does_not_fit() -> None:
    requests = [pending("big", 4), pending("small", 1, after_s=1)]
    made = plan(view([agent("a", 4, free=2)], requests))
    assert started(made) == ["small"]
    assert codes(made) == {"big": "full"}


@covers("scheduling-and-provisioning b.3.no_backfill")
def test_without_preemption_nothing_less_urgent_starts_while_somebody_waits() -> None:
    requests = [pending("big", 4, priority=10), pending("small", 1, priority=50)]
    pool = view([agent("a", 4, free=2)], requests)
    made = plan(pool)
    assert started(made) == []
    assert "big is next" in said(pool, made)["small"]
    assert "preemption is off" in said(pool, made)["small"]


@covers("scheduling-and-provisioning b.3.backfill b.3.no_backfill_fixed")
def test_with_preemption_what_can_be_asked_to_leave_backfills() -> None:
    requests = [
        pending("big", 4, priority=10),
        pending("notebook", 1, priority=50, is_preemptible=False),
        pending("trial", 1, priority=60),
    ]
    other = holding("other", ("a", 2), priority=1)
    made = plan(view([agent("a", 4, free=2)], requests, [other], PREEMPTS))
    assert started(made) == ["trial"]
    assert made.starts[0].is_backfill
    assert codes(made) == {"big": "full", "notebook": "behind"}


def test_one_that_these_agents_could_never_hold_holds_nobody_back() -> None:
    requests = [pending("huge", 64, priority=1), pending("small", 1)]
    made = plan(view([agent("a", 4)], requests))
    assert started(made) == ["small"]
    assert codes(made) == {"huge": "impossible"}


@covers("scheduling-and-provisioning b.4.until b.3.kept")
def test_the_least_urgent_are_asked_to_leave_and_no_more_than_needed() -> None:
    running = [
        holding("urgent", ("a", 2), priority=5),
        holding("mid", ("a", 2), priority=40),
        holding("low", ("b", 2), priority=60),
        holding("lower", ("b", 2), priority=61),
    ]
    agents = [agent("a", 4, free=0), agent("b", 4, free=0)]
    made = plan(view(agents, [pending("x", 2, priority=10)], running, PREEMPTS))
    assert asked(made) == ["lower"]
    assert codes(made) == {"x": "leaving"}
    made = plan(view(agents, [pending("x", 4, priority=10)], running, PREEMPTS))
    assert asked(made) == ["low", "lower"]


@covers("scheduling-and-provisioning b.4.in_vain")
def test_nobody_is_asked_to_leave_in_vain() -> None:
    running = [
        holding("keeps", ("a", 1), is_preemptible=False, priority=60),
        holding("low", ("a", 3), priority=60),
    ]
    made = plan(view([agent("a", 4, free=0)], [pending("x", 4)], running, PREEMPTS))
    assert asked(made) == []
    assert codes(made) == {"x": "full"}


def test_an_equal_is_asked_to_leave_only_if_its_job_is_behind() -> None:
    agents = [agent("a", 4, free=0)]
    running = [holding("run", ("a", 4), after_s=5)]
    assert asked(plan(view(agents, [pending("x", 4)], running, PREEMPTS))) == ["run"]
    assert asked(plan(view(agents, [pending("x", 4, after_s=6)], running, PREEMPTS))) == []
    own = [holding("run", ("a", 4), job_id="J")]
    assert asked(plan(view(agents, [pending("x", 4, job_id="J")], own, PREEMPTS))) == []


@covers("scheduling-and-provisioning b.3.reserve")
def test_slots_of_a_preempted_task_are_reserved_for_its_request() -> None:
    leaving = holding("leaving", ("a", 2), priority=60, is_leaving=True)
    requests = [pending("x", 4, priority=10), pending("backfill", 1, priority=60)]
    made = plan(view([agent("a", 4, free=2)], requests, [leaving], PREEMPTS))
    assert started(made) == []
    assert asked(made) == []
    assert codes(made) == {"x": "leaving", "backfill": "full"}


@covers("scheduling-and-provisioning b.3.kinds")
def test_tasks_without_slots_neither_wait_behind_nor_hold_back() -> None:
    requests = [pending("big", 4, priority=1), pending("tiny", 0)]
    assert started(plan(view([agent("a", 4, free=2)], requests))) == ["tiny"]
    full = agent("a", 4, zero_slot_tasks=1, max_zero_slot_tasks=1)
    pool = view([full], [pending("tiny", 0, priority=1), pending("one")])
    made = plan(pool)
    assert started(made) == ["one"]
    assert "max_aux_containers_per_agent" in said(pool, made)["tiny"]


@covers("scheduling-and-provisioning a.4.max_slots")
def test_max_slots_bounds_a_jobs_tasks_together() -> None:
    requests = [pending(i, 2, job_id="J", max_slots=4, after_s=n) for n, i in enumerate("xyz")]
    made = plan(view([agent("a", 8)], requests))
    assert started(made) == ["x", "y"]
    assert codes(made) == {"z": "limit"}


@covers("scheduling-and-provisioning b.4.last_first b.4.own_priority")
def test_among_equals_the_last_of_the_queue_is_asked_and_nobody_who_is_ahead() -> None:
    running = [
        holding("first", ("a", 2)),
        holding("moved up", ("a", 2), after_s=9, position=Decimal(5)),
        holding("later", ("b", 2), after_s=7),
        holding("last", ("b", 2), after_s=8),
    ]
    agents = [agent("a", 4, free=0), agent("b", 4, free=0)]
    made = plan(view(agents, [pending("x", 2, after_s=5)], running, PREEMPTS))
    assert asked(made) == ["last"]
    made = plan(view(agents, [pending("x", 4, after_s=5)], running, PREEMPTS))
    assert asked(made) == ["last", "later"]
    made = plan(view(agents, [pending("x", 2, after_s=20)], running, PREEMPTS))
    assert asked(made) == []


@covers("scheduling-and-provisioning a.4.no_effect b.4.not_able")
def test_unpreemptible_exiting_and_other_kinds_of_tasks_are_not_preempted() -> None:
    running = [
        holding("fixed", ("a", 2), priority=99, is_preemptible=False),
        holding("leaving", ("b", 2), priority=98, is_leaving=True),
        holding("aux", ("c", 0), priority=97),
        holding("able", ("c", 4), priority=60),
    ]
    agents = [agent("a", 2, free=0), agent("b", 2, free=0), agent("c", 4, free=0)]
    made = plan(view(agents, [pending("x", 4, priority=1)], running, PREEMPTS))
    assert asked(made) == ["able"]


@covers("scheduling-and-provisioning b.3.kinds")
def test_a_task_without_slots_asks_one_of_its_kind_to_leave() -> None:
    running = [
        holding("aux", ("a", 0), priority=60),
        holding("kept", ("a", 0), priority=1),
        holding("slots", ("a", 4), priority=99),
    ]
    full = agent("a", 4, free=0, zero_slot_tasks=2, max_zero_slot_tasks=2)
    urgent = pending("x", 0, priority=10)
    assert asked(plan(view([full], [urgent], running))) == []
    made = plan(view([full], [urgent], running, PREEMPTS))
    assert asked(made) == ["aux"]
    assert codes(made) == {"x": "leaving"}
    assert made.preemptions[0].for_job == "job of x"


@covers("scheduling-and-provisioning b.3.after_preemption b.3.kept")
def test_beside_a_preemption_others_start_but_not_on_what_is_kept() -> None:
    running = [holding("low", ("a", 3), priority=99), holding("other", ("b", 3), priority=1)]
    agents = [agent("a", 4, free=1), agent("b", 4, free=1)]
    requests = [
        pending("x", 4, priority=10),
        pending("small", 1, priority=50),
        pending("smaller", 1, priority=60),
    ]
    made = plan(view(agents, requests, running, PREEMPTS))
    assert asked(made) == ["low"]
    assert [(s.allocation_id, s.placement) for s in made.starts] == [("small", (("b", (3,)),))]
    assert codes(made) == {"x": "leaving", "smaller": "full"}


@covers("scheduling-and-provisioning a.4.own_terms")
def test_a_weight_means_nothing_where_priorities_decide_and_the_other_way_round() -> None:
    def served(type: Literal["priority", "fair_share"], **later: float) -> tuple[int, int]:
        early = [pending(f"e{n}", job_id="E") for n in range(4)]
        late = [pending(f"l{n}", job_id="L", after_s=1, **later) for n in range(4)]
        made = plan(view([agent("a", 4)], [*early, *late], rules=Rules(type=type)))
        ids = started(made)
        return sum(id[0] == "e" for id in ids), sum(id[0] == "l" for id in ids)

    assert served("priority", weight=3.0) == served("priority") == (4, 0)
    assert served("priority", priority=1) == (0, 4)
    assert served("fair_share", priority=1) == served("fair_share") == (2, 2)
    assert served("fair_share", weight=3.0) == (1, 3)


def test_nobody_leaves_a_slot_that_would_not_come_back() -> None:
    running = [holding("on shut", ("a", 1), priority=99), holding("able", ("a", 2), priority=60)]
    shut = agent("a", 2, free=0, shut=(("on shut", 1),))
    made = plan(view([shut], [pending("x", 1, priority=1)], running, PREEMPTS))
    assert asked(made) == ["able"]
    made = plan(view([shut], [pending("x", 3, priority=1)], running, PREEMPTS))
    assert codes(made) == {"x": "impossible"}
    half = holding("half", ("a", 2), priority=99)
    part = agent("a", 1, free=0, shut=(("half", 1),))
    made = plan(view([part], [pending("x", 1, priority=1)], [half], PREEMPTS))
    assert asked(made) == ["half"]


def test_a_gang_that_was_passed_for_too_long_has_agents_drained_for_it() -> None:
    agents = [agent("a", 4, free=1), agent("b", 4, free=3), agent("c", 4, free=0)]
    running = [
        holding("ra", ("a", 3), after_s=-9, is_preemptible=False),
        holding("rb", ("b", 1), is_preemptible=False),
        holding("rc", ("c", 4), is_preemptible=False),
    ]
    requests = [pending("gang", 8, after_s=1), pending("small", 1, after_s=100)]
    made = plan(view(agents, requests, running, after_s=600))
    assert started(made) == ["small"]
    pool = view(agents, requests, running, after_s=601)
    made = plan(pool)
    assert codes(made) == {"gang": "kept", "small": "full"}
    assert made.waits[0].agents == ("a", "b")
    assert "nothing new starts on a, b" in said(pool, made)["gang"]


def test_a_search_that_was_submitted_earlier_does_not_pass_a_gang_forever() -> None:
    requests = [
        pending("gang", 2, after_s=50),
        pending("trial", 1, submitted_at=T0, requested_at=T0 + timedelta(seconds=60)),
    ]
    made = plan(view([agent("a", 2)], requests, after_s=600))
    assert started(made) == ["trial"]
    made = plan(view([agent("a", 2)], requests, after_s=650))
    assert started(made) == ["gang"]


def test_a_request_that_never_fits_moves_no_other_ahead() -> None:
    """The gang began to wait before `huge` and after `first`: it passes the one, not the other."""
    requests = [
        pending("huge", 64, submitted_at=T0, requested_at=T0 + timedelta(seconds=60)),
        pending("first", 1, after_s=40),
        pending("gang", 2, after_s=50),
    ]
    agents = [agent("a", 2, free=1)]
    for known in (requests, requests[1:]):
        made = plan(view(agents, known, [holding("held", ("a", 1))], after_s=900))
        assert started(made) == ["first"]


def test_a_gang_is_placed_in_the_order_of_agent_ids() -> None:
    made = plan(view([agent("b", 2), agent("a", 2)], [pending("x", 4)]))
    assert made.starts[0].placement == (("a", (0, 1)), ("b", (0, 1)))


@pytest.mark.parametrize(
    ("agents", "request_", "words"),
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
            "have 2 x 8 slots: ask for 8 or 16, or any other number up to 8 or multiple of one "
            "of these sizes",
        ),
        (
            [agent("a", 8), agent("b", 8)],
            pending("x", 16, is_single_node=True),
            "needs 16 slots on one agent, and the largest of pool 'gpus' has 8: ask for at most "
            "8, or add a larger agent; experiments and generic tasks can turn "
            "resources.is_single_node off",
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
            "waits for 3 slots, of which 4 are free now, but at most 2 on one agent",
        ),
        (
            [agent("a", 4, free=3), agent("b", 4), agent("c", 4, free=1)],
            pending("x", 8),
            "waits for 8 slots, of which 8 are free now, but not on agents that are wholly free "
            "and equally large",
        ),
    ],
)
def test_a_waiting_job_shows_the_reason_in_words(agents, request_, words) -> None:
    pool = view(agents, [request_])
    made = plan(pool)
    assert made.starts == ()
    assert said(pool, made) == {"x": words}


def test_ten_thousand_waiting_requests_each_get_a_reason() -> None:
    agents = [agent(f"a{i:03}", 8, free=0) for i in range(200)]
    requests = [pending(f"r{i:05}", 1 + i % 8, after_s=i) for i in range(10_000)]
    assert len(plan(view(agents, requests)).waits) == 10_000


@covers("scheduling-and-provisioning a.3.between")
def test_there_is_room_between_any_two_positions() -> None:
    ahead, behind = Decimal(1), Decimal(2)
    for _ in range(300):
        behind = between(ahead, behind)
    assert ahead < behind < 2
    assert between(None, 7) < 7 < between(7, None)
    with pytest.raises(ValueError, match="no room"):
        between(3, 3)
    one, other = pending("a", position=between(None, 7)), pending("b")
    assert rank(one) < rank(other)


def test_a_job_preempts_no_more_than_its_max_slots_can_use() -> None:
    """Four gangs of a job that may use four slots: the slots of two, and no more, are freed."""
    running = [holding(name, (name, 2), priority=90) for name in "abcd"]
    gangs = [pending(f"g{n}", 2, job_id="J", max_slots=4, priority=10) for n in range(4)]
    agents = [agent(name, 2, free=0) for name in "abcd"]
    made = plan(view(agents, gangs, running, PREEMPTS))
    assert len(asked(made)) == 2
    assert codes(made) == {"g0": "leaving", "g1": "leaving", "g2": "limit", "g3": "limit"}

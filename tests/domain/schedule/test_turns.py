"""Whom one plan has started, the next does not ask to leave."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.domain.builders import T0, agent, holding, pending
from tests.domain.schedule.test_properties import views

from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import PoolView, RequestView, Rules, RunningView

PREEMPTS = Rules(preemption=True)


def view(agents, requests, running=(), *, after_s=0.0) -> PoolView:
    return PoolView(
        pool="gpus",
        agents=tuple(agents),
        pending=tuple(requests),
        running=tuple(running),
        now=T0 + timedelta(seconds=after_s),
        rules=PREEMPTS,
    )


def carried_out(pool: PoolView, made: Plan) -> PoolView:
    """The pool once a plan that asks nobody to leave is carried out."""
    placed = {s.allocation_id: dict(s.placement) for s in made.starts}
    agents = []
    for one in pool.agents:
        taken = [slots[one.id] for slots in placed.values() if one.id in slots]
        agents.append(
            replace(
                one,
                free_slots=tuple(s for s in one.free_slots if not any(s in g for g in taken)),
                zero_slot_tasks=one.zero_slot_tasks + taken.count(()),
            )
        )
    requests = {r.allocation_id: r for r in pool.pending}
    runs = [
        _started(requests.pop(s.allocation_id), placed[s.allocation_id], s.is_long_awaited)
        for s in made.starts
    ]
    return replace(
        pool,
        agents=tuple(agents),
        pending=tuple(requests.values()),
        running=(*pool.running, *runs),
    )


def _started(request: RequestView, held: dict, is_long_awaited: bool) -> RunningView:
    return RunningView(
        allocation_id=request.allocation_id,
        job_id=request.job_id,
        slots=request.slots,
        submitted_at=request.submitted_at,
        is_preemptible=request.is_preemptible,
        is_long_awaited=is_long_awaited,
        started_at=T0,
        position=request.position,
        priority=request.priority,
        max_slots=request.max_slots,
        slots_by_agent=tuple((agent_id, len(slots)) for agent_id, slots in held.items()),
    )


def started(made: Plan) -> list[str]:
    return [s.allocation_id for s in made.starts]


def asked(made: Plan) -> list[str]:
    return sorted(p.allocation_id for p in made.preemptions)


def test_a_started_aged_request_is_not_preempted_for_those_it_passed() -> None:
    """The search's next trial came later than the gang, and its job is ahead of the gang's."""
    trial = pending("trial", 2, submitted_at=T0, requested_at=T0 + timedelta(seconds=60))
    pool = view([agent("a", 2)], [pending("gang", 2, after_s=50), trial], after_s=650)
    made = plan(pool)
    assert started(made) == ["gang"]
    again = plan(carried_out(pool, made))
    assert started(again) == asked(again) == []


def test_trials_that_waited_too_long_and_a_gang_that_came_later_do_not_take_turns() -> None:
    """As it was seen: trials of two slots, one at a time, a gang of all, and a task of one."""
    gang = pending("gang", 4, submitted_at=T0, requested_at=T0 + timedelta(seconds=690))
    trials = [
        pending(f"trial{n}", 2, after_s=10, requested_at=T0, job_id="search", max_slots=3)
        for n in range(3)
    ]
    single = pending("single", 1, after_s=20)
    pool = view([agent("a", 2), agent("b", 2)], [gang, *trials, single], after_s=700)
    made = plan(pool)
    assert started(made) == ["trial0", "single"]
    again = plan(carried_out(pool, made))
    assert started(again) == asked(again) == []


def test_a_gang_that_passed_nobody_gives_way_to_an_equal_whose_job_is_ahead() -> None:
    pool = view([agent("a", 2)], [pending("gang", 2, after_s=50)], after_s=650)
    made = plan(pool)
    trial = pending("trial", 2, submitted_at=T0, requested_at=T0 + timedelta(seconds=650))
    assert asked(plan(replace(carried_out(pool, made), pending=(trial,)))) == ["gang"]


def test_an_aged_request_is_preempted_for_higher_priority_after_its_equals() -> None:
    running = [
        holding("gang", ("a", 2), after_s=50, is_long_awaited=True),
        holding("equal", ("b", 2), after_s=40),
    ]
    agents = [agent("a", 2, free=0), agent("b", 2, free=0)]
    urgent = [pending(f"urgent{n}", 2, after_s=60 + n, priority=10) for n in range(2)]
    assert asked(plan(view(agents, urgent[:1], running))) == ["equal"]
    assert asked(plan(view(agents, urgent, running))) == ["equal", "gang"]


QUEUES = st.builds(Rules, preemption=st.just(True), fitting=st.sampled_from(["best", "worst"]))


@pytest.mark.slow
@given(views(QUEUES), st.booleans())
@settings(max_examples=250, deadline=None)
def test_a_request_started_by_one_plan_is_not_preempted_by_the_next(
    some: PoolView, are_equals
) -> None:
    """Where nobody leaves: what is promised of slots in use may move as others start."""
    pool = replace(
        some,
        pending=tuple(replace(r, priority=42) if are_equals else r for r in some.pending),
        running=tuple(replace(r, is_leaving=False) for r in some.running),
    )
    made = plan(pool)
    assume(made.starts and not made.preemptions)
    again = plan(carried_out(pool, made))
    assert not set(asked(again)) & set(started(made))


def returning(id: str, *held: tuple[str, int], **fields) -> RunningView:
    """A task that the scheduler has preempted, and that will ask again when it has exited."""
    return holding(id, *held, is_leaving=True, is_returning=True, **fields)


def waits(made: Plan) -> dict[str, str]:
    return {w.allocation_id: w.code for w in made.waits}


def test_a_free_slot_is_kept_for_a_preempted_task_ahead_of_those_that_wait() -> None:
    """As it was seen: one left for a gang, one behind it started, and left when it returned."""
    leaving = [
        returning("ahead", ("a", 1), after_s=10),
        returning("behind1", ("a", 1), after_s=20),
    ]
    gang = pending("gang", 2)
    behind = pending("behind2", 1, after_s=20, job_id="job of behind1")
    pool = view([agent("a", 3, free=1)], [gang, behind], leaving)
    made = plan(pool)
    assert (started(made), asked(made)) == ([], [])
    assert waits(made) == {"gang": "leaving", "behind2": "full"}
    ahead = pending("ahead", 1, after_s=10)
    made = plan(view([agent("a", 3, free=2)], [gang, ahead, behind], leaving[1:]))
    assert (started(made), asked(made)) == (["gang"], [])
    assert waits(made) == {"ahead": "leaving", "behind2": "full"}


def test_a_slot_is_kept_for_a_preempted_task_until_its_next_request() -> None:
    gone = replace(returning("ahead", after_s=10), slots=1, is_gone=True)
    pool = view([agent("a", 1)], [pending("behind", 1, after_s=20)], [gone])
    assert started(plan(pool)) == []
    assert started(plan(replace(pool, running=()))) == ["behind"]


def test_a_request_ahead_of_a_preempted_task_takes_the_free_slot() -> None:
    leaving = returning("behind", ("a", 1), after_s=20)
    pool = view([agent("a", 2, free=1)], [pending("ahead", 1, after_s=10)], [leaving])
    assert started(plan(pool)) == ["ahead"]


def test_no_slot_is_kept_for_a_task_that_does_not_return() -> None:
    stopped = holding("stopped", ("a", 1), after_s=10, is_leaving=True)
    requests = [pending("gang", 2), pending("next", 1, after_s=20)]
    pool = view([agent("a", 2, free=0), agent("b", 1)], requests, [stopped])
    assert started(plan(pool)) == ["next"]


def test_a_preempted_task_that_fits_nowhere_keeps_no_slot_and_nobody_leaves_for_it() -> None:
    leaving = returning("ahead", ("a", 2), after_s=10)
    other = holding("other", ("b", 1), after_s=30)
    gang, behind = pending("gang", 2), pending("behind", 1, after_s=20)
    pool = view([agent("a", 2, free=0), agent("b", 2, free=1)], [gang, behind], [leaving, other])
    made = plan(pool)
    assert (started(made), asked(made)) == (["behind"], [])


def test_a_slot_is_kept_only_on_agents_that_the_preempted_task_can_use() -> None:
    leaving = returning("ahead", ("a", 1), after_s=10, excluded_agents=frozenset({"b"}))
    agents = [agent("a", 1, free=0), agent("b", 1)]
    pool = view(agents, [pending("gang", 1), pending("behind", 1, after_s=20)], [leaving])
    assert sorted(started(plan(pool))) == ["gang"]
    pool = view([*agents, agent("c", 1)], [pending("behind", 1, after_s=20)], [leaving])
    assert dict(plan(pool).starts[0].placement).keys() == {"b"}


def test_the_limit_of_a_job_counts_a_preempted_task_once() -> None:
    """While it leaves, its job has one task more than its limit leaves room for."""
    leaving = returning("ahead", ("a", 1), job_id="search", max_slots=1)
    second = pending("second", 1, after_s=10, job_id="search", max_slots=1)
    other = pending("other", 1, after_s=20)
    pool = view([agent("a", 2, free=1)], [second, other], [leaving])
    made = plan(pool)
    assert waits(made) == {"second": "limit"}
    assert started(made) == ["other"], "its own slot is free for it"
    gone = replace(leaving, is_gone=True, slots_by_agent=())
    made = plan(view([agent("a", 2)], [second, other], [gone]))
    assert (started(made), waits(made)) == (["other"], {"second": "limit"})


def test_slots_are_kept_where_the_preempted_task_is_whatever_starts_elsewhere() -> None:
    """As it was seen: a free slot was kept at one plan, and a slot of its own agent at the next.

    The gang then preempted a task that the plan before had started, again and again.
    """
    rules = replace(PREEMPTS, fitting="worst")
    leaving = [
        returning("ahead", ("a", 1), after_s=10, priority=10),
        holding("stopped", ("b", 1), is_leaving=True, priority=10),
        holding("first", ("a", 1), priority=10),
        holding("second", ("b", 2), priority=10),
    ]
    gang = pending("gang", 2, after_s=20, priority=10)
    behind = pending("behind", 1, priority=42)
    agents = [agent("a", 2, free=0), agent("b", 4, free=1)]
    made = plan(replace(view(agents, [gang, behind], leaving), rules=rules))
    assert (started(made), asked(made)) == ([], [])
    assert waits(made) == {"gang": "leaving", "behind": "full"}

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

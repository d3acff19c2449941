"""Workloads: recordings that become tasks, tasks at random, and their simulation."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.domain.builders import T0, agent, holding, pending

from determined_master.domain.schedule.plan import Plan, Preempt
from determined_master.domain.schedule.simulation.simulate import (
    SimOutcome,
    SimResult,
    SimTask,
    agents_of,
    simulate,
)
from determined_master.domain.schedule.simulation.workload import (
    LEAVE_S,
    Recorded,
    generate,
    record_of,
)
from determined_master.domain.schedule.view import AgentView, PoolView, Rules

RULES = Rules(preemption=True)


def at(after_s: float, *agents: AgentView, **fields: Any) -> PoolView:
    return PoolView(
        pool="gpus",
        agents=agents,
        now=T0 + timedelta(seconds=after_s),
        rules=RULES,
        **{"pending": (), **fields},
    )


def recorded(*decisions: tuple[PoolView, Plan]) -> Recorded:
    found = record_of(decisions)
    assert found is not None
    return found


def test_an_empty_recording_is_no_workload() -> None:
    assert record_of([]) is None


def test_a_task_of_a_recording_ran_while_it_had_slots_and_waited_while_it_had_none() -> None:
    """Its second allocation continues it: `t.1` and `t.2` are one task."""
    four, idle = agent("a", 4), agent("b", 2, free=1, zero_slot_tasks=1, is_accepting=False)
    found = recorded(
        (at(0, four, idle, pending=(pending("t.1", 3),)), Plan()),
        (at(10, four, idle, running=(holding("t.1", ("a", 3)),)), Plan()),
        (
            at(40, four, idle, running=(holding("t.1", ("a", 3), is_leaving=True),)),
            Plan(preemptions=(Preempt("t.1", "reason", "j"),)),
        ),
        (at(45, four, idle, pending=(pending("t.2", 3),)), Plan()),
        (at(50, four, idle, running=(holding("t.2", ("a", 3)),)), Plan()),
        (at(60, four, idle), Plan()),
    )
    [task] = found.tasks
    assert (task.id, task.job_id, task.slots, task.runs_s) == ("t", "job of t.1", 3, 45.0)
    assert found.waited_s == {"t": 15.0}
    assert (found.span_s, found.preemptions, found.unfinished) == (60.0, 1, 0)
    assert found.utilisation == pytest.approx(45 * 3 / (60 * 6))
    assert found.rules == RULES
    assert found.agents == (
        agent("a", 4),
        AgentView(id="b", slots=2, free_slots=(0, 1)),
    )


def test_a_task_keeps_the_fields_of_its_request() -> None:
    wanted = pending(
        "t.1",
        2,
        after_s=3,
        priority=7,
        weight=2.0,
        max_slots=4,
        is_preemptible=False,
        is_single_node=True,
        submitted_at=T0 - timedelta(seconds=9),
    )
    found = recorded(
        (at(0, agent("a")), Plan()),
        (at(5, agent("a"), pending=(wanted,)), Plan()),
        (at(6, agent("a"), running=(holding("t.1", ("a", 2)),)), Plan()),
        (at(8, agent("a"), running=(holding("t.1", ("a", 2)),)), Plan()),
    )
    assert found.tasks == (
        SimTask(
            id="t",
            job_id="job of t.1",
            slots=2,
            arrives_s=3.0,
            submitted_s=-9.0,
            runs_s=2.0,
            priority=7,
            weight=2.0,
            max_slots=4,
            is_preemptible=False,
            is_single_node=True,
            leave_s=LEAVE_S,
        ),
    )
    assert found.unfinished == 1


def test_a_request_from_before_the_recording_arrives_at_its_start() -> None:
    early = pending("t.1", 1, after_s=-100)
    runs = holding("u.1", ("a", 1))
    found = recorded(
        (at(0, agent("a"), pending=(early,)), Plan()),
        (at(4, agent("a"), running=(holding("t.1", ("a", 1)), runs)), Plan()),
        (at(5, agent("a")), Plan()),
    )
    assert {task.id: task.arrives_s for task in found.tasks} == {"t": 0.0, "u": 4.0}
    assert not any(task.is_single_node for task in found.tasks)


def test_a_task_that_never_had_slots_is_no_part_of_the_workload() -> None:
    found = recorded(
        (at(0, agent("a"), pending=(pending("t.1"),)), Plan()),
        (at(9, agent("a"), pending=(pending("t.1"),)), Plan()),
    )
    assert (found.tasks, found.waited_s, found.unfinished) == ((), {}, 1)
    assert found.utilisation == 0.0


def test_a_task_that_has_exited_and_is_expected_again_holds_nothing() -> None:
    gone = holding("t.1", ("a", 2), is_gone=True)
    found = recorded((at(0, agent("a"), running=(gone,)), Plan()), (at(9, agent("a")), Plan()))
    assert (found.tasks, found.utilisation, found.unfinished) == ((), 0.0, 0)


@pytest.mark.parametrize(
    ("allocation", "task"), [("7.a.12", "7.a"), ("7.a", "7.a"), ("plain", "plain"), ("a.", "a.")]
)
def test_an_allocation_belongs_to_the_task_before_its_last_number(
    allocation: str, task: str
) -> None:
    runs = holding(allocation, ("a", 1))
    found = recorded((at(0, agent("a"), running=(runs,)), Plan()), (at(1, agent("a")), Plan()))
    assert [one.id for one in found.tasks] == [task]


def test_the_agents_of_a_recording_are_the_largest_that_were_seen_with_slots() -> None:
    found = recorded(
        (at(0, agent("a", 2), agent("cpu", 0)), Plan()),
        (at(1, agent("a", 4, free=0)), Plan()),
        (at(2, agent("a", 3)), Plan()),
    )
    assert found.agents == (agent("a", 4),)
    nothing = recorded((at(0), Plan()), (at(9), Plan()))
    assert (nothing.utilisation, nothing.agents) == (0.0, ())


def test_generated_jobs_fit_the_cluster_and_repeat_with_their_seed() -> None:
    tasks = generate(400, 8, Random(3))
    assert tasks == generate(400, 8, Random(3))
    assert len(tasks) == 400
    assert len({task.id for task in tasks}) == 400
    assert {task.slots for task in tasks} == {1, 2, 4, 8}
    assert {task.priority for task in tasks} == {42, 20, 60}
    assert all(60 < task.runs_s <= 6 * 3600 for task in tasks)
    arrivals = [task.arrives_s for task in tasks]
    assert arrivals == sorted(arrivals)
    assert arrivals[0] == 0.0
    assert all(task.submitted_s == task.arrives_s for task in tasks)
    assert all(task.leave_s == LEAVE_S for task in tasks)
    jobs: dict[str, set[tuple[int, int]]] = {}
    for task in tasks:
        assert task.id.startswith(f"{task.job_id}.t")
        jobs.setdefault(task.job_id, set()).add((task.slots, task.priority))
    assert all(len(kinds) == 1 for kinds in jobs.values())
    assert max(len([t for t in tasks if t.job_id == job]) for job in jobs) == 16
    assert tasks[0].id == "j1.t0"


def test_generated_load_is_nine_tenths_of_the_slots() -> None:
    tasks = generate(3000, 16, Random(5))
    work = sum(task.slots * task.runs_s for task in tasks)
    assert work / (16 * tasks[-1].arrives_s) == pytest.approx(0.9, rel=0.15)
    share = sum(task.is_preemptible for task in tasks) / len(tasks)
    assert share == pytest.approx(0.85, abs=0.03)


def test_a_cluster_of_one_slot_gets_tasks_of_one_slot() -> None:
    for slots in (0, 1):
        assert {task.slots for task in generate(50, slots, Random(1))} == {1}


def task(id: str, slots: int, arrives_s: float, runs_s: float, **fields: Any) -> SimTask:
    known = {"job_id": f"job of {id}"}
    return SimTask(id=id, slots=slots, arrives_s=arrives_s, runs_s=runs_s, **{**known, **fields})


def outcome(result: SimResult, id: str) -> SimOutcome:
    return next(one for one in result.tasks if one.id == id)


def test_agents_are_named_by_size_and_number() -> None:
    assert agents_of([(2, 4), (1, 0)], 3) == [
        AgentView(id="4x-0000", slots=4, free_slots=(0, 1, 2, 3), max_zero_slot_tasks=3),
        AgentView(id="4x-0001", slots=4, free_slots=(0, 1, 2, 3), max_zero_slot_tasks=3),
        AgentView(id="0x-0000", slots=0, free_slots=(), max_zero_slot_tasks=3),
    ]


def test_a_task_waits_for_the_slots_of_the_one_before_it() -> None:
    result = simulate([task("b", 4, 10, 20), task("a", 4, 0, 30)], agents_of([(1, 4)]), Rules())
    assert [one.id for one in result.tasks] == ["a", "b"]
    assert outcome(result, "a") == SimOutcome("a", "job of a", 4, 0.0, 0.0, 30.0, 0)
    assert outcome(result, "b") == SimOutcome("b", "job of b", 4, 20.0, 30.0, 50.0, 0)
    assert (result.makespan_s, result.utilisation) == (50.0, 1.0)
    assert (result.starts, result.preemptions) == (2, ())


def test_a_preempted_task_leaves_after_its_time_and_continues_where_it_stopped() -> None:
    urgent = task("now", 4, 10, 5, priority=1)
    long = task("long", 4, 0, 100, leave_s=4)
    result = simulate([long, urgent], agents_of([(1, 4)]), RULES)
    assert result.preemptions == ((10.0, "job of long", "job of now"),)
    assert outcome(result, "now") == SimOutcome("now", "job of now", 4, 4.0, 14.0, 19.0, 0)
    # 14 s ran before, 86 s are left after the urgent one.
    assert outcome(result, "long") == SimOutcome("long", "job of long", 4, 5.0, 0.0, 105.0, 1)
    assert (result.makespan_s, result.utilisation, result.starts) == (105.0, 1.0, 3)


def test_a_task_that_ends_while_it_leaves_is_done() -> None:
    urgent = task("now", 4, 10, 5, priority=1)
    short = task("short", 4, 0, 12, leave_s=4)
    result = simulate([short, urgent], agents_of([(1, 4)]), RULES)
    done = outcome(result, "short")
    assert (done.ended_s, done.preempted) == (14.0, 0)


def test_plans_are_at_least_a_tick_apart() -> None:
    waiting = [task("a", 1, 0, 1), task("b", 1, 0.25, 1), task("c", 1, 0.5, 1)]
    result = simulate(waiting, agents_of([(1, 4)]), Rules(), tick_s=10)
    assert [one.started_s for one in result.tasks] == [0.0, 10.0, 10.0]
    assert [one.waited_s for one in result.tasks] == [0.0, 0.0, 0.0]
    assert result.plans == 3


def test_a_simulation_stops_at_its_end_with_tasks_that_run_and_wait() -> None:
    result = simulate(
        [task("a", 4, 0, 100), task("b", 4, 20, 10), task("late", 4, 90, 1)],
        agents_of([(1, 4)]),
        Rules(gang_patience_s=15),
        until_s=50,
    )
    assert outcome(result, "a").ended_s is None
    assert outcome(result, "b").started_s is None
    assert outcome(result, "b").waited_s == 15.0  # until the plan at 35 s, when it has aged
    assert outcome(result, "late") == SimOutcome("late", "job of late", 4, 0.0, None, None, 0)
    assert (result.makespan_s, result.utilisation) == (35.0, 1.0)


def test_the_watch_sees_every_view_with_agents_and_tasks_as_they_are() -> None:
    seen: list[PoolView] = []
    simulate(
        [
            task("a", 2, 0, 9, priority=5, weight=2.0, max_slots=8, submitted_s=-3.0),
            task("aux", 0, 1, 2),
            task("last", 4, 3, 1, is_preemptible=False, is_single_node=True),
        ],
        agents_of([(1, 4)]),
        RULES,
        watch=seen.append,
    )
    first, second, third, fourth = seen[:4]
    assert [r.allocation_id for r in first.pending] == ["a"]
    assert first.running == ()
    [running] = second.running
    assert (running.allocation_id, running.slots_by_agent) == ("a", (("4x-0000", 2),))
    assert (running.priority, running.weight, running.max_slots) == (5, 2.0, 8)
    assert second.now - running.submitted_at == timedelta(seconds=4)
    assert second.now - running.started_at == timedelta(seconds=1)
    assert len(second.agents[0].free_slots) == 2
    assert third.agents[0].zero_slot_tasks in (0, 1)
    [waits] = fourth.pending if fourth.pending else third.pending
    assert (waits.is_preemptible, waits.is_single_node, waits.slots) == (False, True, 4)
    assert [view.pool for view in seen] == ["simulated"] * len(seen)
    assert replace(seen[0], agents=()).rules == RULES

"""Pools of Kubernetes: which priority is ahead, and how tasks become pods."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.covers import covers
from tests.domain.builders import T0, agent, holding, pending
from tests.domain.schedule.test_properties import views

from determined_master.domain.schedule.kubernetes import as_agents, split, too_many
from determined_master.domain.schedule.ordering import queue_key
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView, Rules
from determined_master.domain.schedule.why import explain

replace = msgspec.structs.replace
KUBERNETES = Rules(type="kubernetes")
MIRRORED = st.builds(Rules, fitting=st.sampled_from(["best", "worst"]), preemption=st.booleans())


def view(agents: list[AgentView], requests: list[RequestView], most: int | None = None, **more):
    rules = replace(KUBERNETES, max_slots_per_pod=most)
    return PoolView("p", tuple(agents), tuple(requests), now=T0, rules=rules, **more)


@covers("helm-and-kubernetes 6.order")
@covers("scheduling-and-provisioning a.2.kubernetes")
def test_the_larger_priority_is_ahead() -> None:
    requests = [
        pending("small", priority=10),
        pending("late", priority=60, after_s=2),
        pending("large", priority=60),
        pending("middle", priority=50),
    ]
    made = view([agent("n", 1)], requests)
    order = [r.allocation_id for r in sorted(requests, key=lambda r: queue_key(r, KUBERNETES))]
    assert order == ["large", "late", "middle", "small"]
    decided = plan(made)
    assert [s.allocation_id for s in decided.starts] == ["large"]
    assert [w.allocation_id for w in decided.waits] == ["late", "middle", "small"]
    why = explain(made, decided, "small")
    assert why is not None
    assert [a.priority for a in why.ahead] == [50, 60]


@pytest.mark.slow
@given(views(MIRRORED))
@settings(max_examples=100, deadline=None)
def test_but_for_the_direction_of_priorities_nodes_are_planned_like_agents(made: PoolView) -> None:
    turned = replace(
        made,
        pending=tuple(replace(r, priority=100 - r.priority) for r in made.pending),
        running=tuple(replace(r, priority=100 - r.priority) for r in made.running),
        rules=replace(made.rules, type="kubernetes"),
    )
    assert plan(turned) == plan(made)


@pytest.mark.slow
@given(views(MIRRORED), st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_no_pod_is_larger_than_it_may_be_and_no_slot_is_given_twice(
    made: PoolView, most: int
) -> None:
    made = replace(made, rules=replace(made.rules, type="kubernetes", max_slots_per_pod=most))
    decided = plan(made)
    free = {a.id: set(a.free_slots) for a in made.agents}
    aux = {a.id: a.max_zero_slot_tasks - a.zero_slot_tasks for a in made.agents}
    wanted = {r.allocation_id: r for r in made.pending}
    for start in decided.starts:
        request = wanted[start.allocation_id]
        assert sum(len(slots) for _, slots in start.placement) == request.slots
        for node, slots in start.placement:
            assert len(slots) <= most or not slots
            assert node not in request.excluded_agents
            assert set(slots) <= free[node]
            free[node] -= set(slots)
            aux[node] -= not slots
            assert aux[node] >= 0 or slots
        assert len(start.placement) == 1 or not request.is_single_node
    assert {name for w in decided.waits for name in getattr(w, "agents", ())} <= set(free)
    decided_on = [s.allocation_id for s in decided.starts] + [
        w.allocation_id for w in decided.waits
    ]
    assert sorted(decided_on) == sorted(wanted)


@pytest.mark.slow
@given(views(MIRRORED), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_cutting_nodes_loses_no_slot_and_no_running_task(made: PoolView, most: int) -> None:
    cut = as_agents(replace(made, rules=replace(made.rules, max_slots_per_pod=most)))
    for node in made.agents:
        parts = [a for a in cut.agents if a.id.partition("#")[0] == node.id]
        assert sum(a.slots for a in parts) == node.slots
        assert sorted(s for a in parts for s in a.free_slots) == sorted(node.free_slots)
        assert sum(a.max_zero_slot_tasks for a in parts) == node.max_zero_slot_tasks
        assert all(a.slots <= most for a in parts)
    for before, after in zip(made.running, cut.running, strict=True):
        assert sum(n for _, n in before.slots_by_agent) == sum(n for _, n in after.slots_by_agent)


def test_one_node_holds_several_pods_of_one_task() -> None:
    [start] = plan(view([agent("n", 8)], [pending("a", 8)], most=4)).starts
    assert start.placement == (("n", (0, 1, 2, 3)), ("n", (4, 5, 6, 7)))


def test_free_slots_of_a_node_serve_one_pod_wherever_others_run() -> None:
    busy = agent("n", 8, free=3)
    running = holding("r", ("n", 3)), holding("s", ("n", 2))
    [start] = plan(view([busy], [pending("a", 3)], most=4, running=running)).starts
    assert start.placement == (("n", (5, 6, 7)),)


def test_a_task_waits_for_whole_pods() -> None:
    made = view([agent("n", 8, free=6)], [pending("a", 8)], most=4, running=())
    [wait] = plan(made).waits
    assert wait.code == "full"


@covers("helm-and-kubernetes 6.split 6.single")
@pytest.mark.parametrize(
    ("slots", "most", "is_single_node", "pods"),
    [
        (0, 0, False, (0,)),
        (3, 4, False, (3,)),
        (4, 4, True, (4,)),
        (12, 4, False, (4, 4, 4)),
        (12, 4, True, None),
        (6, 4, False, None),
        (1, 0, False, None),
    ],
)
def test_slots_are_split_into_pods_of_one_size(slots, most, is_single_node, pods) -> None:
    assert split(slots, most, is_single_node=is_single_node) == pods


@covers("helm-and-kubernetes 6.multiple 6.single 6.none")
@pytest.mark.parametrize(
    ("slots", "most", "is_single_node", "remedy"),
    [
        (6, 4, False, "ask for 4 or 8"),
        (6, 4, True, "ask for at most 4, or turn resources.is_single_node off"),
        (1, 0, False, "ask for 0, or let an admin raise max_slots_per_pod"),
    ],
)
def test_slots_that_cannot_be_split_are_refused_with_numbers_that_can(
    slots, most, is_single_node, remedy
) -> None:
    assert remedy in too_many(slots, most, is_single_node=is_single_node)
    waits = view([agent("n", 4)], [pending("a", slots, is_single_node=is_single_node)], most=most)
    decided = plan(waits)
    why = explain(waits, decided, "a")
    assert why is not None
    assert (why.code, why.reason) == (
        "impossible",
        too_many(slots, most, is_single_node=is_single_node),
    )

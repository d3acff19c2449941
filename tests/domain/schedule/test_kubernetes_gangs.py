"""Gangs on a Kubernetes cluster: the deadlocks of 0.38.1 do not happen."""

from __future__ import annotations

import msgspec
import pytest
from tests.covers import covers
from tests.domain.builders import agent, holding, pending
from tests.domain.schedule.test_kubernetes import KUBERNETES, view

from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView
from determined_master.domain.schedule.why import explain

R = "helm-and-kubernetes"
replace = msgspec.structs.replace
PREEMPTING = replace(KUBERNETES, preemption=True, max_slots_per_pod=4)


def three_nodes(free: int = 4) -> list[AgentView]:
    return [agent(name, 4, free=free) for name in ("n1", "n2", "n3")]


def everywhere(slots: int = 4) -> tuple[tuple[str, int], ...]:
    return tuple((node.id, slots) for node in three_nodes())


def preempting(requests: list[RequestView], *running: object) -> PoolView:
    made = view(three_nodes(free=0), requests, most=4, running=running)
    return replace(made, rules=PREEMPTING)


@covers(f"{R} 20.gang_too_large")
@pytest.mark.parametrize("free", [4, 0])
def test_on_three_nodes_of_4_gpus_a_task_of_16_waits_holds_nothing_and_names_the_reason(
    free: int,
) -> None:
    running = () if free else (holding("old", *everywhere()),)
    made = view(
        three_nodes(free), [pending("four pods", 16), pending("small", 4)], 4, running=running
    )
    decided = plan(made)
    assert [s.allocation_id for s in decided.starts] == (["small"] if free else [])
    assert decided.preemptions == ()
    why = explain(made, decided, "four pods")
    assert why is not None
    assert why.code == "impossible"
    assert why.reason.startswith("needs 16 slots, and pool 'p' has 12: ask for less")


@covers(f"{R} 20.gangs_in_turn")
def test_of_two_tasks_of_12_gpus_on_12_one_runs_then_the_other() -> None:
    first, second = pending("first", 12), pending("second", 12, after_s=1)
    made = view(three_nodes(), [second, first], most=4)
    decided = plan(made)
    [start] = decided.starts
    assert start.allocation_id == "first"
    assert sorted(node for node, _ in start.placement) == ["n1", "n2", "n3"]
    assert [wait.allocation_id for wait in decided.waits] == ["second"]
    held = holding("first", *everywhere())
    busy = view(three_nodes(free=0), [second], most=4, running=(held,))
    assert plan(busy).starts == ()
    why = explain(busy, plan(busy), "second")
    assert why is not None
    assert (why.code, why.reason) == ("full", "waits for 12 slots, of which 0 are free now")
    assert [s.allocation_id for s in plan(view(three_nodes(), [second], most=4)).starts] == [
        "second"
    ]


@covers(f"{R} 20.gangs_in_turn")
def test_two_tasks_of_12_gpus_never_hold_a_part_each() -> None:
    """One node becomes free after the other: nobody takes the first of them."""
    both = [pending("first", 12), pending("second", 12, after_s=1)]
    old = [holding(f"old {node}", (node, 4)) for node in ("n1", "n2", "n3")]
    for ended in (1, 2):
        nodes = [agent(f"n{n}", 4, free=4 if n <= ended else 0) for n in (1, 2, 3)]
        decided = plan(view(nodes, both, most=4, running=tuple(old[ended:])))
        assert decided.starts == ()


@covers(f"{R} 20.preemption")
@pytest.mark.parametrize(("priority", "is_urgent"), [(51, True), (50, False), (49, False)])
def test_the_larger_priority_preempts_and_no_other(priority: int, is_urgent: bool) -> None:
    held = holding("old", *everywhere(), priority=50)
    decided = plan(preempting([pending("new", 12, after_s=1, priority=priority)], held))
    assert [p.allocation_id for p in decided.preemptions] == (["old"] if is_urgent else [])


@covers(f"{R} 6.change")
def test_a_new_priority_counts_for_what_waits_and_ends_nothing_without_preemption() -> None:
    waiting = [pending("a", 12, priority=50), pending("b", 12, after_s=1, priority=60)]
    held = holding("old", *everywhere(), priority=1)
    decided = plan(view(three_nodes(free=0), waiting, most=4, running=(held,)))
    assert decided.preemptions == ()
    assert [w.allocation_id for w in decided.waits] == ["b", "a"]


@covers(f"{R} 6.max_slots")
def test_a_job_never_exceeds_its_max_slots() -> None:
    waiting = [
        pending(f"t{n}", 4, after_s=n, job_id="search", max_slots=8, priority=50) for n in range(3)
    ]
    made = view(three_nodes(), waiting, most=4)
    decided = plan(made)
    assert [s.allocation_id for s in decided.starts] == ["t0", "t1"]
    why = explain(made, decided, "t2")
    assert why is not None
    assert why.code == "limit"
    assert "its job may use 8 slots at a time (resources.max_slots)" in why.reason


@covers(f"{R} 20.fair_share")
def test_pools_of_kubernetes_share_fairly_with_pods_of_bounded_size() -> None:
    rules = replace(KUBERNETES, type="fair_share", max_slots_per_pod=4)
    waiting = [pending(f"{job}{n}", 4, job_id=job) for job in "ab" for n in range(3)]
    nodes = [agent("n1", 8), agent("n2", 8)]
    decided = plan(PoolView("p", tuple(nodes), tuple(waiting), rules=rules))
    started = [start.allocation_id[0] for start in decided.starts]
    assert (started.count("a"), started.count("b")) == (2, 2)
    assert all(len(slots) == 4 for start in decided.starts for _, slots in start.placement)

"""The nodes that a growing cluster is asked for: those that waiting tasks lack."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace
from tests.domain.builders import T0, agent, holding, pending
from tests.domain.schedule.placing.test_pod_planner import asking, load

from determined_master.domain.pods.placement import ClusterLoads
from determined_master.domain.pods.quantities import Amounts
from determined_master.domain.schedule.placing.node_demand import PodDemand, unmet_demand
from determined_master.domain.schedule.placing.pod_planner import PodPlanner
from determined_master.domain.schedule.placing.pods_view import PodsView, TaskPods
from determined_master.domain.schedule.plan import Full, Leaving, OverLimit, OverQuota, Plan, Wait
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView, Rules

PER_SLOT = {"nvidia.com/gpu": Decimal(1)}
RULES = Rules(type="kubernetes", max_slots_per_pod=4)


def waits(id: str, slots: int, **more: Any) -> RequestView:
    """A request for which nodes are asked if it does not start."""
    return replace(pending(id, slots, **more), requested_at=T0 - timedelta(minutes=1))


def asked(
    agents: list[AgentView],
    requests: list[RequestView],
    *,
    most_pods: int = 99,
    pods: Mapping[str, TaskPods] | None = None,
    used: Mapping[str, Amounts] | None = None,
    rules: Rules = RULES,
    **more: Any,
) -> dict[str, tuple[int, int]]:
    """Pods of each request for which nodes are asked, and how many of them have room."""
    view = PoolView("p", tuple(agents), tuple(requests), now=T0, rules=rules, **more)
    given = PodsView(
        loads=ClusterLoads({a.id: load(a.slots) for a in agents}, PER_SLOT),
        pods={r.allocation_id: asking() for r in requests} | dict(pods or {}),
        used=lambda: used or {},
    )
    shown, plan = PodPlanner().plan(view, given)
    demands = unmet_demand(shown, plan, most_pods, given)
    return {d.allocation_id: (len(d.slots), d.housed) for d in demands}


def test_nodes_are_asked_for_what_more_of_them_would_start() -> None:
    requests = [waits("a", 8), waits("b", 4), waits("c", 12), waits("d", 6)]
    requests += [replace(pending("new", 4), requested_at=T0 - timedelta(seconds=5))]
    running = (holding("r", ("n", 4)),)
    full = [agent("n", 4, free=0)]
    # A task of 6 slots cannot be cut into pods of 4, and the new one may start at once.
    every = {"a": (2, 0), "b": (1, 0), "c": (3, 0)}
    assert asked(full, requests, running=running) == every
    few = asked(full, requests, running=running, most_pods=4)
    assert sum(pods for pods, _ in few.values()) <= 4
    assert few.items() <= every.items(), "a task was asked for in part"


@pytest.mark.parametrize("wait", [Leaving("a"), OverLimit("a"), OverQuota("a")])
def test_no_nodes_are_asked_for_what_they_would_not_help(wait: Wait) -> None:
    view = PoolView("p", (), (waits("a", 4),), now=T0, rules=RULES)
    given = PodsView(loads=ClusterLoads({}), pods={"a": asking()}, used=dict)
    assert unmet_demand(view, Plan(waits=(wait,)), 9, given) == ()
    full = Plan(waits=(Full("a"),))
    assert unmet_demand(view, full, 9, given) == (PodDemand("a", (4,)),)
    assert unmet_demand(view, full, 9) == (), "no pool without requests asks"


def test_pods_that_have_room_are_counted() -> None:
    nodes = [agent("n", 4), agent("o", 4), agent("p", 4)]
    assert asked(nodes, [waits("wide", 16)]) == {"wide": (4, 3)}
    assert asked([agent("large", 9)], [waits("wide", 16)]) == {"wide": (4, 2)}
    half = [agent("n", 8, free=6)]
    running = (holding("r", ("n", 2)),)
    assert asked(half, [waits("wide", 16)], running=running) == {"wide": (4, 1)}


def test_room_counts_once_and_not_for_what_starts_now() -> None:
    nodes = [agent("n", 4), agent("o", 4), agent("p", 4)]
    both = asked(nodes, [waits("wide", 16), waits("wider", 20, after_s=1)])
    assert both == {"wide": (4, 3), "wider": (5, 0)}
    beside = asked(nodes, [waits("wide", 16), waits("small", 4, after_s=1)])
    assert beside == {"wide": (4, 2)}
    reversed_queue = asked(nodes, [waits("late", 16, after_s=9), waits("first", 20)])
    assert reversed_queue == {"first": (5, 3), "late": (4, 0)}


def test_nodes_that_take_no_tasks_or_are_excluded_have_no_room() -> None:
    nodes = [agent("n", 4), replace(agent("o", 4), is_accepting=False), agent("p", 4)]
    assert asked(nodes, [waits("wide", 16)]) == {"wide": (4, 2)}
    excluded = replace(waits("wide", 16), excluded_agents=frozenset("n"))
    assert asked(nodes, [excluded]) == {"wide": (4, 1)}


def test_a_node_with_free_slots_and_too_little_memory_has_no_room() -> None:
    nodes = [agent("n", 4), agent("o", 4)]
    used = {"n": {"memory": Decimal(12)}}
    pods = {"wide": asking(memory=8)}
    assert asked(nodes, [waits("wide", 12)], pods=pods, used=used) == {"wide": (3, 1)}
    two = {"first": asking(memory=9), "second": asking(memory=9)}
    rules = replace(RULES, max_slots_per_pod=2)
    requests = [waits("first", 6), waits("second", 6, after_s=1)]
    # One node of four slots has memory for one pod of two.
    assert asked([agent("n", 4)], requests, pods=two, rules=rules) == {
        "first": (3, 1),
        "second": (3, 0),
    }


def test_tasks_without_slots_have_places() -> None:
    busy = replace(agent("n", 0), zero_slot_tasks=1, max_zero_slot_tasks=1)
    assert asked([busy], [waits("shell", 0)]) == {"shell": (1, 0)}

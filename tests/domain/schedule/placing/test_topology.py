"""Tasks whose pods share a node, a rack or a zone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.builders import T0, agent, holding, pending
from tests.domain.schedule.placing.test_pod_planner import asking, load, where
from tests.domain.schedule.test_kubernetes import KUBERNETES

from determined_master.domain.pods.placement import ClusterLoads
from determined_master.domain.schedule.placing import topology
from determined_master.domain.schedule.placing.pod_planner import PodPlanner
from determined_master.domain.schedule.placing.pods_view import PodsView
from determined_master.domain.schedule.placing.topology import Topology
from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView
from determined_master.domain.schedule.why import explain

replace = msgspec.structs.replace
RACK = "example.com/rack"
RACKS = {"a1": "a", "a2": "a", "b1": "b", "b2": "b", "b3": "b", "c1": ""}


def planned(
    agents: list[AgentView],
    requests: list[RequestView],
    wish: Topology | None,
    racks: Mapping[str, str] = RACKS,
    label: str = RACK,
    **more: Any,
) -> tuple[PoolView, Plan]:
    """Nodes with a rack's label, unless its name is empty."""
    nodes = {
        a.id: load(a.slots, labels={RACK: racks[a.id]} if racks.get(a.id) else {}) for a in agents
    }
    loads = ClusterLoads(nodes, domain_labels={"rack": label} if label else {})
    pods = {r.allocation_id: replace(asking(), topology=wish) for r in requests}
    rules = replace(KUBERNETES, max_slots_per_pod=4)
    view = PoolView("p", tuple(agents), tuple(requests), now=T0, rules=rules, **more)
    return PodPlanner().plan(view, PodsView(loads=loads, pods=pods, used=dict))


def cluster(**free: int) -> list[AgentView]:
    return [agent(name, 4, free=free.get(name, 4)) for name in RACKS]


def reason(view: PoolView, plan: Plan, id: str) -> tuple[str, str]:
    why = explain(view, plan, id)
    assert why is not None
    return why.code, why.reason


PREFERRED, REQUIRED = Topology(domain="rack"), Topology(domain="rack", is_required=True)


@pytest.mark.parametrize("wish", [PREFERRED, REQUIRED])
def test_a_gang_gets_the_smallest_rack_that_holds_it(wish: Topology) -> None:
    _, plan = planned(cluster(), [pending("r", 8)], wish)
    assert where(plan) == {"r": ["a1", "a2"]}
    _, plan = planned(cluster(), [pending("r", 12)], wish)
    assert where(plan) == {"r": ["b1", "b2", "b3"]}


@pytest.mark.parametrize("wish", [PREFERRED, REQUIRED])
def test_gangs_of_one_plan_do_not_count_on_the_same_rack(wish: Topology) -> None:
    _, plan = planned(cluster(), [pending("r", 8), pending("s", 8, after_s=1)], wish)
    found = where(plan)
    assert found["r"] == ["a1", "a2"]
    assert set(found["s"]) < {"b1", "b2", "b3"}


def test_a_preference_is_dropped_where_no_rack_has_room() -> None:
    _, plan = planned(cluster(a1=0, b1=0, b2=0), [pending("r", 8)], PREFERRED)
    assert set(where(plan)["r"]) <= {"a2", "b3", "c1"}


def test_a_requirement_waits_for_one_rack_and_names_it() -> None:
    running = (holding("old", ("a1", 4), ("b1", 4), ("b2", 4)),)
    view, plan = planned(cluster(a1=0, b1=0, b2=0), [pending("r", 8)], REQUIRED, running=running)
    assert plan.starts == ()
    assert reason(view, plan, "r") == (
        "full",
        "waits for 8 slots, of which 4 are free now; all of its pods must be in one rack, a is "
        "next",
    )


def test_a_requirement_that_no_rack_can_meet_names_the_largest() -> None:
    view, plan = planned(cluster(), [pending("r", 16)], REQUIRED)
    assert plan.starts == ()
    assert reason(view, plan, "r") == (
        "topology",
        "no rack of pool 'p' holds 16 slots in whole pods of one size (the largest, b, has 12): "
        "ask for less, or set resources.topology.required to false",
    )
    _, plan = planned(cluster(), [pending("r", 16)], PREFERRED)
    assert len(where(plan)["r"]) == 4


def test_nodes_without_a_rack_are_in_none() -> None:
    view, plan = planned([agent("c1", 4), agent("c2", 4)], [pending("r", 8)], REQUIRED)
    code, text = reason(view, plan, "r")
    assert code == "topology"
    assert "no node of pool 'p' that can run them has one" in text


@pytest.mark.parametrize("wish", [PREFERRED, REQUIRED])
def test_a_cluster_that_knows_no_racks_has_the_remedy(wish: Topology) -> None:
    view, plan = planned(cluster(), [pending("r", 8)], wish, label="")
    if wish.is_required:
        code, text = reason(view, plan, "r")
        assert (code, "resource_manager.rack_label" in text) == ("topology", True)
    else:
        assert len(where(plan)["r"]) == 2


def test_all_pods_of_a_task_can_share_one_node() -> None:
    nodes = [agent("n1", 8, free=4), agent("n2", 8)]
    _, plan = planned(nodes, [pending("r", 8)], Topology(domain="hostname", is_required=True))
    assert where(plan) == {"r": ["n2", "n2"]}


def test_a_long_queue_keeps_its_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology, "MAX_COMPARED", 1)
    requests = [pending(f"r{n}", 8, after_s=n) for n in range(4)]
    view, plan = planned(cluster(), requests, REQUIRED)
    assert where(plan) == {"r0": ["a1", "a2"]}
    assert [w.allocation_id for w in plan.waits] == ["r1", "r2", "r3"]
    assert "one rack" in reason(view, plan, "r3")[1]


def test_one_pod_needs_no_domain() -> None:
    _, plan = planned([agent("c1", 4)], [pending("r", 4)], REQUIRED)
    assert where(plan) == {"r": ["c1"]}


SIZES = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["a", "b", ""])), max_size=6)


@pytest.mark.slow
@given(SIZES, st.lists(st.sampled_from([2, 4, 8, 12]), min_size=1, max_size=4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_required_rack_is_never_left_and_a_preferred_one_costs_no_first_start(
    drawn: list[tuple[int, str]], slots: list[int], is_required: bool
) -> None:
    nodes = [agent(f"n{n}", 4, free=free) for n, (free, _) in enumerate(drawn)]
    racks = {f"n{n}": rack for n, (_, rack) in enumerate(drawn)}
    requests = [pending(f"r{n}", size, after_s=n) for n, size in enumerate(slots)]
    wish = Topology(domain="rack", is_required=is_required)
    _, plan = planned(nodes, requests, wish, racks)
    started = where(plan)
    for request in requests:
        used = started.get(request.allocation_id, [])
        if is_required and request.slots > 4 and used:
            assert len({racks[node] for node in used}) == 1
            assert racks[used[0]] != ""
    if not is_required:
        _, usual = planned(nodes, requests[:1], None, racks)
        _, preferred = planned(nodes, requests[:1], wish, racks)
        assert where(preferred).keys() == where(usual).keys()
    assert sorted([*started, *(w.allocation_id for w in plan.waits)]) == sorted(
        r.allocation_id for r in requests
    )

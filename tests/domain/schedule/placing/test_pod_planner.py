"""Plans of pods: Kubernetes' scheduler can place every pod where it is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.builders import T0, agent, holding, pending

from determined_master.domain.pods.needs import needs_of
from determined_master.domain.pods.placement import ClusterLoads, Misfit, NodeFacts, NodeLoad
from determined_master.domain.pods.quantities import Amounts, total
from determined_master.domain.pods.quotas import QuotaFacts, exceeded
from determined_master.domain.schedule import planner
from determined_master.domain.schedule.placing.pod_planner import PodPlanner
from determined_master.domain.schedule.placing.pods_view import (
    PodsView,
    TaskPods,
    uses_of,
    with_slots,
)
from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView, Rules
from determined_master.domain.schedule.why import explain

KUBERNETES = Rules(type="kubernetes")
PER_SLOT = {"nvidia.com/gpu": Decimal(1)}


def load(slots: int = 4, foreign: Mapping[str, int] | None = None, **more: Any) -> NodeLoad:
    offered = {"memory": 16, "pods": 110, "nvidia.com/gpu": slots, **more.pop("offers", {})}
    amounts = {k: Decimal(v) for k, v in offered.items()}
    used = {k: Decimal(v) for k, v in (foreign or {}).items()}
    return NodeLoad(NodeFacts(name="n", allocatable=amounts, **more), used)


def asking(memory: int = 0, key: str = "", **spec: Any) -> TaskPods:
    main = {"name": "determined-container", "resources": {"requests": {"memory": memory}}}
    pod = {"spec": {"containers": [main], **spec}}
    return TaskPods(key=key or repr(pod), needs=needs_of(pod))


def planned(
    agents: Sequence[AgentView],
    requests: Sequence[RequestView],
    loads: Mapping[str, NodeLoad],
    pods: Mapping[str, TaskPods],
    *,
    used: Mapping[str, Amounts] | None = None,
    rules: Rules = KUBERNETES,
    quotas: Sequence[QuotaFacts] = (),
    coming: Mapping[str, Amounts] | None = None,
    **more: Any,
) -> tuple[PoolView, Plan]:
    view = PoolView("p", tuple(agents), tuple(requests), now=T0, rules=rules, **more)
    by_namespace = {q.namespace: (q,) for q in quotas}
    side = PodsView(
        loads=ClusterLoads(loads, PER_SLOT, by_namespace),
        pods=pods,
        used=lambda: used or {},
        planned=coming or {},
    )
    return PodPlanner().plan(view, side)


def where(plan: Plan) -> dict[str, list[str]]:
    return {s.allocation_id: [a for a, _ in s.placement] for s in plan.starts}


def why(view: PoolView, plan: Plan, id: str) -> tuple[str, str]:
    found = explain(view, plan, id)
    assert found is not None
    return found.code, found.reason


H100 = {"gpu-type": "h100"}


def test_a_task_runs_on_the_node_that_its_pod_spec_selects() -> None:
    agents = [agent(n) for n in "abc"]
    loads = {"a": load(), "b": load(labels=H100), "c": load()}
    pods = {f"r{n}": asking(nodeSelector=H100) for n in range(3)}
    _, plan = planned(agents, [pending(r, 2) for r in pods], loads, pods)
    assert where(plan) == {"r0": ["b"], "r1": ["b"]}


def test_labels_that_no_node_has_are_named() -> None:
    agents = [agent(n) for n in "abcd"]
    taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
    loads: dict[str, NodeLoad] = {n: load() for n in "abc"}
    loads["d"] = load(labels=H100, taints=(taint,))
    view, plan = planned(agents, [pending("r")], loads, {"r": asking(nodeSelector=H100)})
    assert plan.starts == ()
    assert why(view, plan, "r") == (
        "impossible",
        "no node of pool 'p' can run its pod: 3 of 4 nodes lack the label gpu-type=h100, 1 has "
        "the taint team=x:NoSchedule, which is not tolerated; change environment.pod_spec, or the "
        "nodes",
    )


def test_a_wait_for_slots_also_names_the_nodes_that_are_excluded() -> None:
    agents = [agent("a"), agent("b", free=0)]
    loads = {"a": load(), "b": load(labels=H100)}
    view, plan = planned(agents, [pending("r")], loads, {"r": asking(nodeSelector=H100)})
    assert why(view, plan, "r") == (
        "full",
        "waits for 1 slot, of which 0 are free now; 1 of 2 nodes lacks the label gpu-type=h100",
    )


def test_memory_of_pods_that_run_or_are_planned_is_not_free() -> None:
    agents = [agent("a"), agent("b")]
    loads = {"a": load(), "b": load(foreign={"memory": 5})}
    pods = {f"r{n}": asking(8) for n in range(4)}
    requests = [pending(r, after_s=n) for n, r in enumerate(pods)]
    view, plan = planned(
        agents, requests, loads, pods, used={"a": {"memory": Decimal(2)}, "c": {}}
    )
    assert {r: w for r, w in where(plan).items()}.keys() == {"r0", "r1"}
    assert sorted(w for [w] in where(plan).values()) == ["a", "b"]
    code, text = why(view, plan, "r2")
    assert (code, text) == (
        "resources",
        "waits for resources of its pod: 2 of 2 nodes have less than 8 of memory free",
    )
    assert [w.allocation_id for w in plan.waits] == ["r2", "r3"]


def test_a_request_short_of_memory_holds_no_slots_until_it_has_waited_for_long() -> None:
    agents, loads = [agent("a", 1)], {"a": load(1)}
    pods = {"big": asking(12), "small": asking(1)}
    used = {"a": {"memory": Decimal(8)}}
    late = [pending("big", after_s=-30), pending("small")]
    _, plan = planned(agents, late, loads, pods, used=used)
    assert where(plan) == {"small": ["a"]}
    aged = [pending("big", after_s=-3600), pending("small")]
    view, plan = planned(agents, aged, loads, pods, used=used)
    assert where(plan) == {}
    assert why(view, plan, "big")[0] == "resources"


def test_a_node_that_did_not_take_such_a_pod_is_avoided() -> None:
    agents, loads = [agent("a"), agent("b")], {"a": load(), "b": load()}
    avoided = {"a": Misfit("is avoided", "are avoided")}
    pods = {"r": TaskPods(key="k", needs=asking().needs, avoided=avoided)}
    _, plan = planned(agents, [pending("r")], loads, pods)
    assert where(plan) == {"r": ["b"]}


def quota(limit: int, used: int, namespace: str = "lab") -> QuotaFacts:
    name = "requests.nvidia.com/gpu"
    hard, counted = {name: Decimal(limit)}, {name: Decimal(used)}
    return QuotaFacts(namespace=namespace, name="q", hard=hard, used=counted)


def inside(slots: int, namespace: str = "lab") -> TaskPods:
    """A request in a namespace with a quota."""
    found = uses_of(asking().needs, slots, None, ClusterLoads({}, PER_SLOT))
    return TaskPods(key="k", needs=asking().needs, namespace=namespace, uses=found)


@pytest.mark.parametrize("preemption", [True, False])
def test_a_full_quota_neither_preempts_nor_holds_slots(preemption: bool) -> None:
    rules = Rules(type="kubernetes", preemption=preemption)
    agents, loads = [agent("a", 2, 1)], {"a": load(2)}
    low = holding("low", ("a", 1), priority=1)
    pods = {"r": inside(2), "s": inside(1, "other")}
    requests = [pending("r", 2, priority=90, after_s=-3600), pending("s", priority=50)]
    view, plan = planned(
        agents, requests, loads, pods, rules=rules, running=(low,), quotas=[quota(4, 3)]
    )
    assert (where(plan), plan.preemptions) == ({"s": ["a"]}, ())
    assert why(view, plan, "r") == (
        "quota",
        "waits for the quota of its namespace: quota q of namespace lab has 3 of 4 "
        "requests.nvidia.com/gpu in use, and the task needs 2 requests.nvidia.com/gpu",
    )


def test_starts_of_one_plan_count_together_against_a_quota() -> None:
    agents, loads = [agent("a", 8)], {"a": load(8)}
    pods = {**{f"r{n}": inside(2) for n in range(3)}, "s": inside(1, "other")}
    requests = [pending(r, 2, after_s=n) for n, r in enumerate(pods) if r != "s"]
    requests.append(pending("s", 1, after_s=9))
    view, plan = planned(agents, requests, loads, pods, quotas=[quota(5, 0)])
    assert where(plan) == {"r0": ["a"], "r1": ["a"], "s": ["a"]}
    assert why(view, plan, "r2")[0] == "quota"
    coming = {"lab": {"requests.nvidia.com/gpu": Decimal(2)}}
    view, plan = planned(agents, requests, loads, pods, quotas=[quota(5, 0)], coming=coming)
    assert where(plan).keys() == {"r0", "s"}
    assert "has 4 of 5" in why(view, plan, "r2")[1]


def test_all_pods_of_a_request_count_with_their_secrets() -> None:
    needs = needs_of({"spec": {"containers": [{"resources": {"limits": {"memory": "1"}}}]}})
    found = uses_of(needs, 8, 4, ClusterLoads({}, PER_SLOT))
    assert (found["pods"], found["secrets"], found["limits.memory"]) == (2, 2, 2)
    assert found["requests.nvidia.com/gpu"] == found["limits.nvidia.com/gpu"] == 8
    assert uses_of(needs, 0, 4, ClusterLoads({}, PER_SLOT))["pods"] == 1


def test_a_node_with_several_pods_of_a_gang_has_enough_for_all_of_them() -> None:
    rules = Rules(type="kubernetes", max_slots_per_pod=4)
    agents, loads = [agent("a", 8), agent("b", 8)], {"a": load(8), "b": load(8)}
    _, plan = planned(agents, [pending("r", 8)], loads, {"r": asking(9)}, rules=rules)
    assert where(plan) == {"r": ["a", "b"]}
    _, plan = planned(agents, [pending("r", 8)], loads, {"r": asking(8)}, rules=rules)
    assert where(plan)["r"] in (["a", "a"], ["b", "b"])
    used = {"a": {"memory": Decimal(5)}, "b": {"memory": Decimal(5)}}
    _, plan = planned(agents, [pending("r", 8)], loads, {"r": asking(8)}, rules=rules, used=used)
    assert where(plan) == {"r": ["a", "b"]}
    _, plan = planned(agents, [pending("r", 16)], loads, {"r": asking(8)}, rules=rules, used=used)
    assert where(plan) == {}


def test_requests_whose_pods_need_nothing_are_planned_as_before() -> None:
    agents, loads = [agent("a"), agent("b")], {"a": load()}
    requests = [pending("r", 2), pending("s", 4), pending("z", 0)]
    pods = {r.allocation_id: asking() for r in requests}
    view, plan = planned(agents, requests, loads, pods)
    assert view.pending == tuple(requests)
    assert plan == planner.plan(view)


def test_a_request_whose_pods_are_not_known_yet_is_not_planned() -> None:
    view, plan = planned([agent("a")], [pending("r")], {"a": load()}, {})
    assert (view.pending, plan) == ((), Plan())


def test_unchanged_requests_stay_the_same_objects() -> None:
    subject, agents = PodPlanner(), (agent("a"), agent("b", free=0))
    nodes = {"a": load(), "b": load(labels=H100)}
    loads = ClusterLoads(nodes, PER_SLOT, {"lab": (quota(1, 1),)})
    requests = (pending("r"), pending("s"), pending("q"))
    pods = {
        "r": asking(nodeSelector=H100),
        "s": asking(10),
        "q": msgspec.structs.replace(inside(1), needs=asking(nodeSelector=H100).needs),
    }
    used = {"a": {"memory": Decimal(10)}}
    side = PodsView(loads=loads, pods=pods, used=lambda: used)
    view = PoolView("p", agents, requests, now=T0, rules=KUBERNETES)
    one, other = subject.plan(view, side)[0], subject.plan(view, side)[0]
    assert [r.unfit != "" for r in one.pending] == [True, False, True]
    assert all(a is b for a, b in zip(one.pending, other.pending, strict=True))


def test_a_change_of_nodes_is_seen_by_the_next_plan() -> None:
    subject, requests = PodPlanner(), (pending("r"),)
    pods = {"r": asking(nodeSelector=H100)}

    def starts(agents: Sequence[AgentView], loads: ClusterLoads) -> dict[str, list[str]]:
        view = PoolView("p", tuple(agents), requests, now=T0, rules=KUBERNETES)
        return where(subject.plan(view, PodsView(loads=loads, pods=pods, used=dict))[1])

    before = ClusterLoads({"a": load(), "b": load(labels=H100)}, PER_SLOT)
    assert starts([agent("a")], before) == {}
    assert starts([agent("a"), agent("b")], before) == {"r": ["b"]}
    after = ClusterLoads({"a": load(labels=H100), "b": load()}, PER_SLOT)
    assert starts([agent("a"), agent("b")], after) == {"r": ["a"]}


@st.composite
def pools(draw: Any) -> tuple[list[AgentView], list[RequestView], Any, Any, Any, Rules]:
    agents, loads, used = [], {}, {}
    for name in draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4)):
        slots = draw(st.sampled_from([0, 1, 2, 4, 8]))
        labels = draw(st.sampled_from([{}, H100]))
        agents.append(agent(name, slots, max_zero_slot_tasks=3))
        taken = {"memory": draw(st.integers(0, 20))}
        loads[name] = load(slots, taken, labels=labels, offers={"pods": draw(st.integers(0, 9))})
        used[name] = {"memory": Decimal(draw(st.integers(0, 8)))}
    requests, pods = [], {}
    for n in range(draw(st.integers(0, 6))):
        after_s = draw(st.sampled_from([-3600, -10, 0]))
        requests.append(pending(f"r{n}", draw(st.integers(0, 9)), after_s=after_s))
        selector = draw(st.sampled_from([{}, H100]))
        made = asking(draw(st.integers(0, 12)), nodeSelector=selector)
        slots = requests[-1].slots
        uses = uses_of(made.needs, slots, None, ClusterLoads({}, PER_SLOT))
        where_to = draw(st.sampled_from(["lab", "free"]))
        pods[f"r{n}"] = msgspec.structs.replace(made, namespace=where_to, uses=uses)
    kind = draw(st.sampled_from(["kubernetes", "fair_share"]))
    rules = Rules(
        type=kind,
        max_slots_per_pod=draw(st.sampled_from([None, 1, 2, 4])),
        preemption=draw(st.booleans()),
    )
    return agents, requests, loads, pods, used, rules


@pytest.mark.slow
@given(pools())
@settings(deadline=None)
def test_no_plan_gives_a_node_more_than_it_has_or_a_pod_that_it_refuses(made: Any) -> None:
    agents, requests, loads, pods, used, rules = made
    lab = quota(9, 3)
    view, plan = planned(agents, requests, loads, pods, used=used, rules=rules, quotas=[lab])
    inside_lab = [pods[s.allocation_id] for s in plan.starts]
    uses = total(p.uses for p in inside_lab if p.namespace == "lab")
    assert exceeded([lab], uses) == ""
    taken: dict[str, Amounts] = {n: total([loads[n].foreign, used[n]]) for n in loads}
    for start in plan.starts:
        needs = pods[start.allocation_id].needs
        for name, slots in start.placement:
            facts = loads[name].facts
            assert all(facts.labels.get(k) == v for k, v in needs.selector.items())
            amounts = with_slots(needs, len(slots), ClusterLoads(loads, PER_SLOT))
            taken[name] = total([taken[name], amounts])
            for resource, amount in amounts.items():
                has = facts.allocatable.get(resource, Decimal(0))
                assert not amount or taken[name][resource] <= has
    decided = [s.allocation_id for s in plan.starts] + [w.allocation_id for w in plan.waits]
    assert sorted(decided) == sorted(r.allocation_id for r in requests)
    for wait in plan.waits:
        assert why(view, plan, wait.allocation_id)[1]

"""Which nodes a pod can run on, from all that Kubernetes' scheduler asks."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.pods.needs import PodNeeds, needs_of, requested
from determined_master.domain.pods.placement import (
    Misfit,
    NodeFacts,
    facts_of,
    misfit,
    pods_that_fit,
    summary,
)
from determined_master.domain.pods.quantities import quantity, total

RESOURCES = ["cpu", "memory", "ephemeral-storage", "rdma/hca", "pods"]
AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 8).map(Decimal))


def node(name: str = "node-a", **more: Any) -> NodeFacts:
    offered = {"cpu": "8", "memory": "16Gi", "pods": "110", **more.pop("allocatable", {})}
    spec = {k: more[k] for k in ("taints", "unschedulable") if k in more}
    meta = {"name": name, "labels": more.get("labels", {})}
    return facts_of({"metadata": meta, "spec": spec, "status": {"allocatable": offered}})


def main(requests: Any = None, limits: Any = None) -> dict[str, Any]:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": "determined-container", "resources": resources}


def needs(**spec: Any) -> PodNeeds:
    return needs_of({"spec": spec})


def why(given_needs: PodNeeds, on: NodeFacts, **used: str) -> str:
    found = misfit(given_needs, on, {k: quantity(v) for k, v in used.items()})
    return "" if found is None else found.one


def required(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


H100 = {"gpu-type": "h100"}
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("spec", "on", "reason"),
    [
        ({}, {}, ""),
        ({"nodeSelector": H100}, {"labels": H100}, ""),
        ({"node_selector": H100}, {}, "lacks the label gpu-type=h100"),
        (
            {"affinity": required({"key": "zone", "operator": "In", "values": ["b"]})},
            {"labels": {"zone": "a"}},
            "does not match the node affinity (zone=b)",
        ),
        ({}, {"taints": [TAINT]}, "has the taint team=a:NoSchedule, which is not tolerated"),
        ({"tolerations": [{"key": "team", "operator": "Exists"}]}, {"taints": [TAINT]}, ""),
        ({}, {"unschedulable": True}, "is cordoned"),
        ({"tolerations": [{"operator": "Exists"}]}, {"unschedulable": True}, ""),
        ({"containers": [main({"memory": "16Gi"})]}, {}, ""),
        ({"containers": [main({"memory": "17Gi"})]}, {}, "has less than 17Gi of memory"),
        ({"containers": [main(limits={"cpu": "9"})]}, {}, "has less than 9 cpu"),
        ({"containers": [main({"cpu": "1"}, {"cpu": "9"})]}, {}, ""),
        ({"containers": [main({"rdma/hca": "1"})]}, {}, "has less than 1 rdma/hca"),
        ({"containers": [main({"rdma/hca": "1"})]}, {"allocatable": {"rdma/hca": "1"}}, ""),
        ({}, {"allocatable": {"pods": "0"}}, "has less than 1 pods"),
    ],
)
def test_a_node_fits_or_the_reason_is_named(
    spec: dict[str, Any], on: dict[str, Any], reason: str
) -> None:
    assert why(needs(**spec), node(**on)) == reason


def test_a_long_selector_is_cut() -> None:
    assert len(why(needs(nodeSelector={"k": "v" * 9999}), node())) < 400


def test_usage_of_others_excludes_a_node_for_the_time_being() -> None:
    asks = needs(containers=[main({"memory": "10Gi"})])
    assert why(asks, node(), memory="6Gi") == ""
    assert why(asks, node(), memory="7Gi") == "has less than 10Gi of memory free"
    found = misfit(asks, node(), {"memory": quantity("7Gi")})
    assert found is not None
    assert not found.is_lasting
    assert why(asks, node(), pods="110") == "runs as many pods as it may"


def test_a_need_for_nothing_fits_a_node_that_is_overfull() -> None:
    assert why(needs(containers=[main({"memory": "0"})]), node(), memory="17Gi") == ""


def test_containers_count_together_and_init_containers_by_the_greatest() -> None:
    def asks(memory: str, **more: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"memory": memory}}, **more}

    spec: dict[str, Any] = {"containers": [asks("2"), asks("3")]}
    assert requested(spec) == {"memory": 5}
    assert requested({**spec, "initContainers": [asks("4"), asks("7")]}) == {"memory": 7}
    stays = asks("1", restartPolicy="Always")
    assert requested({**spec, "initContainers": [asks("5"), stays, asks("6")]}) == {"memory": 7}
    assert requested({**spec, "initContainers": [stays]}) == {"memory": 6}
    assert requested({**spec, "overhead": {"memory": "10"}}) == {"memory": 15}
    assert requested({**spec, "resources": {"requests": {"memory": "4"}}}) == {"memory": 4}


def test_resources_that_the_platform_sets_count_in_other_containers_only() -> None:
    gpu = {"nvidia.com/gpu": "1", "memory": "1"}
    other = {"name": "other", "resources": {"requests": gpu}}
    found = needs_of(
        {"spec": {"containers": [main(gpu, gpu), other]}}, without=frozenset({"nvidia.com/gpu"})
    )
    assert found.requests == {"nvidia.com/gpu": 1, "memory": 2, "pods": 1}
    assert found.limits == {"memory": 1}
    tainted = node(taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])
    assert misfit(needs_of(None, without=frozenset({"nvidia.com/gpu"})), tainted) is None
    assert misfit(needs_of(None), tainted) is not None


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": "x", "tolerations": "y", "containers": {"a": 1}, "affinity": [1]},
        {"tolerations": [1, None], "containers": [None, {"resources": {"requests": [1]}}]},
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": 3}}},
        {"affinity": required("x", {"key": 1, "operator": ["In"], "values": 7})},  # type: ignore[arg-type]
        {"initContainers": [[]], "overhead": "1", "resources": 5},
    ],
)
def test_a_spec_that_kubernetes_refuses_breaks_no_plan(spec: Any) -> None:
    misfit(needs_of({"spec": spec}), node())
    misfit(needs_of(spec), node())


@given(AMOUNTS, AMOUNTS, AMOUNTS)
def test_as_many_pods_fit_as_are_placed_one_after_the_other(
    requests: dict[str, Decimal], offered: dict[str, Decimal], used: dict[str, Decimal]
) -> None:
    on = NodeFacts(name="n", allocatable=offered)
    most = pods_that_fit(requests, on, used)
    asks = PodNeeds(requests=requests)
    for count in range(10):
        is_there_room = most is None or count < most
        now_used = total([used, *([requests] * count)])
        assert (misfit(asks, on, now_used) is None) is is_there_room


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
def test_less_need_and_less_usage_never_exclude_a_node(
    requests: dict[str, Decimal],
    more: dict[str, Decimal],
    offered: dict[str, Decimal],
    used: dict[str, Decimal],
) -> None:
    on = NodeFacts(name="n", allocatable=offered)
    if misfit(PodNeeds(requests=total([requests, more])), on, used) is None:
        assert misfit(PodNeeds(requests=requests), on, used) is None
        assert misfit(PodNeeds(requests=requests), on) is None
    found = misfit(PodNeeds(requests=requests), on, used)
    if found is not None:
        assert found.is_lasting is (misfit(PodNeeds(requests=requests), on) is not None)


def test_reasons_are_counted_the_most_frequent_first() -> None:
    lacks = Misfit("lacks x", "lack x")
    full = Misfit("is full", "are full")
    assert summary([full, lacks, lacks, lacks], 5) == "3 of 5 nodes lack x, 1 is full"
    assert summary([full], 1) == "1 of 1 node is full"
    assert summary([], 3) == ""
    many = [Misfit(f"has {n}", f"have {n}") for n in range(6)]
    assert summary(many, 6) == (
        "1 of 6 nodes has 0, 1 has 1, 1 has 2, 1 has 3, 2 for other reasons"
    )

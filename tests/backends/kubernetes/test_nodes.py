"""Nodes as agents."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from tests.backends.kubernetes.objects import built, node, options
from tests.covers import covers

from determined_master.backends.kubernetes import nodes
from determined_master.backends.kubernetes.foreign_pods import usage_of
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.options import PoolPods
from determined_master.domain.machines.agent_switches import Switches


def asking(cpu: str = "", where: str = "node-a", **more: Any) -> dict[str, Any]:
    """A pod of somebody's that asks for CPUs."""
    container = {"resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"uid": str(uuid.uuid4()), "labels": more.get("labels", {})},
        "spec": {"nodeName": where, "containers": [container]},
        "status": {"phase": more.get("phase", "Running")},
    }


@covers("helm-and-kubernetes 5.cuda 5.rocm 5.cpu")
def test_slots_are_devices_or_whole_shares_of_cpus() -> None:
    assert nodes.slots_of(node(), Decimal(0), options(slot_type="cuda")) == 8
    assert nodes.slots_of(node(), Decimal(0), options(slot_type="rocm")) == 0
    assert nodes.slots_of(node(), Decimal("0.5"), options(cpu_per_slot=1.5)) == 2


@covers("helm-and-kubernetes 5.foreign")
async def test_slots_that_others_hold_are_subtracted_from_the_end() -> None:
    cache = NodeCache(options())
    await cache.replace_all([node()])
    cache.set_own_slots({"node-a": {3}})
    pods = [asking("1500m"), asking("9", "node-b"), asking("4", phase="Succeeded")]
    await cache.set_foreign([usage_of(pod) for pod in pods])
    found = cache.find("node-a")
    assert found is not None
    assert (len(found.devices), found.foreign_slots) == (4, frozenset({1, 2}))


@covers("helm-and-kubernetes 5.cpu")
async def test_the_platforms_own_pods_make_nodes_smaller() -> None:
    cache = NodeCache(options())
    await cache.replace_all([node()])
    await cache.set_foreign([usage_of(asking("1200m", labels={"determined-system": "master"}))])
    found = cache.find("node-a")
    assert found is not None
    assert (len(found.devices), found.foreign_slots) == (2, frozenset())


TAINT = [{"key": "team", "value": "a", "effect": "NoSchedule"}]


@covers("helm-and-kubernetes 5.pool")
@pytest.mark.parametrize(
    ("given", "spec", "serves"),
    [
        (node(), {}, True),
        (node(taints=TAINT), {}, False),
        (node(taints=TAINT), {"tolerations": [{"key": "team", "value": "a"}]}, True),
        (node(taints=TAINT), {"tolerations": [{"operator": "Exists"}]}, True),
        (node(taints=TAINT), {"tolerations": [{"key": "team", "value": "b"}]}, False),
        (node(labels={"rack": "1"}), {"node_selector": {"rack": "1"}}, True),
        (node(labels={"rack": "1"}), {"node_selector": {"rack": "2,1"}}, True),
        (node(), {"nodeSelector": {"rack": "1"}}, False),
        (node(taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]), {}, True),
    ],
)
def test_a_pools_pod_spec_says_which_nodes_it_has(
    given: Any, spec: dict[str, Any], serves: bool
) -> None:
    pool = PoolPods(name="p", gpu_pod_spec={"spec": spec} if spec else None)
    assert nodes.serves(given, pool, has_gpus=True) is serves


@covers("helm-and-kubernetes 5.pool")
@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["7"], True),
        ("NotIn", ["7"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["5"], True),
        ("Lt", ["5"], False),
    ],
)
def test_affinity_is_read_as_kubernetes_reads_it(
    operator: str, values: list[str], matches: bool
) -> None:
    expression = {"key": "gen", "operator": operator, "values": values}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    near = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pool = PoolPods(name="p", cpu_pod_spec={"spec": {"affinity": near}})
    assert nodes.serves(node(labels={"gen": "7"}), pool, has_gpus=False) is matches


@covers("helm-and-kubernetes 5.several")
async def test_a_node_may_serve_several_pools_and_one_of_no_pool_is_left_out() -> None:
    selector = {"spec": {"nodeSelector": {"kind": "x"}}}
    pools = (PoolPods(name="any"), PoolPods(name="x", cpu_pod_spec=selector))
    cache = NodeCache(options(pools=pools))
    await cache.replace_all([node("a", labels={"kind": "x"}), node("b"), node("c", taints=TAINT)])
    found = {s.id: (s.pool, s.more_pools) for s in cache.snapshots()}
    assert found == {"a": ("any", ("x",)), "b": ("any", ())}


async def test_only_ready_nodes_of_a_cluster_that_answers_are_connected() -> None:
    cache = NodeCache(options())
    unready = node("b", status={"conditions": [{"type": "Ready", "status": "Unknown"}]})
    await cache.replace_all([node("a"), unready, node("c", unschedulable=True)])
    assert not any(s.is_connected for s in cache.snapshots())
    cache.set_reachable(is_reachable=True)
    found = {s.id: (s.is_connected, s.is_draining) for s in cache.snapshots()}
    assert found == {"a": (True, False), "b": (False, False), "c": (True, True)}


async def test_a_node_that_has_not_changed_is_the_same_object() -> None:
    cache = NodeCache(options())
    await cache.replace_all([node("a"), node("b")])
    before = cache.find("a")
    cache.put(node("b", labels={"new": "1"}, unschedulable=True))
    assert cache.find("a") is before


@covers("helm-and-kubernetes 18.nodes")
async def test_equal_names_of_nodes_of_two_clusters_stay_distinct() -> None:
    cache = NodeCache(options(node_prefix="west."))
    await cache.replace_all([node("a")])
    assert [s.id for s in cache.snapshots()] == ["west.a"]
    assert cache.has("west.a")
    assert not cache.has("a")


async def test_the_scheduler_sees_all_nodes_and_what_others_request_there() -> None:
    cache = NodeCache(options(node_prefix="west.", cpu_per_slot=0.5))
    await cache.replace_all([node("a", labels={"kind": "x"}, taints=TAINT), node("b")])
    pods = [asking("1500m", "a"), asking("1", "a"), asking("4", "b", phase="Failed")]
    await cache.set_foreign([usage_of(pod) for pod in pods])
    found = cache.loads()
    assert found.per_slot == {"cpu": Decimal("0.5")}
    assert found.nodes["west.a"].foreign == {"cpu": Decimal("2.5"), "pods": 2}
    assert found.nodes["west.a"].facts.labels == {"kind": "x"}
    assert found.nodes["west.b"].foreign == {}
    await cache.set_foreign([usage_of(pod) for pod in pods])
    assert cache.loads() is found
    cache.put(node("a", labels={"kind": "y"}))
    assert cache.loads().nodes["west.a"].facts.labels == {"kind": "y"}
    cache.remove("a")
    assert list(cache.loads().nodes) == ["west.b"]


@covers("helm-and-kubernetes 5.spec")
@pytest.mark.parametrize(("slot_type", "pool"), [("cuda", "gpus"), ("cpu", "cpus")])
async def test_the_pod_spec_of_gpus_counts_for_nodes_with_gpus_alone(
    slot_type: Any, pool: str
) -> None:
    selects = {"spec": {"nodeSelector": {"kind": "x"}}}
    pools = (
        PoolPods(name="cpus", gpu_pod_spec=selects),
        PoolPods(name="gpus", cpu_pod_spec=selects),
    )
    cache = NodeCache(options(slot_type=slot_type, pools=pools))
    await cache.replace_all([node("a")])
    assert [(s.pool, s.more_pools) for s in cache.snapshots()] == [(pool, ())]


@covers("helm-and-kubernetes 5.one_pool 5.autoscaler")
@pytest.mark.parametrize(
    ("key", "is_only", "serves"),
    [
        ("nvidia.com/gpu", True, True),
        ("amd.com/gpu", True, True),
        ("nvidia.com/gpu", False, False),
        ("DeletionCandidateOfClusterAutoscaler", False, True),
        ("team", True, False),
    ],
)
def test_some_taints_are_tolerated_without_a_pod_spec(
    key: str, is_only: bool, serves: bool
) -> None:
    tainted = node(taints=[{"key": key, "value": "present", "effect": "NoSchedule"}])
    pool = PoolPods(name="p")
    assert nodes.serves(tainted, pool, has_gpus=True, is_only=is_only) is serves


@covers("helm-and-kubernetes 5.no_slots 5.agent")
async def test_each_node_is_an_agent_with_its_name_and_address() -> None:
    cache = NodeCache(options(slot_type="cuda"))
    bare = {"allocatable": {"cpu": "4"}, "addresses": []}
    await cache.replace_all([node("a"), node("b", status=bare)])
    found = {s.id: (s.hostname, s.address, len(s.devices)) for s in cache.snapshots()}
    assert found == {"a": ("a", "10.1.0.9", 8), "b": ("b", "", 0)}


@covers("helm-and-kubernetes 5.slot_switch")
async def test_single_slots_of_a_node_can_be_disabled() -> None:
    cache = NodeCache(options(slot_type="cuda"))
    await cache.replace_all([node("a")])
    cache.set_switches({"a": Switches(disabled_slots=frozenset({1}))})
    found = cache.find("a")
    assert found is not None
    assert (found.disabled_slots, found.is_enabled) == (frozenset({1}), True)


MIG = "nvidia.com/mig-1g.10gb"


async def test_slots_can_be_parts_of_gpus() -> None:
    given = options(slot_type="cuda", gpu_resource=MIG)
    offers = {"allocatable": {"cpu": "8", "nvidia.com/gpu": "1", MIG: "7"}}
    cache = NodeCache(given)
    await cache.replace_all([node("a", status=offers)])
    other = asking("1", "a")
    other["spec"]["containers"][0]["resources"]["requests"] = {MIG: "2", "nvidia.com/gpu": "1"}
    await cache.set_foreign([usage_of(other)])
    found = cache.find("a")
    assert found is not None
    assert (len(found.devices), len(found.foreign_slots)) == (7, 2)
    assert cache.loads().per_slot == {MIG: Decimal(1)}
    made = built(2, given).pod["spec"]
    main = made["containers"][-1]
    assert main["resources"] == {"requests": {MIG: "2"}, "limits": {MIG: "2"}}
    assert made["tolerations"] == [{"key": MIG, "operator": "Exists"}]

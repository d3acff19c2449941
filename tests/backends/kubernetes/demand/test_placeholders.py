"""Placeholders: which there are, on which nodes, and what goes before them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import CLUSTER_ID, demand_of, node, options
from tests.backends.kubernetes.objects import pod as pod_of_a_task
from tests.deploy.helm.test_chart import documented

from determined_master import clock
from determined_master.backends.kubernetes.client import KubernetesRefused
from determined_master.backends.kubernetes.demand.placeholders import (
    KEPT_S,
    REFUSED_S,
    Placeholders,
)
from determined_master.backends.kubernetes.manifest.placeholder import DEMAND
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.options import Autoscaling, ClusterOptions, Times
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.backends.kubernetes.pods.state import observe
from determined_master.backends.kubernetes.watches.watch import ObjectChanged, ObjectsListed
from determined_master.domain.machines.agent_switches import Switches
from determined_master.ports.kubernetes import NodeRequest

REQUEST = NodeRequest(allocation_id="7.x.1", slots=(4, 4))
CLASS = f"determined-demand-{CLUSTER_ID}"
SCHEDULING = "scheduling.k8s.io/priorityclasses"
VERBS = {"POST": "create", "DELETE": "delete"}
Json = dict[str, Any]


class Cluster:
    """Answers calls, has the pods that were created, and reports their changes."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.refusals: list[KubernetesRefused] = []
        self.pods: dict[str, Json] = {}
        self.classes: list[Json] = []
        self.cache: Placeholders | None = None
        self.used: dict[str, set[str]] = {}
        """Verbs by group and resource."""

    async def call(self, method: str, path: str, **more: Any) -> Json:
        self.calls.append((method, path.rpartition("/")[2]))
        resource = SCHEDULING if "priorityclasses" in path else "/pods"
        self.used.setdefault(resource, set()).add(VERBS[method])
        if method == "DELETE":
            self.pods.pop(path.rpartition("/")[2], None)
            return {}
        if path.endswith("priorityclasses"):
            self.classes.append(more["body"])
            return {}
        if self.refusals:
            raise self.refusals.pop()
        made: Json = copy.deepcopy(more["body"])
        made["metadata"]["uid"] = f"u-{len(self.calls)}"
        self.pods[made["metadata"]["name"]] = made
        return copy.deepcopy(made)

    def change(self, name: str, kind: Any = "MODIFIED", **more: Any) -> None:
        """Report a pod with these parts of its specification or status."""
        changed = self.pods[name]
        for part, values in more.items():
            changed.setdefault(part, {}).update(values)
        assert self.cache is not None
        self.cache.take(ObjectChanged(kind, copy.deepcopy(changed)))

    def waiting(self) -> list[str]:
        return [name for name, pod in self.pods.items() if not pod["spec"].get("nodeName")]

    def count(self, method: str) -> int:
        return [m for m, _ in self.calls].count(method)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
async def nodes() -> NodeCache:
    """Two ready nodes of four slots, of which one has a label with its name."""
    made = NodeCache(options())
    made.set_reachable(is_reachable=True)
    labels = {"kubernetes.io/hostname": "host-b"}
    await made.replace_all([node("node-a"), node("node-b", labels=labels)])
    return made


@pytest.fixture
def pods(cluster: Cluster) -> PodCache:
    return PodCache(cluster, None, Times())  # type: ignore[arg-type]


def board_of(
    cluster: Cluster, nodes: NodeCache, pods: PodCache, given: ClusterOptions
) -> Placeholders:
    made = demand_of(given, cluster, nodes, pods)
    assert isinstance(made, Placeholders)
    cluster.cache = made
    return made


@pytest.fixture
def placeholders(cluster: Cluster, nodes: NodeCache, pods: PodCache) -> Placeholders:
    given = options(autoscaling=Autoscaling(image="pause:1", max_pods=9))
    made = board_of(cluster, nodes, pods, given)
    made.take(ObjectsListed([]))
    made.request("default", (REQUEST,))
    return made


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now_s = clock.monotonic_s()
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s + seconds)


async def test_a_refused_placeholder_is_made_again_after_a_minute(
    cluster: Cluster, placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.refusals = [KubernetesRefused(403, "Forbidden", "violates PodSecurity")] * 2
    for _ in range(3):
        await placeholders.reconcile()
    assert cluster.count("POST") == 2
    assert placeholders.asked("7.x.1") is None
    later(monkeypatch, REFUSED_S + 1)
    await placeholders.reconcile()
    assert cluster.count("POST") == 4
    asked = placeholders.asked("7.x.1")
    assert asked is not None
    assert asked.pods == 2


@pytest.mark.parametrize(
    "end",
    [
        {"status": {"phase": "Failed"}},
        {"metadata": {"deletionTimestamp": "2026-01-01T12:00:00Z"}},
        {"kind": "DELETED"},
    ],
)
async def test_one_that_others_have_removed_or_ended_is_made_again(
    cluster: Cluster, placeholders: Placeholders, end: Any
) -> None:
    await placeholders.reconcile()
    await placeholders.reconcile()
    assert cluster.count("POST") == 2
    cluster.change(next(iter(cluster.pods)), **end)
    await placeholders.reconcile()
    assert cluster.count("POST") == 3
    assert len(cluster.pods) == 2


async def test_the_end_of_one_does_not_end_the_next_of_its_name(
    cluster: Cluster, placeholders: Placeholders
) -> None:
    await placeholders.reconcile()
    [name, _] = cluster.pods
    old = copy.deepcopy(cluster.pods[name])
    cluster.change(name, status={"phase": "Failed"})
    await placeholders.reconcile()
    placeholders.take(ObjectChanged("DELETED", old))
    await placeholders.reconcile()
    assert cluster.count("POST") == 3


async def test_there_are_placeholders_only_for_pods_without_room(
    cluster: Cluster, placeholders: Placeholders
) -> None:
    placeholders.request("default", (replace(REQUEST, housed=1),))
    await placeholders.reconcile()
    assert len(cluster.pods) == 1
    placeholders.request("default", (REQUEST,))
    await placeholders.reconcile()
    assert len(cluster.pods) == 2
    placeholders.request("default", (replace(REQUEST, housed=2),))
    await placeholders.reconcile()
    assert cluster.pods == {}


async def test_placeholders_keep_off_ready_nodes_with_room(
    cluster: Cluster, nodes: NodeCache, placeholders: Placeholders
) -> None:
    """An autoscaler sees no pod that runs, and another task may start there."""
    nodes.put(node("full", status={"allocatable": {"cpu": "3"}}))
    nodes.put(node("gone", status={"conditions": [{"type": "Ready", "status": "Unknown"}]}))
    nodes.set_switches({"node-a": Switches(is_enabled=False)})
    terms = [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, {}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    own = {"spec": {"affinity": {"nodeAffinity": required}}}
    placeholders.request("default", (replace(REQUEST, pod_spec=own),))
    await placeholders.reconcile()
    ours = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["host-b"]}
    by_field = [{"key": "metadata.name", "operator": "NotIn", "values": ["node-a"]}]
    for pod in cluster.pods.values():
        near = pod["spec"]["affinity"]["nodeAffinity"]
        [first, second] = near["requiredDuringSchedulingIgnoredDuringExecution"][
            "nodeSelectorTerms"
        ]
        assert first == {
            "matchExpressions": [*terms[0]["matchExpressions"], ours],
            "matchFields": by_field,
        }
        assert second == {"matchExpressions": [ours], "matchFields": by_field}


async def test_the_placeholders_of_a_task_go_before_its_pods_come(
    cluster: Cluster, placeholders: Placeholders
) -> None:
    await placeholders.reconcile()
    await placeholders.make_room("7.x.2", "node-a")
    assert len(cluster.pods) == 2, "they keep off this node"
    await placeholders.make_room("7.x.1", "node-a")
    assert cluster.pods == {}
    await placeholders.reconcile()
    assert cluster.pods == {}


async def test_before_a_pod_comes_to_a_node_the_placeholders_of_others_leave_it(
    cluster: Cluster, nodes: NodeCache, placeholders: Placeholders
) -> None:
    """Also those that Kubernetes' scheduler would place there as soon as it has room."""
    await placeholders.reconcile()
    nodes.put(node("node-c"))
    first, second = cluster.pods
    cluster.change(first, spec={"nodeName": "node-c"})
    await placeholders.reconcile()
    assert set(cluster.pods) == {first, second}, "the first holds the node that was added"
    await placeholders.make_room("7.x.2", "node-c")
    assert cluster.pods == {}
    await placeholders.reconcile()
    assert len(cluster.pods) == 2
    await placeholders.make_room("7.x.3", "node-c")
    assert len(cluster.pods) == 2, "the new ones keep off the node"


async def test_a_placeholder_leaves_a_node_on_which_a_pod_of_a_task_waits(
    cluster: Cluster, nodes: NodeCache, pods: PodCache, placeholders: Placeholders
) -> None:
    await placeholders.reconcile()
    [name, _] = cluster.pods
    cluster.change(name, spec={"nodeName": "node-a"})
    seen = observe(pod_of_a_task(node=None), clock.now())
    assert seen is not None
    pods.note(seen)
    assert pods.awaited_nodes() == {"node-a"}
    await placeholders.reconcile()
    assert len(cluster.waiting()) == 2
    await pods.close()


async def test_a_placeholder_leaves_a_node_that_a_handed_over_pod_could_use(
    cluster: Cluster, nodes: NodeCache, pods: PodCache, placeholders: Placeholders
) -> None:
    """The cluster chooses the pod's node; the pod may not preempt either."""
    await placeholders.reconcile()
    nodes.put(node("node-c"))
    [name, _] = cluster.pods
    cluster.change(name, spec={"nodeName": "node-c"})
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    raw = pod_of_a_task(node=None, conditions=[said])
    raw["metadata"]["annotations"]["determined.ai/node"] = "queue:shared"
    raw["spec"]["affinity"] = {}
    raw["spec"]["nodeSelector"] = {"gpu-type": "h100"}
    for labels, waiting in (({}, 1), ({"gpu-type": "h100"}, 2)):
        nodes.put(node("node-c", labels=labels))
        seen = observe(raw, clock.now())
        assert seen is not None
        pods.note(seen, raw)
        await placeholders.reconcile()
        assert len(cluster.waiting()) == waiting
    await placeholders.make_room("7.x.9", "node-c")
    assert len(cluster.waiting()) == 2, "they keep off the node now"
    await pods.close()


async def test_the_account_has_the_rights_for_every_call(
    cluster: Cluster, placeholders: Placeholders
) -> None:
    text = f"no PriorityClass with name {CLASS} was found"
    cluster.refusals = [KubernetesRefused(403, "Forbidden", text)]
    await placeholders.reconcile()
    await placeholders.make_room("7.x.1", "node-a")
    assert cluster.used == {"/pods": {"create", "delete"}, SCHEDULING: {"create"}}
    table = documented()
    assert all(verbs <= table[resource] for resource, verbs in cluster.used.items())


async def test_those_with_a_node_stay_and_as_many_wait_as_pods_have_no_room(
    cluster: Cluster, nodes: NodeCache, placeholders: Placeholders
) -> None:
    wide = replace(REQUEST, slots=(4,) * 5, housed=2)
    placeholders.request("default", (wide,))
    await placeholders.reconcile()
    assert len(cluster.pods) == 3
    nodes.put(node("node-c"))
    [name, *_] = cluster.pods
    cluster.change(name, spec={"nodeName": "node-c"})
    placeholders.request("default", (replace(wide, housed=3),))
    await placeholders.reconcile()
    assert len(cluster.waiting()) == 2
    assert name in cluster.pods
    placeholders.request("default", (replace(wide, housed=1),))
    await placeholders.reconcile()
    assert len(cluster.waiting()) == 4
    placeholders.request("default", (replace(wide, slots=(4,), housed=0),))
    await placeholders.reconcile()
    assert len(cluster.pods) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        {"unschedulable": True},
        None,
    ],
)
async def test_a_placeholder_holds_no_node_that_is_lost_drained_or_removed(
    cluster: Cluster, nodes: NodeCache, placeholders: Placeholders, change: Json | None
) -> None:
    await placeholders.reconcile()
    nodes.put(node("node-c"))
    [name, _] = cluster.pods
    cluster.change(name, spec={"nodeName": "node-c"})
    await placeholders.reconcile()
    assert len(cluster.waiting()) == 1
    if change is None:
        nodes.remove("node-c")
    else:
        nodes.put(node("node-c", **change))
    await placeholders.reconcile()
    assert len(cluster.waiting()) == 2


async def test_the_next_master_keeps_those_that_are_still_requested(
    cluster: Cluster, placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes that they hold could be taken away before the pools have asked again."""
    placeholders.request("default", (REQUEST, replace(REQUEST, allocation_id="8.x.1")))
    await placeholders.reconcile()
    assert len(cluster.pods) == 4
    placeholders.forget()
    await placeholders.reconcile()
    placeholders.take(ObjectsListed(list(cluster.pods.values())))
    await placeholders.reconcile()
    placeholders.request("default", (REQUEST,))
    await placeholders.reconcile()
    assert (len(cluster.pods), cluster.count("POST")) == (4, 4)
    later(monkeypatch, KEPT_S + 1)
    await placeholders.reconcile()
    assert {p["metadata"]["annotations"][DEMAND] for p in cluster.pods.values()} == {"7.x.1"}
    assert cluster.count("POST") == 4


async def test_the_class_is_made_when_it_is_missing_and_carries_the_id_of_the_cluster(
    cluster: Cluster, placeholders: Placeholders
) -> None:
    text = f'pods "x" is forbidden: no PriorityClass with name {CLASS} was found'
    cluster.refusals = [KubernetesRefused(403, "Forbidden", text)]
    assert placeholders.priority_classes() == set()
    await placeholders.reconcile()
    [made] = cluster.classes
    assert made["metadata"] == {
        "name": CLASS,
        "labels": {"determined.ai/cluster_id": CLUSTER_ID},
    }
    assert (made["value"], made["preemptionPolicy"]) == (-10, "Never")
    assert {p["spec"]["priorityClassName"] for p in cluster.pods.values()} == {CLASS}
    assert len(cluster.pods) == 2
    assert placeholders.priority_classes() == {CLASS}


async def test_a_cluster_that_does_not_grow_is_not_asked_and_loses_old_placeholders(
    cluster: Cluster,
    nodes: NodeCache,
    pods: PodCache,
    placeholders: Placeholders,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await placeholders.reconcile()
    assert len(cluster.pods) == 2
    made = board_of(cluster, nodes, pods, options())
    made.take(ObjectsListed(list(cluster.pods.values())))
    await made.reconcile()
    later(monkeypatch, KEPT_S + 1)
    await made.reconcile()
    assert cluster.pods == {}
    assert cluster.count("POST") == 2

"""The slots of pods, node by node."""

from __future__ import annotations

from msgspec.structs import replace
from tests.backends.kubernetes.objects import AT, options, pod
from tests.backends.kubernetes.objects import node as node_object

from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.pods.by_node import PodsByNode
from determined_master.backends.kubernetes.pods.state import observe
from determined_master.backends.kubernetes.pods.steps import PodEntry


def entry(container: str, node: str, *slots: int, is_over: bool = False) -> PodEntry:
    seen = observe(pod(), AT)
    assert seen is not None
    report = replace(
        seen.report, container_id=container, state="TERMINATED" if is_over else "RUNNING"
    )
    return PodEntry(replace(seen, node=node, slot_ids=slots, report=report), report)


def test_slots_of_a_node_are_those_of_its_pods_that_have_not_ended() -> None:
    pods = PodsByNode()
    for one in (
        entry("c-1", "a", 0, 1),
        entry("c-2", "a", 3),
        entry("c-3", "b", 5),
        entry("c-4", "c", 7, is_over=True),
    ):
        pods.put(one)
    assert {node: pods.own_slots(node) for node in "abcd"} == {
        "a": {0, 1, 3},
        "b": {5},
        "c": None,
        "d": None,
    }
    assert set(pods.nodes()) == {"a", "b", "c"}


def test_a_pod_without_slots_makes_its_node_one_with_pods() -> None:
    pods = PodsByNode()
    pods.put(entry("c-1", "a"))
    assert pods.own_slots("a") == set()


def test_slots_are_left_over_while_a_pod_that_nobody_waits_for_may_run() -> None:
    pods, one = PodsByNode(), entry("c-1", "a", 2)
    pods.put(one)
    assert pods.leftover_slots("a") is None
    one.is_forgotten = True
    assert pods.leftover_slots("a") == {2}
    one.is_gone = True
    assert pods.leftover_slots("a") is None


def test_a_node_is_forgotten_with_its_last_pod() -> None:
    pods, first, second = PodsByNode(), entry("c-1", "a", 0), entry("c-2", "a", 1)
    for one in (first, second):
        pods.put(one)
    pods.remove(first)
    assert pods.own_slots("a") == {1}
    pods.remove(second)
    pods.remove(second)
    assert list(pods.nodes()) == []


def test_slots_of_one_node_change_no_other_node() -> None:
    cache = NodeCache(options())
    for name in ("node-a", "node-b"):
        cache.put(node_object(name))
    cache.set_own_slots({"node-a": {0}, "node-b": {1}}, {"node-b": {1}})
    before = cache.find("node-a"), cache.find("node-b")
    cache.put_own_slots("node-b", {1}, None)
    assert cache.find("node-a") is before[0]
    assert before[1] is not None
    assert before[1].foreign_slots == {1}
    after = cache.find("node-b")
    assert after is not None
    assert after.foreign_slots == frozenset()

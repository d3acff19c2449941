"""The usage of nodes by pods of others: sums that follow each change."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.backends.kubernetes.objects import node, options

from determined_master.backends.kubernetes.foreign_pods import ForeignPods, PodUsage, usage_of
from determined_master.backends.kubernetes.node_cache import NodeCache

NODES = ("a", "b", "")
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(("put", "remove")),
        st.integers(0, 4),
        st.sampled_from(NODES),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=30,
)
STEP_CPU_S = 0.002
"""Of a change among 9,000 pods; a count of all of them takes a hundred times as long."""


def usage(number: int, where: str, cpus: int, is_system: bool) -> PodUsage:
    requests = {"cpu": Decimal(cpus), "pods": Decimal(1)} if where else {}
    return PodUsage(f"uid-{number}", where, requests, is_system)


@pytest.mark.parametrize("slot_type", ["cpu", "cuda"])
@given(CHANGES)
def test_changes_one_by_one_lead_to_the_same_sums_as_all_at_once(
    slot_type: Any, changes: list[Any]
) -> None:
    followed, present = ForeignPods(options(slot_type=slot_type)), {}
    for what, number, *rest in changes:
        pod = usage(number, *rest)
        before = {n: _sums(followed, n) for n in NODES}
        if what == "put":
            changed = followed.put(pod)
            present[pod.uid] = pod
        else:
            changed = followed.remove(pod.uid)
            present.pop(pod.uid, None)
        after = {n: _sums(followed, n) for n in NODES}
        assert {n for n in NODES if before[n] != after[n]} <= changed
    listed = ForeignPods(options(slot_type=slot_type))
    for pod in present.values():
        listed.put(pod)
    for name in NODES:
        assert _sums(followed, name) == _sums(listed, name)


def _sums(pods: ForeignPods, name: str) -> tuple[Any, ...]:
    return pods.requests(name), pods.system_cpu(name), pods.slots(name)


def test_a_pod_that_has_ended_uses_nothing() -> None:
    pod: dict[str, Any] = {
        "metadata": {"uid": "u"},
        "spec": {
            "nodeName": "a",
            "containers": [{"resources": {"requests": {"cpu": "2", "nvidia.com/gpu": "1"}}}],
        },
        "status": {"phase": "Running"},
    }
    pods = ForeignPods(options(slot_type="cuda"))
    assert pods.put(usage_of(pod)) == {"a"}
    assert (pods.slots("a"), pods.requests("a")["cpu"]) == (1, 2)
    assert pods.put(usage_of(pod)) == frozenset()
    assert pods.put(usage_of({**pod, "status": {"phase": "Succeeded"}})) == {"a"}
    assert (pods.slots("a"), pods.requests("a")) == (0, {})


async def test_a_change_costs_the_same_however_many_pods_there_are() -> None:
    cache = NodeCache(options())
    cache.set_reachable(is_reachable=True)
    await cache.replace_all([node(f"n{n}") for n in range(300)])
    await cache.set_foreign([usage(n, f"n{n % 300}", 0, False) for n in range(9000)])
    before = cache.find("n7")
    since = time.process_time()
    changes = 200
    for number in range(changes):
        cache.put_foreign(usage(number, f"n{number}", 2, False))
    spent = (time.process_time() - since) / changes
    assert cache.find("n7") != before
    assert spent <= STEP_CPU_S

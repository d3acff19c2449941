"""Devices as slots of nodes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.pods.devices.builders import DRIVER, WHOLE, device, resource_slice

from determined_master.domain.pods.devices.cel import selector
from determined_master.domain.pods.devices.counts import (
    NONE,
    NodeCount,
    SelectedPool,
    count,
    note,
    reaches,
    select,
    together,
)
from determined_master.domain.pods.devices.slices import DeviceId, Reach, slice_of, whole_pool
from determined_master.domain.pods.placement import NodeFacts

RACK = {"matchExpressions": [{"key": "rack", "operator": "Exists"}]}
H100 = frozenset({"NVIDIA H100"})
NODES = (NodeFacts(name="node-a", labels={"rack": "1"}), NodeFacts(name="node-b"))


def selected(*items: dict[str, Any], by: str = WHOLE) -> SelectedPool:
    pool = whole_pool(slice_of(item) for item in items)
    assert pool is not None
    return select(pool, (selector(by),))


def held(pool: str = "node-a", **holders: str) -> dict[DeviceId, str]:
    return {DeviceId(DRIVER, pool, name): node for name, node in holders.items()}


def test_devices_of_the_class_are_slots_of_their_node() -> None:
    made = selected(resource_slice("node-a", device("a"), device("b"), device("m", "mig")))
    assert count(made, {}, NODES) == {"node-a": NodeCount(slots=2, free=2, products=H100)}


def test_devices_that_others_hold_or_that_are_tainted_are_not_free() -> None:
    tainted = device("c", taints=[{"key": "broken", "effect": "NoExecute"}])
    made = selected(resource_slice("node-a", device("a"), device("b"), tainted, device("d")))
    found = count(made, held(a="", b="node-a"), NODES)["node-a"]
    assert found == NodeCount(slots=4, free=1, own=1, others=1, tainted=1, products=H100)
    assert found.taken == 2
    busy = count(made, held(c="node-a"), NODES)["node-a"]
    assert (busy.own, busy.tainted, busy.taken) == (1, 0, 0), "a pod keeps its tainted device"


def test_a_device_of_several_nodes_counts_once() -> None:
    both = resource_slice("net", device("a"), device("b"), where={"allNodes": True})
    assert count(selected(both), {}, NODES)["node-a"].slots == 2
    assert count(selected(both), {}, NODES[::-1]).keys() == {"node-b"}
    assert count(selected(both), {}, ()) == {}
    elsewhere = count(selected(both), held("net", a="node-b"), NODES)["node-a"]
    assert (elsewhere.own, elsewhere.free, elsewhere.taken, elsewhere.others) == (0, 1, 1, 0)


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        (Reach(node="node-a"), [True, False]),
        (Reach(), [True, True]),
        (Reach(is_nowhere=True), [False, False]),
        (Reach(terms=(RACK,)), [True, False]),
    ],
)
def test_a_node_selector_chooses_the_nodes_of_a_device(reach: Reach, expected: list[bool]) -> None:
    assert [reaches(reach, node) for node in NODES] == expected


def test_parts_of_one_gpu_share_its_counters() -> None:
    memory = {"name": "gpu-0", "counters": {"memory": {"value": "80Gi"}}}

    def part(name: str, amount: str, kind: str = "mig") -> dict[str, Any]:
        uses = {"counterSet": "gpu-0", "counters": {"memory": {"value": amount}}}
        return device(name, kind, consumesCounters=[uses])

    pool = {"resourceSliceCount": 2}
    items = (
        resource_slice("node-a", sharedCounters=[memory], pool=pool, name="counters"),
        resource_slice(
            "node-a",
            *(part(f"m{n}", "30Gi") for n in range(4)),
            part("whole", "80Gi", "gpu"),
            pool=pool,
        ),
    )
    made = selected(*items, by=f"device.attributes['{DRIVER}'].type == 'mig'")
    assert count(made, {}, NODES)["node-a"].slots == 2
    one = count(made, held(m3=""), NODES)["node-a"]
    assert (one.slots, one.free, one.others, one.taken) == (2, 1, 1, 1)
    whole = count(made, held(whole=""), NODES)["node-a"]
    assert (whole.slots, whole.free, whole.taken) == (2, 0, 2), "another class has all of it"


def test_a_counter_that_the_pool_lacks_keeps_a_device_out() -> None:
    uses = {"counterSet": "none", "counters": {"memory": {"value": "1"}}}
    made = selected(resource_slice("node-a", device("a", consumesCounters=[uses])))
    assert count(made, {}, NODES)["node-a"].slots == 0


def test_a_selector_that_fails_names_the_device_and_where() -> None:
    made = selected(
        resource_slice("node-a", device("a"), {"name": "bare"}),
        by=f"device.attributes['{DRIVER}'].type == 'gpu'",
    )
    assert [d.id.name for d in made.devices] == ["a"]
    [(reach, text)] = made.failures
    assert reach == Reach(node="node-a")
    assert text == f"device {DRIVER}/node-a/bare: the device has no 'type'"


def test_the_note_has_numbers() -> None:
    found = together(
        [NodeCount(slots=4, others=3, tainted=1, products=H100), NodeCount(slots=4, free=4)]
    )
    assert note("gpu", found) == (
        "of 8 devices of DeviceClass gpu, others hold 3 and 1 has a taint"
    )
    assert note("gpu", NodeCount(slots=2, tainted=2)).endswith("2 have a taint")
    assert note("gpu", NONE) == note("gpu", NodeCount(slots=2, free=2)) == ""

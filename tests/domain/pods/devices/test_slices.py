"""ResourceSlices as pools of devices."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.domain.pods.devices.builders import DRIVER, claim, device, device_class, resource_slice

from determined_master.domain.pods.devices.cel import CelQuantity, CelVersion
from determined_master.domain.pods.devices.claims import claim_of, class_of
from determined_master.domain.pods.devices.slices import (
    DeviceId,
    DevicePool,
    Reach,
    slice_of,
    whole_pool,
)


def pool_of(*items: dict[str, Any]) -> DevicePool | None:
    return whole_pool(slice_of(item) for item in items)


def names(pool: DevicePool | None) -> list[str] | None:
    return None if pool is None else [d.id.name for d in pool.devices]


def part(generation: int, count: int, *devices: str) -> dict[str, Any]:
    pool = {"generation": generation, "resourceSliceCount": count}
    return resource_slice("node-a", *map(device, devices), pool=pool)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([part(1, 1, "a", "b")], ["a", "b"]),
        ([part(1, 2, "b"), part(1, 2, "a")], ["a", "b"]),
        ([part(1, 2, "a")], None),
        ([part(1, 2, "a"), part(1, 3, "b")], None),
        ([part(1, 1, "old"), part(2, 1, "new")], ["new"]),
        ([part(1, 1, "old"), part(2, 2, "new")], None),
        ([part(1, 2, "a"), part(1, 2, "a")], None),
        ([part(1, 1)], []),
        ([], None),
    ],
)
def test_the_newest_generation_counts_and_only_when_it_is_complete(
    items: list[dict[str, Any]], expected: list[str] | None
) -> None:
    assert names(pool_of(*items)) == expected


def test_all_versions_of_a_slice_have_the_same_meaning() -> None:
    given = device("a", capacity={"memory": {"value": "80Gi"}}, taints=[{"effect": "NoSchedule"}])
    older = {"name": "a", "basic": {k: v for k, v in given.items() if k != "name"}}
    now, before = pool_of(resource_slice("n", given)), pool_of(resource_slice("n", older))
    assert now == before
    assert now is not None
    [made] = now.devices
    assert made.id == DeviceId(DRIVER, "n", "a")
    assert (made.reach, made.is_tainted, made.product) == (Reach(node="n"), True, "NVIDIA H100")
    assert made.variable["capacity"][DRIVER] == {"memory": CelQuantity(Decimal(80 * 2**30))}


def test_a_name_with_a_domain_belongs_to_it() -> None:
    attributes = {"other.example/numa": {"int": 1}, "v": {"version": "1.2.3"}, "x": {}}
    [made] = slice_of(resource_slice("n", {"name": "a", "attributes": attributes})).devices
    assert made.variable["attributes"]["other.example"] == {"numa": 1}
    assert made.variable["attributes"][DRIVER] == {"v": CelVersion("1.2.3"), "x": None}


TERM = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["1"]}]}


@pytest.mark.parametrize(
    ("where", "own", "reach"),
    [
        ({"allNodes": True}, {}, Reach()),
        ({"nodeSelector": {"nodeSelectorTerms": [TERM]}}, {}, Reach(terms=(TERM,))),
        ({"perDeviceNodeSelection": True}, {"nodeName": "b"}, Reach(node="b")),
        ({"perDeviceNodeSelection": True}, {"allNodes": True}, Reach()),
        ({"perDeviceNodeSelection": True}, {}, Reach(is_nowhere=True)),
        ({"nodeSelector": "x"}, {}, Reach(is_nowhere=True)),
        ({}, {"allNodes": True}, Reach(is_nowhere=True)),
    ],
)
def test_a_slice_or_each_of_its_devices_names_the_nodes(
    where: dict[str, Any], own: dict[str, Any], reach: Reach
) -> None:
    [made] = slice_of(resource_slice("net", device("a", **own), where=where)).devices
    assert made.reach == reach


@pytest.mark.parametrize(
    "spec",
    [None, 7, {"pool": 3, "devices": 4}, {"devices": [1, {"attributes": [2], "taints": {}}]}],
)
def test_parts_of_a_wrong_type_count_as_absent(spec: Any) -> None:
    assert slice_of({"spec": spec}).slices == 0


@pytest.mark.parametrize("effect", ["None", "Later", ""])
def test_taints_without_a_known_effect_keep_nothing_away(effect: str) -> None:
    given = device("a", taints=[{"key": "k", "effect": effect}])
    assert not slice_of(resource_slice("n", given)).devices[0].is_tainted


def test_a_claim_holds_what_is_allocated_to_it_for_use() -> None:
    held = claim_of(claim("c", "a", "b", owner="u"))
    assert held.devices == (DeviceId(DRIVER, "node-a", "a"), DeviceId(DRIVER, "node-a", "b"))
    assert held.owners == {"u"}
    assert claim_of(claim("c", "a", adminAccess=True)).devices == ()
    assert claim_of({"status": {"allocation": {"devices": {"results": 3}}}}).devices == ()


def test_a_class_that_is_missing_or_not_understood_names_the_remedy() -> None:
    missing = class_of(None, "gpu", "", "the cluster").trouble
    assert "the cluster has no DeviceClass 'gpu': install the driver" in missing
    odd = class_of(device_class("gpu", "device.driver.matches('x')"), "gpu", "", "the cluster")
    assert "(the function matches is not evaluated by the master)" in odd.trouble
    assert odd.selectors == ()
    given = class_of(device_class("gpu", "true"), "gpu", "device.driver == 'x'", "the cluster")
    assert [one.text for one in given.selectors] == ["true", "device.driver == 'x'"]
    assert class_of({"spec": {}}, "gpu", "", "c").selectors == ()

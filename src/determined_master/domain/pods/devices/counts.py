"""How many devices of a class each node offers as slots, and how many of them are free.

Slots are numbers, as with a device plugin: Kubernetes' scheduler chooses the device. A device that
several nodes can use counts on one of them, so that no device is planned twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import msgspec

from determined_master.domain.pods.devices.cel import CelSelector, Undecided
from determined_master.domain.pods.devices.slices import (
    Counters,
    DeviceFacts,
    DeviceId,
    DevicePool,
    Reach,
)
from determined_master.domain.pods.placement import NodeFacts
from determined_master.domain.pods.selection import matches

Held = Mapping[DeviceId, str]
"""By allocated device: the node of this master's pod that has it; empty for other holders."""


class SelectedPool(msgspec.Struct, frozen=True):
    """A pool, and its devices that a class takes."""

    pool: DevicePool
    devices: tuple[DeviceFacts, ...]
    failures: tuple[tuple[Reach, str], ...] = ()
    """Where the selectors of the class fail, and why: Kubernetes allocates nothing there."""


class NodeCount(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of one node."""

    slots: int = 0
    """How many can be in use at once."""
    free: int = 0
    """How many more can be allocated now."""
    own: int = 0
    """How many this master's pods have on this node."""
    others: int = 0
    """How many others have, on whatever node."""
    tainted: int = 0
    """How many of the rest have a taint."""
    products: frozenset[str] = frozenset()

    @property
    def taken(self) -> int:
        """Slots that none of this master's pods has, and that none can get."""
        return max(0, self.slots - self.own - self.free)


NONE = NodeCount()


def select(pool: DevicePool, selectors: Sequence[CelSelector]) -> SelectedPool:
    """The devices of a pool that meet all selectors. Cost: devices times selectors."""
    devices, failures = [], []
    for device in pool.devices:
        try:
            if all(one.matches(device.variable) for one in selectors):
                devices.append(device)
        except Undecided as error:
            failures.append((device.reach, f"device {'/'.join(device.id)}: {error}"))
    return SelectedPool(pool, tuple(devices), tuple(failures))


def home_of(reach: Reach, nodes: Sequence[NodeFacts]) -> str:
    """The node on which a device counts; empty for none.

    Args:
        reach: of the device.
        nodes: in the order of preference for devices that several nodes can use.
    """
    if reach.node:
        return reach.node
    return next((node.name for node in nodes if reaches(reach, node)), "")


def reaches(reach: Reach, node: NodeFacts) -> bool:
    """Whether a node can use a device."""
    if reach.node or reach.is_nowhere:
        return reach.node == node.name
    return not reach.terms or matches(reach.terms, node.labels, node.name)


def count(selected: SelectedPool, held: Held, nodes: Sequence[NodeFacts]) -> dict[str, NodeCount]:
    """The devices of a pool by the node on which they count.

    Args:
        selected: the pool, and its devices of the class.
        held: all allocated devices, also those of other classes.
        nodes: as in `home_of`.

    Cost: O(devices), and O(nodes) for each reach of several nodes.
    """
    by_node = _by_node(selected.devices, nodes)
    pool = selected.pool
    placed = [(node, device) for node, devices in by_node.items() for device in devices]
    slots = _usable(placed, pool.counters, ())
    in_use = [device for device in pool.devices if device.id in held]
    usable = [(n, d) for n, d in placed if d.id not in held and not d.is_tainted]
    free = _usable(usable, pool.counters, in_use)
    counts = {}
    for node, devices in by_node.items():
        counts[node] = NodeCount(
            slots=slots.get(node, 0),
            free=free.get(node, 0),
            own=_number_held(devices, held, node),
            others=_number_held(devices, held, ""),
            tainted=_number_tainted(devices, held),
            products=frozenset(d.product for d in devices),
        )
    return counts


def _by_node(
    devices: Iterable[DeviceFacts], nodes: Sequence[NodeFacts]
) -> dict[str, list[DeviceFacts]]:
    """The devices by the node on which they count; without those that no node can use."""
    homes: dict[int, str] = {}
    by_node: dict[str, list[DeviceFacts]] = {}
    for device in devices:
        key = id(device.reach)
        if key not in homes:
            homes[key] = home_of(device.reach, nodes)
        if homes[key]:
            by_node.setdefault(homes[key], []).append(device)
    return by_node


def _number_held(devices: Iterable[DeviceFacts], held: Held, holder: str) -> int:
    return sum(1 for device in devices if held.get(device.id) == holder)


def _number_tainted(devices: Iterable[DeviceFacts], held: Held) -> int:
    return sum(1 for device in devices if device.is_tainted and device.id not in held)


def together(counts: Iterable[NodeCount]) -> NodeCount:
    """The sum of counts."""
    found = NONE
    for one in counts:
        found = NodeCount(
            slots=found.slots + one.slots,
            free=found.free + one.free,
            own=found.own + one.own,
            others=found.others + one.others,
            tainted=found.tainted + one.tainted,
            products=found.products | one.products,
        )
    return found


def note(device_class: str, found: NodeCount) -> str:
    """Why devices of a class are no free slots, for users who wait; empty when all can be.

    Args:
        device_class: its name.
        found: of all nodes together.
    """
    parts = []
    if found.others:
        parts.append(f"others hold {found.others}")
    if found.tainted:
        parts.append(f"{found.tainted} {'has' if found.tainted == 1 else 'have'} a taint")
    if not parts:
        return ""
    return f"of {found.slots} devices of DeviceClass {device_class}, {' and '.join(parts)}"


def _usable(
    devices: Iterable[tuple[str, DeviceFacts]], counters: Counters, used: Iterable[DeviceFacts]
) -> dict[str, int]:
    """How many devices can be in use at once beside the used ones, by node.

    Parts of one GPU share its counters, so fewer of them fit than there are. They are taken in
    order, which is the greatest number where all consume the same.
    """
    left = dict(counters)
    for device in used:
        for key, amount in device.consumes.items():
            left[key] = left.get(key, Decimal(0)) - amount
    found: dict[str, int] = {}
    for home, device in devices:
        if any(left.get(key, Decimal(0)) < amount for key, amount in device.consumes.items()):
            continue
        for key, amount in device.consumes.items():
            left[key] -= amount
        found[home] = found.get(home, 0) + 1
    return found

"""The devices of one class by node, up to date with each slice, claim and pod that changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from determined_master.domain.pods.devices.claims import ClaimFacts, ClassFacts
from determined_master.domain.pods.devices.counts import (
    NONE,
    NodeCount,
    SelectedPool,
    count,
    reaches,
    select,
    together,
)
from determined_master.domain.pods.devices.slices import (
    DeviceId,
    DevicePoolId,
    SliceFacts,
    whole_pool,
)
from determined_master.domain.pods.placement import NodeFacts

Names = frozenset[str]


class DeviceCache:
    """Each change costs as much as the pools of devices that it concerns."""

    def __init__(self) -> None:
        self._slices: dict[str, SliceFacts] = {}
        self._class = ClassFacts()
        self._claims: dict[str, ClaimFacts] = {}
        self._own: Mapping[tuple[str, str], tuple[str, str]] = {}
        """By namespace and name of the claims of live pods: uid of the pod, and its node."""
        self._holders: dict[DeviceId, str] = {}
        """By allocated device: uid of the claim that has it."""
        self._selected: dict[DevicePoolId, SelectedPool] = {}
        self._parts: dict[str, dict[DevicePoolId, NodeCount]] = {}
        self._nodes: tuple[NodeFacts, ...] = ()
        self._blocked: dict[str, str] = {}
        """By node: why a selector of the class fails there."""
        self.incomplete: frozenset[DevicePoolId] = frozenset()
        """Pools whose slices are not all there."""

    def of(self, node: str) -> NodeCount:
        """The devices of a node."""
        parts = self._parts.get(node)
        if not parts or node in self._blocked:
            return NONE
        return next(iter(parts.values())) if len(parts) == 1 else together(parts.values())

    def total(self) -> NodeCount:
        """The devices of all nodes."""
        return together(self.of(node) for node in self._parts)

    def failure(self) -> str:
        """Why a selector of the class fails somewhere; empty when it does not."""
        return next(iter(self._blocked.values()), "")

    def set_class(self, class_facts: ClassFacts) -> Names:
        """The class is known, or has changed; returns the nodes whose devices have."""
        if class_facts == self._class:
            return frozenset()
        self._class = class_facts
        return self._select({one.pool for one in self._slices.values()})

    def set_slices(self, items: Iterable[tuple[str, SliceFacts]]) -> Names:
        """These are all slices, with their uids."""
        before, self._slices = self._slices, dict(items)
        return self._select({s.pool for s in [*before.values(), *self._slices.values()]})

    def put_slice(self, uid: str, one: SliceFacts) -> Names:
        """A slice is new or has changed."""
        before = self._slices.get(uid)
        self._slices[uid] = one
        return self._select({one.pool, *([before.pool] if before else [])})

    def remove_slice(self, uid: str) -> Names:
        """A slice is gone."""
        gone = self._slices.pop(uid, None)
        return frozenset() if gone is None else self._select({gone.pool})

    def set_claims(self, items: Iterable[ClaimFacts]) -> Names:
        """These are all claims."""
        now = {claim.uid: claim for claim in items}
        changed = {
            d
            for uid in self._claims.keys() | now.keys()
            if self._claims.get(uid) != now.get(uid)
            for claim in (self._claims.get(uid), now.get(uid))
            if claim is not None
            for d in claim.devices
        }
        self._claims = now
        self._holders = {d: claim.uid for claim in now.values() for d in claim.devices}
        return self._count(_pools(changed))

    def put_claim(self, claim: ClaimFacts) -> Names:
        """A claim is new or has changed."""
        before = self._claims.get(claim.uid)
        if before == claim:
            return frozenset()
        self._claims[claim.uid] = claim
        return self._hold(before.devices if before else (), claim)

    def remove_claim(self, uid: str) -> Names:
        """A claim is gone."""
        gone = self._claims.pop(uid, None)
        return frozenset() if gone is None else self._hold(gone.devices, None)

    def set_own(self, own: Mapping[tuple[str, str], tuple[str, str]]) -> Names:
        """These are the claims for slots of this master's live pods.

        Args:
            own: by namespace and name of the claim: uid and node of the pod.
        """
        before, self._own = self._own, own
        changed = {k for k in before.keys() | own.keys() if before.get(k) != own.get(k)}
        if not changed:
            return frozenset()
        devices = {
            d for c in self._claims.values() if (c.namespace, c.name) in changed for d in c.devices
        }
        return self._count(_pools(devices))

    def set_nodes(self, nodes: Sequence[NodeFacts]) -> Names:
        """The nodes, in the order of preference for devices that several of them can use."""
        if tuple(nodes) == self._nodes:
            return frozenset()
        self._nodes = tuple(nodes)
        shared = {
            pool
            for pool, selected in self._selected.items()
            if any(not device.reach.node for device in selected.pool.devices)
        }
        return self._count(shared) | self._block()

    def _hold(self, before: Iterable[DeviceId], claim: ClaimFacts | None) -> Names:
        """Note the devices of a claim that had others before."""
        now = () if claim is None else claim.devices
        for device in before:
            self._holders.pop(device, None)
        if claim is not None:
            self._holders.update(dict.fromkeys(now, claim.uid))
        return self._count(_pools([*before, *now]))

    def _select(self, pools: Iterable[DevicePoolId]) -> Names:
        """Apply the class to pools whose slices have changed."""
        pool_ids = set(pools)
        slices: dict[DevicePoolId, list[SliceFacts]] = {pool: [] for pool in pool_ids}
        for one in self._slices.values():
            if one.pool in pool_ids:
                slices[one.pool].append(one)
        missing = set(self.incomplete) - pool_ids
        for pool, parts in slices.items():
            whole = whole_pool(parts)
            if whole is None:
                self._selected.pop(pool, None)
                if parts:
                    missing.add(pool)
            elif self._class.trouble:
                self._selected[pool] = SelectedPool(whole, ())
            else:
                self._selected[pool] = select(whole, self._class.selectors)
        self.incomplete = frozenset(missing)
        return self._count(pool_ids) | self._block()

    def _count(self, pools: Iterable[DevicePoolId]) -> Names:
        changed: set[str] = set()
        for pool in pools:
            selected = self._selected.get(pool)
            held = {} if selected is None else self._held(selected)
            now = {} if selected is None else count(selected, held, self._nodes)
            before = {node for node, parts in self._parts.items() if pool in parts}
            for node in before | now.keys():
                parts = self._parts.setdefault(node, {})
                if parts.get(pool) != now.get(node):
                    changed.add(node)
                parts.pop(pool, None)
                if node in now:
                    parts[pool] = now[node]
                if not parts:
                    del self._parts[node]
        return frozenset(changed)

    def _held(self, selected: SelectedPool) -> dict[DeviceId, str]:
        nodes_by_device = {}
        for device in selected.pool.devices:
            holder = self._holders.get(device.id)
            if holder is not None:
                nodes_by_device[device.id] = self._node_of(self._claims[holder])
        return nodes_by_device

    def _node_of(self, claim: ClaimFacts) -> str:
        """The node of the live pod for whose slots a claim was made; empty for other claims."""
        uid, node = self._own.get((claim.namespace, claim.name), ("", ""))
        return node if uid in claim.owners else ""

    def _block(self) -> Names:
        before, self._blocked = self._blocked, {}
        for selected in self._selected.values():
            for reach, text in selected.failures:
                names = [reach.node] if reach.node else []
                names += [] if reach.node else [n.name for n in self._nodes if reaches(reach, n)]
                for name in names:
                    self._blocked.setdefault(name, text)
        return frozenset(before.keys() ^ self._blocked.keys())


def _pools(devices: Iterable[DeviceId]) -> set[DevicePoolId]:
    return {DevicePoolId(device.driver, device.pool) for device in devices}

"""The placeholders of one cluster as its API server reports them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from determined_master.backends.kubernetes.manifest.placeholder import DEMAND
from determined_master.backends.kubernetes.watches.watch import ObjectChanged, ObjectsListed
from determined_master.domain.pods.needs import PodNeeds, needs_of
from determined_master.domain.pods.placement import NodeFacts, misfit

Place = tuple[str, str]
"""Namespace and name."""


class PlaceholderPod(msgspec.Struct, frozen=True, kw_only=True):
    """A placeholder that exists."""

    uid: str
    allocation_id: str
    """The allocation that waits."""
    node: str
    """Its name; empty while no node has room."""
    has_ended: bool
    """It holds nothing any more, or is about to end: others removed it, or its node did."""
    needs: PodNeeds

    def may_be_on(self, node: NodeFacts) -> bool:
        """Whether it is on a node, or Kubernetes' scheduler could place it there at any time."""
        return self.node == node.name or (not self.node and misfit(self.needs, node) is None)


class PlaceholderPods:
    """Placeholders by place; None before they were listed."""

    def __init__(self) -> None:
        self.by_place: dict[Place, PlaceholderPod] | None = None

    def take(self, change: ObjectsListed | ObjectChanged) -> None:
        """Pods of this master were listed, or one has changed; others than placeholders too."""
        if isinstance(change, ObjectsListed):
            self.by_place = dict(_placeholders(change.items))
            return
        by_place = self.by_place
        for place, one in _placeholders([change.item]):
            if by_place is None:
                return
            if change.kind != "DELETED":
                by_place[place] = one
            elif place in by_place and by_place[place].uid == one.uid:
                del by_place[place]

    def put(self, pod: Mapping[str, Any]) -> None:
        """One was created; what the watch has already brought of it is newer."""
        for place, one in _placeholders([pod]):
            if self.by_place is not None:
                self.by_place.setdefault(place, one)


def _placeholders(pods: Iterable[Mapping[str, Any]]) -> Iterable[tuple[Place, PlaceholderPod]]:
    for pod in pods:
        meta, status = pod.get("metadata") or {}, pod.get("status") or {}
        if DEMAND not in (meta.get("labels") or {}):
            continue
        yield (
            (str(meta.get("namespace")), str(meta.get("name"))),
            PlaceholderPod(
                uid=str(meta.get("uid")),
                allocation_id=str((meta.get("annotations") or {}).get(DEMAND, "")),
                node=str((pod.get("spec") or {}).get("nodeName") or ""),
                has_ended=status.get("phase") in ("Failed", "Succeeded")
                or bool(meta.get("deletionTimestamp")),
                needs=needs_of(pod),
            ),
        )

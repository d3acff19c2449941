"""Follows the objects of the cluster, and reports outages of its API server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import (
    Json,
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
    KubernetesUnusable,
)
from determined_master.backends.kubernetes.demand.nodes import NodeDemand
from determined_master.backends.kubernetes.devices.follow import DeviceFollower
from determined_master.backends.kubernetes.foreign_pods import usage_of
from determined_master.backends.kubernetes.gateway.ports import GatewayPorts
from determined_master.backends.kubernetes.handover.waits import REFRESH_S, QueueWaits
from determined_master.backends.kubernetes.log.pod_events import PodEventNotes
from determined_master.backends.kubernetes.maintenance import ClusterMaintenance
from determined_master.backends.kubernetes.namespace_rules import NamespaceRules
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.node_labels import NodeLabels
from determined_master.backends.kubernetes.node_presence import NodePresence
from determined_master.backends.kubernetes.options import ClusterOptions, Times
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.backends.kubernetes.pods.changes import PodChanges
from determined_master.backends.kubernetes.watches.reach import NEEDED, ClusterReach
from determined_master.backends.kubernetes.watches.several_watches import follow_all
from determined_master.backends.kubernetes.watches.watch import (
    ObjectChanged,
    ObjectsListed,
    WatchLost,
    whole,
)
from determined_master.ports.kubernetes import ClusterTrouble, PodEvents

log = logging.getLogger(__name__)

TICK_S = 1.0
MAINTENANCE_S = 60.0
OF_PODS = {"fieldSelector": "involvedObject.kind=Pod"}


@dataclass(frozen=True)
class Caches:
    """The objects of the cluster, as they are known."""

    nodes: NodeCache
    pods: PodCache
    rules: NamespaceRules
    demand: NodeDemand
    labels: NodeLabels
    waits: QueueWaits
    gateway: GatewayPorts
    devices: DeviceFollower


class ClusterWatcher:
    """Follows one cluster while its master leads."""

    def __init__(
        self,
        options: ClusterOptions,
        api: KubernetesApi,
        events: PodEvents,
        caches: Caches,
        maintenance: ClusterMaintenance,
        times: Times,
        node_wait_s: float = 25.0,
    ) -> None:
        self._options = options
        self._api = api
        self._caches = caches
        self._maintenance = maintenance
        self._times = times
        self._reach = ClusterReach(maintenance.cluster)
        self._notes = PodEventNotes(caches.pods, events)
        self._changes = PodChanges(
            api, events, caches.nodes, caches.pods, self._notes, caches.devices
        )
        self._node_presence = NodePresence(options, events, caches.nodes, caches.pods, node_wait_s)

    @property
    def is_reachable(self) -> bool:
        """Whether the cluster is followed now."""
        return self._reach.is_whole and self._caches.devices.is_known

    @property
    def trouble(self) -> ClusterTrouble | None:
        """What keeps every pod from starting at present."""
        return self._reach.outage or self._caches.devices.trouble or self._maintenance.trouble

    async def run(self, expected: Mapping[str, str]) -> None:
        """Follow the cluster until cancelled.

        Args:
            expected: nodes that run containers according to the database.
        """
        self._reach.begin()
        self._changes.begin()
        self._caches.demand.forget()
        self._caches.gateway.reset()
        self._node_presence.begin(expected)
        cluster = self._options.cluster_id
        own = {"labelSelector": f"{names.CLUSTER}={cluster}"}
        others = {
            "labelSelector": f"{names.CLUSTER}!={cluster}",
            "fieldSelector": "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed",
        }
        async with asyncio.TaskGroup() as group:
            for work in (
                lambda: self._follow("nodes", "nodes", {}, self._on_nodes),
                lambda: self._follow("pods", "pods", own, self._on_pods),
                lambda: self._follow_rules("resourcequotas"),
                lambda: self._follow_rules("limitranges"),
                lambda: self._follow("events", "events", OF_PODS, self._notes.take),
                lambda: self._follow("foreign pods", "pods", others, self._on_foreign, usage_of),
                lambda: self._every(TICK_S, self._tick),
                lambda: self._every(MAINTENANCE_S, self._maintenance.run),
                lambda: self._every(TICK_S, self._caches.demand.reconcile),
                lambda: self._every(TICK_S, self._caches.labels.reconcile),
                lambda: self._every(REFRESH_S, self._caches.waits.refresh),
                lambda: self._every(TICK_S, self._caches.gateway.reconcile),
                *self._caches.devices.works(self._update_nodes),
            ):
                group.create_task(_forever(work, self._times))

    async def _follow(
        self,
        what: str,
        kind: str,
        query: Mapping[str, str],
        take: Callable[[ObjectsListed | ObjectChanged], Awaitable[None]],
        keep: Callable[[Json], Any] = whole,
    ) -> None:
        stream = follow_all(self._api, self._options.paths_of(kind), query, self._times, keep)
        async with contextlib.aclosing(stream) as changes:
            async for change in changes:
                if isinstance(change, WatchLost):
                    await self._lose(what, change)
                else:
                    await take(change)

    async def _lose(self, what: str, lost: WatchLost) -> None:
        if what in self._caches.rules:
            self._caches.rules.forget(what)
            self._note_unknown(what, "are not known, and not planned with", lost)
            return
        if what == "foreign pods":  # the last known usage stays: no node is lost for that
            if lost.is_forbidden and not self._reach.is_listed(what):
                await self._on_foreign(ObjectsListed([]))
            self._note_unknown(what, "are not followed, and count as they were", lost)
            return
        if self._reach.is_listed(what) or not self._node_presence.has_joined:
            log.warning("Kubernetes is not reached: %s", lost.reason, extra={"objects": what})
        if what in NEEDED:
            self._reach.note_lost(what, lost.reason)
            self._node_presence.note_outage()

    def _note_unknown(self, what: str, text: str, lost: WatchLost) -> None:
        self._reach.note_unknown(what, text, lost, is_reachable=self.is_reachable)

    async def _every(self, pause_s: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            is_due = self.is_reachable
            try:
                if is_due:
                    await work()
            except (KubernetesUnreachable, KubernetesRefused) as error:
                log.warning("Kubernetes: %s", error)
            await asyncio.sleep(pause_s if is_due else TICK_S)

    async def _on_nodes(self, change: ObjectsListed | ObjectChanged) -> None:
        if isinstance(change, ObjectsListed):
            await self._caches.nodes.replace_all(change.items)
            self._reach.note_listed("nodes")
        elif change.kind == "DELETED":
            self._caches.nodes.remove(str(change.item["metadata"]["name"]))
        else:
            self._caches.nodes.put(change.item)
        await self._update_nodes()

    async def _on_pods(self, change: ObjectsListed | ObjectChanged) -> None:
        self._caches.demand.take(change)
        if isinstance(change, ObjectChanged):
            await self._changes.take(change)
            return
        self._changes.replace_all(change.items)
        self._reach.note_listed("pods")
        await self._update_nodes()
        await self._changes.match_all()
        self._changes.note_slots()

    async def _update_nodes(self) -> None:
        if self.is_reachable:
            self._reach.note_reached()
            await self._node_presence.update()

    async def _tick(self) -> None:
        for pod in self._caches.pods.tick():
            await self._caches.pods.delete(pod, grace_s=None if pod.is_scheduled else 0)
        try:
            await self._node_presence.tick(TICK_S)
        finally:
            self._changes.note_slots()
        await self._caches.pods.delete_abandoned()

    async def _on_foreign(self, change: ObjectsListed | ObjectChanged) -> None:
        if isinstance(change, ObjectsListed):
            self._reach.note_known("foreign pods")
            await self._caches.nodes.set_foreign([*change.items, *self._changes.handed_over])
            self._reach.note_listed("foreign pods")
            await self._update_nodes()
        elif change.kind == "DELETED":
            self._caches.nodes.remove_foreign(change.item.uid)
        else:
            self._caches.nodes.put_foreign(change.item)

    async def _follow_rules(self, kind: str) -> None:
        async def take(change: ObjectsListed | ObjectChanged) -> None:
            if isinstance(change, ObjectsListed):
                self._reach.note_known(kind)
            self._caches.rules.take(kind, change)

        await self._follow(kind, kind, {}, take)


async def _forever(work: Callable[[], Awaitable[None]], times: Times) -> None:
    """Restart after a failure: the cluster is followed as long as the master leads."""
    while True:
        try:
            await work()
        except KubernetesUnusable as error:
            log.error("%s", error.text)
            await asyncio.sleep(times.backoff.longest)
        except Exception:
            log.exception("following Kubernetes failed")
            await asyncio.sleep(times.backoff.first)

"""Follows the objects of the cluster: reports lost and new nodes, and changed pods."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from determined_master import clock
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
from determined_master.backends.kubernetes.foreign_pods import PodUsage, usage_of
from determined_master.backends.kubernetes.gateway.ports import GatewayPorts
from determined_master.backends.kubernetes.handover.waits import REFRESH_S, QueueWaits
from determined_master.backends.kubernetes.log.pod_events import PodEventNotes
from determined_master.backends.kubernetes.node_board import NodeBoard
from determined_master.backends.kubernetes.node_labels import NodeLabels
from determined_master.backends.kubernetes.options import ClusterOptions, Times
from determined_master.backends.kubernetes.pods.board import PodBoard
from determined_master.backends.kubernetes.pods.state import Observed, observe
from determined_master.backends.kubernetes.several_watches import follow_all
from determined_master.backends.kubernetes.upkeep import Upkeep
from determined_master.backends.kubernetes.watch import (
    ObjectChanged,
    ObjectsListed,
    WatchLost,
    whole,
)
from determined_master.domain.pods.limit_ranges import LimitRangeBoard
from determined_master.domain.pods.quota_board import QuotaBoard
from determined_master.ports.kubernetes import ClusterTrouble, PodEvents

log = logging.getLogger(__name__)

TICK_S = 1.0
UPKEEP_S = 60.0
NEEDED = frozenset({"nodes", "pods", "foreign pods"})
"""Nothing is planned while one of them is not known."""


@dataclass(frozen=True)
class Boards:
    """The objects of the cluster, as they are known."""

    nodes: NodeBoard
    pods: PodBoard
    quotas: QuotaBoard
    ranges: LimitRangeBoard
    demand: NodeDemand
    labels: NodeLabels
    waits: QueueWaits
    gateway: GatewayPorts
    devices: DeviceFollower


class Presence:
    """Follows one cluster while its master leads."""

    def __init__(
        self,
        options: ClusterOptions,
        api: KubernetesApi,
        events: PodEvents,
        boards: Boards,
        upkeep: Upkeep,
        times: Times,
        node_wait_s: float = 25.0,
    ) -> None:
        self._options = options
        self._api = api
        self._events = events
        self._upkeep = upkeep
        self._demand = boards.demand
        self._labels = boards.labels
        self._waits = boards.waits
        self._gateway = boards.gateway
        self._devices = boards.devices
        self._handed: dict[str, PodUsage] = {}
        """By uid: what handed-over pods use on nodes, where other pools are planned around it."""
        self._nodes = boards.nodes
        self._pods = boards.pods
        self._rules: Mapping[str, QuotaBoard | LimitRangeBoard] = {
            "resourcequotas": boards.quotas,
            "limitranges": boards.ranges,
        }
        """Of namespaces, by kind. They are not needed, and an account may lack the right."""
        self._times = times
        self._node_wait_s = node_wait_s
        self._listed: set[str] = set()
        """The kinds of objects of `NEEDED` that are known to match the cluster."""
        self._joined: set[str] = set()
        self._away: dict[str, float] = {}
        """By node that is not ready or does not exist: the seconds until it is given up."""
        self._outage: ClusterTrouble | None = None
        self._unknown: set[str] = set()
        """Kinds of objects that the master plans without, and has said so."""
        self._evicted: set[str] = set()
        """Uids of pods whose eviction was reported."""
        self._notes = PodEventNotes(boards.pods, events)

    @property
    def is_reachable(self) -> bool:
        """Whether the cluster is followed now."""
        return self._listed == NEEDED and self._devices.is_known

    @property
    def trouble(self) -> ClusterTrouble | None:
        """What keeps every pod from starting at present."""
        return self._outage or self._devices.trouble or self._upkeep.trouble

    async def run(self, expected: Mapping[str, str]) -> None:
        """Follow the cluster until cancelled.

        Args:
            expected: nodes that run containers according to the database.
        """
        self._listed.clear()
        self._joined.clear()
        self._evicted.clear()
        self._demand.forget()
        self._gateway.reset()
        self._note_outage("it has not answered yet")
        self._nodes.set_reachable(is_reachable=False)
        self._away = dict.fromkeys(expected, self._node_wait_s)
        selector = {"labelSelector": f"{names.CLUSTER}={self._options.cluster_id}"}
        others = {
            "labelSelector": f"{names.CLUSTER}!={self._options.cluster_id}",
            "fieldSelector": "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed",
        }
        pods_only = {"fieldSelector": "involvedObject.kind=Pod"}
        async with asyncio.TaskGroup() as group:
            for work in (
                lambda: self._follow("nodes", "nodes", {}, self._on_nodes),
                lambda: self._follow("pods", "pods", selector, self._on_pods),
                lambda: self._follow_rules("resourcequotas"),
                lambda: self._follow_rules("limitranges"),
                lambda: self._follow("events", "events", pods_only, self._notes.take),
                lambda: self._follow("foreign pods", "pods", others, self._on_foreign, usage_of),
                lambda: self._every(TICK_S, self._tick),
                lambda: self._every(UPKEEP_S, self._upkeep.run),
                lambda: self._every(TICK_S, self._demand.reconcile),
                lambda: self._every(TICK_S, self._labels.reconcile),
                lambda: self._every(REFRESH_S, self._waits.refresh),
                lambda: self._every(TICK_S, self._gateway.reconcile),
                *self._devices.works(self._update_nodes),
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
        seen = follow_all(self._api, self._options.paths_of(kind), query, self._times, keep)
        async with contextlib.aclosing(seen) as changes:
            async for change in changes:
                if isinstance(change, WatchLost):
                    await self._lose(what, change)
                else:
                    await take(change)

    async def _lose(self, what: str, lost: WatchLost) -> None:
        if what in self._rules:
            self._rules[what].replace_all(())
            self._note_unknown(what, "are not known, and not planned with", lost)
            return
        if what == "foreign pods":  # the last known usage stays: no node is lost for that
            if lost.is_forbidden and what not in self._listed:
                await self._on_foreign(ObjectsListed([]))
            self._note_unknown(what, "are not followed, and count as they were", lost)
            return
        if what in self._listed or not self._joined:
            log.warning("Kubernetes is not reached: %s", lost.reason, extra={"objects": what})
        if what in NEEDED:
            self._note_outage(lost.reason)
            self._listed.discard(what)
            for name in self._joined:  # it may disappear unseen
                self._away.setdefault(name, self._node_wait_s)
            self._joined.clear()
            self._nodes.set_reachable(is_reachable=False)

    def _note_unknown(self, what: str, text: str, lost: WatchLost) -> None:
        if what not in self._unknown and (self.is_reachable or lost.is_forbidden):
            self._unknown.add(what)
            log.warning("%s %s: %s", what, text, lost.reason)

    def _note_outage(self, reason: str) -> None:
        """Since when it lasts stays, and the last reason."""
        since = clock.now() if self._outage is None else self._outage.since
        text = f"the API server of {self._upkeep.cluster} does not answer"
        self._outage = ClusterTrouble(text, since, reason)

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
            await self._nodes.replace_all(change.items)
            self._listed.add("nodes")
        elif change.kind == "DELETED":
            self._nodes.remove(str(change.item["metadata"]["name"]))
        else:
            self._nodes.put(change.item)
        await self._update_nodes()

    async def _on_pods(self, change: ObjectsListed | ObjectChanged) -> None:
        if isinstance(change, ObjectsListed):
            self._pods.replace_all(change.items)
            self._note_slots()
            self._note_all_handed(change.items)
            self._listed.add("pods")
            await self._update_nodes()
            await self._notes.match(self._pods.uids())
        else:
            seen = observe(change.item, self._api.now())
            if seen is None:
                return
            if change.kind == "DELETED":
                self._pods.removed(seen)
                self._handed.pop(seen.uid, None)
                self._nodes.remove_foreign(seen.uid)
            else:
                self._pods.note(seen, change.item)
                self._note_handed(seen, change.item)
                await self._note_eviction(seen)
                await self._notes.match({seen.uid})
        self._note_slots()

    def _note_handed(self, seen: Observed, raw: Json) -> None:
        if seen.is_handed_over:
            self._handed[seen.uid] = usage_of(raw)
            self._nodes.put_foreign(self._handed[seen.uid])

    def _note_all_handed(self, items: list[Json]) -> None:
        before, self._handed = self._handed, {}
        for item in items:
            seen = observe(item, self._api.now())
            if seen is not None:
                self._note_handed(seen, item)
        for uid in before.keys() - self._handed.keys():
            self._nodes.remove_foreign(uid)

    def _note_slots(self) -> None:
        self._nodes.set_own_slots(self._pods.own_slots(), self._pods.leftover_slots())
        self._devices.note_pods()

    async def _note_eviction(self, seen: Observed) -> None:
        """Let a task save its work: its program gets its time from now on."""
        if seen.is_evicted and seen.uid not in self._evicted:
            self._evicted.add(seen.uid)
            reason = f"its pod {seen.namespace}/{seen.name} is evicted or deleted"
            await self._events.pod_evicted(seen.node, seen.report, reason)

    async def _update_nodes(self) -> None:
        """Report new nodes, and record lost ones."""
        if not self.is_reachable:
            return
        self._outage = None
        self._nodes.set_reachable(is_reachable=True)
        ready = {s.id: s for s in self._nodes.snapshots() if s.is_connected}
        for name in self._joined - ready.keys():
            self._joined.discard(name)
            if not self._nodes.has_left(name):
                self._away[name] = self._node_wait_s
        for name, snapshot in ready.items():
            self._away.pop(name, None)
            if name in self._joined:
                continue
            reports = self._pods.reports_on(name)
            keep = await self._events.agent_joined(snapshot, reports)
            self._joined.add(name)
            for report in reports:
                if report.container_id not in keep:
                    self._release(report.container_id, report.state == "TERMINATED")

    def _release(self, container_id: str, is_over: bool) -> None:
        """Release a pod that is not needed: it was given up, or its end is stored."""
        self._pods.forget(container_id)
        if not is_over:
            self._pods.abandon_one(container_id)

    async def _tick(self) -> None:
        for pod in self._pods.tick():
            await self._pods.delete(pod, grace_s=None if pod.is_scheduled else 0)
        for name, left_s in list(self._away.items()):
            self._away[name] = left_s - TICK_S
            if left_s - TICK_S <= 0:
                del self._away[name]
                reason = f"it was not ready for {self._node_wait_s:g} s"
                log.warning("a node is lost", extra={"node": name, "reason": reason})
                await self._events.agent_lost(name, reason)
                self._pods.abandon(name)
                await self._pods.lose(name.removeprefix(self._options.node_prefix), reason)
                self._note_slots()
        await self._pods.delete_abandoned()

    async def _on_foreign(self, change: ObjectsListed | ObjectChanged) -> None:
        if isinstance(change, ObjectsListed):
            self._unknown.discard("foreign pods")
            await self._nodes.set_foreign([*change.items, *self._handed.values()])
            self._listed.add("foreign pods")
            await self._update_nodes()
        elif change.kind == "DELETED":
            self._nodes.remove_foreign(change.item.uid)
        else:
            self._nodes.put_foreign(change.item)

    async def _follow_rules(self, kind: str) -> None:
        board = self._rules[kind]

        async def take(change: ObjectsListed | ObjectChanged) -> None:
            if isinstance(change, ObjectsListed):
                self._unknown.discard(kind)
                board.replace_all(change.items)
            elif change.kind == "DELETED":
                board.remove(change.item)
            else:
                board.put(change.item)

        await self._follow(kind, kind, {}, take)


async def _forever(work: Callable[[], Awaitable[None]], times: Times) -> None:
    """Restart after a failure: the cluster is followed as long as the master leads."""
    while True:
        try:
            await work()
        except KubernetesUnusable as error:
            log.error("%s", error.text)
            await asyncio.sleep(times.longest_pause_s)
        except Exception:
            log.exception("following Kubernetes failed")
            await asyncio.sleep(times.pause_s)

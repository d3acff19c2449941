"""Takes the changes of this master's pods: their states, evictions, slots and use of nodes."""

from __future__ import annotations

from collections.abc import Iterable

from determined_master.backends.kubernetes.client import Json, KubernetesApi
from determined_master.backends.kubernetes.devices.follow import DeviceFollower
from determined_master.backends.kubernetes.foreign_pods import PodUsage, usage_of
from determined_master.backends.kubernetes.log.pod_events import PodEventNotes
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.backends.kubernetes.pods.state import Observed, observe
from determined_master.backends.kubernetes.watches.watch import ObjectChanged
from determined_master.ports.kubernetes import PodEvents


class PodChanges:
    """The pods of one master in one cluster."""

    def __init__(
        self,
        api: KubernetesApi,
        events: PodEvents,
        nodes: NodeCache,
        pods: PodCache,
        notes: PodEventNotes,
        devices: DeviceFollower,
    ) -> None:
        """
        Args:
            api: has the cluster's clock.
            events: takes evictions.
            nodes: their slots, and what handed-over pods use there.
            pods: take the states.
            notes: Kubernetes' events, some of which come before their pod.
            devices: those that pods hold.
        """
        self._api = api
        self._events = events
        self._nodes = nodes
        self._pods = pods
        self._notes = notes
        self._devices = devices
        self._handed: dict[str, PodUsage] = {}
        """By uid: what handed-over pods use on nodes, where other pools are planned around it."""
        self._evicted: set[str] = set()
        """Uids of pods whose eviction was reported."""

    @property
    def handed_over(self) -> Iterable[PodUsage]:
        """What handed-over pods use on nodes."""
        return self._handed.values()

    def begin(self) -> None:
        """Evictions are reported again: another master may have led in between."""
        self._evicted.clear()

    def replace_all(self, items: list[Json]) -> None:
        """These are all pods of this master."""
        self._pods.replace_all(items)
        self.note_slots()
        before, self._handed = self._handed, {}
        for item in items:
            pod = observe(item, self._api.now())
            if pod is not None:
                self._note_handed(pod, item)
        for uid in before.keys() - self._handed.keys():
            self._nodes.remove_foreign(uid)

    async def match_all(self) -> None:
        """Report the events that came before their pods were known."""
        await self._notes.match(self._pods.uids())

    async def take(self, change: ObjectChanged) -> None:
        """One pod is new, has changed or was deleted."""
        pod = observe(change.item, self._api.now())
        if pod is None:
            return
        if change.kind == "DELETED":
            self._pods.removed(pod)
            self._handed.pop(pod.uid, None)
            self._nodes.remove_foreign(pod.uid)
        else:
            self._pods.note(pod, change.item)
            self._note_handed(pod, change.item)
            await self._note_eviction(pod)
            await self._notes.match({pod.uid})
        pods = self._pods.by_node
        self._nodes.put_own_slots(
            pod.node, pods.own_slots(pod.node), pods.leftover_slots(pod.node)
        )
        self._devices.note_pods()

    def note_slots(self) -> None:
        """Pods have begun or ended: other slots of nodes are in use."""
        self._nodes.set_own_slots(self._pods.own_slots(), self._pods.leftover_slots())
        self._devices.note_pods()

    def _note_handed(self, observed: Observed, raw: Json) -> None:
        if observed.is_handed_over:
            self._handed[observed.uid] = usage_of(raw)
            self._nodes.put_foreign(self._handed[observed.uid])

    async def _note_eviction(self, observed: Observed) -> None:
        """Let a task save its work: its program gets its time from now on."""
        if observed.is_evicted and observed.uid not in self._evicted:
            self._evicted.add(observed.uid)
            reason = f"its pod {observed.namespace}/{observed.name} is evicted or deleted"
            await self._events.pod_evicted(observed.node, observed.report, reason)

"""Follows what a cluster has of Dynamic Resource Allocation, and names what is missing of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from determined_master import clock
from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.manifest.devices import GROUP, VERSIONS
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.options import ClusterOptions, Times
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.backends.kubernetes.watches.several_watches import follow_all
from determined_master.backends.kubernetes.watches.watch import (
    ObjectChanged,
    ObjectsListed,
    WatchLost,
)
from determined_master.domain.pods.devices.claims import claim_of, class_of
from determined_master.domain.pods.devices.counts import note
from determined_master.domain.pods.devices.slices import slice_of
from determined_master.ports.kubernetes import ClusterTrouble

log = logging.getLogger(__name__)

Json = dict[str, Any]
Settle = Callable[[], Awaitable[None]]
TICK_S = 1.0
_KINDS = ("deviceclasses", "resourceslices", "resourceclaims")


class _NotServed(Exception):
    """The server does not have this version any more."""


class DeviceFollower:
    """One cluster's, while its master leads."""

    def __init__(
        self,
        options: ClusterOptions,
        api: KubernetesApi,
        nodes: NodeCache,
        pods: PodCache,
        times: Times,
    ) -> None:
        self._options = options
        self._api = api
        self._board = nodes.devices
        self._nodes = nodes
        self._pods = pods
        self._times = times
        self.version = ""
        """Of the API that the cluster serves; empty while that is not known, or for none."""
        self._known: set[str] = set()
        """The kinds of objects that are listed, or cannot be."""
        self._troubles: dict[str, ClusterTrouble] = {}
        """By what is wrong: objects of a kind, the API, or the devices."""
        self._is_settled = False

    @property
    def is_on(self) -> bool:
        """Whether slots are such devices."""
        return bool(self._options.device_class)

    @property
    def is_known(self) -> bool:
        """Whether the devices match the cluster, or it is known why there are none."""
        return not self.is_on or bool(self._troubles) or self._known.issuperset(_KINDS)

    @property
    def trouble(self) -> ClusterTrouble | None:
        """Why no pod with slots can start; None when some can."""
        return next(iter(self._troubles.values()), None)

    def note(self) -> str:
        """Why devices of the class are no free slots, for users who wait; empty when all are."""
        if not self.is_on:
            return ""
        return note(self._options.device_class, self._board.total())

    def works(self, settle: Settle) -> list[Settle]:
        """The work to do while the master leads; none where slots are no such devices.

        Args:
            settle: called when the devices are known for the first time.
        """
        self._known.clear()
        self._troubles.clear()
        self._is_settled = False
        return [lambda: self._run(settle), self._tick_on] if self.is_on else []

    async def _run(self, settle: Settle) -> None:
        while True:
            self.version = await self._served()
            await self._settle(settle)
            if not self.version:
                await asyncio.sleep(self._times.backoff.longest)
                continue
            try:
                async with asyncio.TaskGroup() as group:
                    for kind in _KINDS:
                        group.create_task(self._follow(kind, settle))
            except* _NotServed:
                self._known.clear()
                self._is_settled = False
                await asyncio.sleep(self._times.backoff.first)

    def note_pods(self) -> None:
        """Pods of this master have come or gone. Their claims hold the devices of these pods."""
        if not self.is_on:
            return
        own = {
            (pod.namespace, names.slots_claim_name(pod.name)): (
                pod.uid,
                pod.node.removeprefix(self._options.node_prefix),
            )
            for pod in self._pods.holding_slots()
        }
        self._nodes.refresh(self._board.set_own(own))

    async def _settle(self, settle: Settle) -> None:
        if self.is_known and not self._is_settled:
            self._is_settled = True
            await settle()

    async def _tick_on(self) -> None:
        while True:
            self.tick()
            await asyncio.sleep(TICK_S)

    def tick(self) -> None:
        """Follow the nodes, and look for a reason why the class has no device."""
        self._nodes.refresh(self._board.set_nodes(self._nodes.by_preference()))
        if not self._known.issuperset(_KINDS) or self._troubles.keys() - {"devices"}:
            return
        self._note("devices", "" if self._board.total().slots else self._no_devices())

    def _no_devices(self) -> str:
        what = f"DeviceClass {self._options.device_class!r}"
        failure = self._board.failure()
        if failure:
            return (
                f"no slots start: a selector of {what} fails, so Kubernetes allocates none of its "
                f"devices ({failure}): let it check for the attribute first; observed"
            )
        if self._board.incomplete:
            pool = min(self._board.incomplete)
            return (
                f"no slots start: no complete pool of ResourceSlices of {self._options.title} has "
                f"a device of {what}, and pool {pool.pool} of driver {pool.driver} lacks slices: "
                "check the driver's pods; observed"
            )
        return (
            f"no slots start: no ResourceSlice of {self._options.title} has a device of {what}: "
            "check that its driver runs on the nodes; observed"
        )

    async def _served(self) -> str:
        """The newest known version that the server has; empty for none."""
        try:
            answer = await self._api.call("GET", GROUP)
        except KubernetesUnreachable as error:
            log.warning("the devices of Kubernetes are not known: %s", error)
            return ""
        except KubernetesRefused as error:
            if error.status == 403:
                self._note("api", self._lacks_right("get", GROUP, str(error)))
                return ""
            answer = {}
        served = {str(one.get("version")) for one in answer.get("versions") or ()}
        version = next((one for one in VERSIONS if one in served), "")
        text = (
            f"no slots start: {self._options.title} does not serve resource.k8s.io in "
            f"{', '.join(VERSIONS)}: use Kubernetes 1.34, enable the feature gate "
            "DynamicResourceAllocation and one of these versions, or remove "
            "resource_manager.device_class; observed"
        )
        self._note("api", "" if version else text)
        return version

    async def _follow(self, kind: str, settle: Settle) -> None:
        base = f"{GROUP}/{self.version}"
        paths, query = [f"{base}/{kind}"], {}
        if kind == "resourceclaims":
            paths = self._options.paths_of(kind, base)
        elif kind == "deviceclasses":
            query = {"fieldSelector": f"metadata.name={self._options.device_class}"}
        stream = follow_all(self._api, paths, query, self._times, _READ[kind])
        async with contextlib.aclosing(stream) as changes:
            async for change in changes:
                if isinstance(change, WatchLost):
                    self._lose(kind, change)
                else:
                    self._known.add(kind)
                    self._note(kind, "")
                    self._take(kind, change)
                await self._settle(settle)

    def _lose(self, kind: str, lost: WatchLost) -> None:
        """The last known objects stay, so that no running task loses its slots."""
        if lost.is_missing:
            raise _NotServed(kind)
        if lost.is_forbidden:
            self._note(kind, self._lacks_right("list and watch", kind, lost.reason))

    def _take(self, kind: str, change: ObjectsListed | ObjectChanged) -> None:
        cache = self._board
        if kind == "deviceclasses":
            self._take_class(change)
            return
        is_claim = kind == "resourceclaims"
        if isinstance(change, ObjectsListed):
            changed = (
                cache.set_claims(item for _, item in change.items)
                if is_claim
                else cache.set_slices(change.items)
            )
        else:
            uid, item = change.item
            if change.kind == "DELETED":
                changed = cache.remove_claim(uid) if is_claim else cache.remove_slice(uid)
            else:
                changed = cache.put_claim(item) if is_claim else cache.put_slice(uid, item)
        self._nodes.refresh(changed)

    def _take_class(self, change: ObjectsListed | ObjectChanged) -> None:
        if isinstance(change, ObjectsListed):
            entries = change.items
        else:
            entries = [] if change.kind == "DELETED" else [change.item]
        item = next((one for _, one in entries), None)
        options = self._options
        device_class = class_of(item, options.device_class, options.device_selector, options.title)
        self._note("deviceclasses", device_class.trouble)
        self._nodes.refresh(self._board.set_class(device_class))

    def _lacks_right(self, verbs: str, kind: str, said: str) -> str:
        return (
            f"no slots start: the account of the master may not {verbs} {kind} of resource.k8s.io "
            f"in {self._options.title}: grant the rights for devices of "
            f"docs/kubernetes-permissions.md ({said}); observed"
        )

    def _note(self, source: str, text: str) -> None:
        """A trouble, which is logged once, or its end. `since` follows the text."""
        trouble = self._troubles.get(source)
        if not text:
            self._troubles.pop(source, None)
        elif trouble is None or trouble.text != text:
            log.error("%s", text.rpartition(";")[0])
            self._troubles[source] = ClusterTrouble(text, clock.now())


def _with_uid(read: Callable[[Json], Any]) -> Callable[[Json], tuple[str, Any]]:
    return lambda item: (str(item["metadata"]["uid"]), read(item))


_READ: dict[str, Callable[[Json], Any]] = {
    "deviceclasses": _with_uid(lambda item: item),
    "resourceslices": _with_uid(slice_of),
    "resourceclaims": _with_uid(claim_of),
}

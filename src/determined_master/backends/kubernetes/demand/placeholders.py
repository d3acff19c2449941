"""Placeholders: pending pods by which an autoscaler sees that tasks wait for nodes.

An autoscaler adds nodes for pods that fit nowhere, and a task that has no node has no pods. A
placeholder has the shape of a waiting pod for which no node has room, and runs nothing. It keeps
off the nodes with room, which are other tasks' to use, and holds the node that is added for it
until its task has all of its nodes. A task that is planned on that node before comes first: the
placeholder goes, and another one asks again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import datetime

from determined_master import clock
from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.demand.placeholder_pods import (
    Place,
    PlaceholderPod,
    PlaceholderPods,
)
from determined_master.backends.kubernetes.manifest.placeholder import (
    PRIORITY,
    Json,
    place_of,
    placeholder,
    priority_class,
    readable,
)
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pods.known import KnownPods
from determined_master.backends.kubernetes.priority_classes import PriorityClasses
from determined_master.backends.kubernetes.watches.watch import ObjectChanged, ObjectsListed
from determined_master.domain.pods.needs import needs_of
from determined_master.domain.pods.placement import NodeFacts, misfit
from determined_master.ports.kubernetes import NodeRequest, NodesAsked

log = logging.getLogger(__name__)

REFUSED_S = 60.0
"""Time before a placeholder is tried again that the rules of its namespace did not admit."""
KEPT_S = 30.0
"""Time that requests of the master before stay, until the pools have asked again: the autoscaler
may be adding their nodes, or may take away nodes that nothing holds."""
_ABOUT = "Placeholders of tasks that wait for nodes: others replace them"


class Placeholders:
    """Those of one cluster, while its master leads; without requests it removes what is left."""

    def __init__(
        self,
        options: ClusterOptions,
        api: KubernetesApi,
        nodes: NodeCache,
        pods: KnownPods,
        classes: PriorityClasses,
    ) -> None:
        self._options = options
        self._api = api
        self._nodes = nodes
        self._pods = pods
        self._classes = classes
        self._existing = PlaceholderPods()
        self._requests: dict[str, tuple[NodeRequest, ...]] = {}
        """By pool."""
        self._released: set[str] = set()
        """Allocations whose pods are made: the next decision on their pool omits them."""
        self._since: dict[str, datetime] = {}
        """By allocation: when its first placeholder was made."""
        self._keeps_until_s: float | None = None
        """Until when nothing is withdrawn, by the monotonic clock; None before the first list."""
        self._told: set[str] = set()
        self._refused: dict[Place, float] = {}
        """Those that were not admitted: until when, by the monotonic clock, none is made again."""

    def request(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        """From now on, tasks of this pool wait for nodes as these do, and no others."""
        self._requests[pool] = readable(requests)
        self._released &= {r.allocation_id for every in self._requests.values() for r in every}

    def asked(self, allocation_id: str) -> NodesAsked | None:
        """When nodes were asked for; None when they are not."""
        since = self._since.get(allocation_id)
        if since is None:
            return None
        own = [p for p in self._known().values() if p.allocation_id == allocation_id]
        return NodesAsked(at=since, pods=len(own))

    async def make_room(self, allocation_id: str, agent_id: str) -> None:
        """Remove the placeholders of a task whose pod is made now, and those on the pod's node.

        The former count in the quota of its namespace. Raises Unreachable.
        """
        self._released.add(allocation_id)
        if not self._known():
            return
        load = self._nodes.loads().nodes.get(agent_id)
        for place, one in list(self._known().items()):
            is_there = load is not None and one.may_be_on(load.facts)
            if is_there or one.allocation_id == allocation_id:
                await self._delete(place)

    def forget(self) -> None:
        """Another master may have led."""
        self._existing = PlaceholderPods()
        self._keeps_until_s = None
        self._requests.clear()
        self._released.clear()
        self._since.clear()
        self._refused.clear()

    def take(self, change: ObjectsListed | ObjectChanged) -> None:
        """Pods of this master were listed, or one has changed."""
        self._existing.take(change)

    def priority_classes(self) -> set[str]:
        """The names of the PriorityClasses that placeholders have."""
        return {priority_class(self._options)} if self._known() else set()

    async def reconcile(self) -> None:
        """Make missing placeholders, and remove those that nothing waits for.

        Raises:
            Unreachable: the API server does not answer.
        """
        if self._existing.by_place is None:
            return
        now_s = clock.monotonic_s()
        if self._keeps_until_s is None:
            self._keeps_until_s = now_s + KEPT_S
        if not self._known() and not any(self._requests.values()):
            self._since.clear()
            return
        awaited = self._awaited_nodes()
        for place in list(self._out_of_place(awaited)):
            await self._delete(place)
        requested = self._requested()
        for place in list(self._unrequested(requested, is_kept=now_s < self._keeps_until_s)):
            await self._delete(place)
        self._refused = {place: until for place, until in self._refused.items() if until > now_s}
        for place, (request, number) in requested.items():
            if place not in self._known() and place not in self._refused:
                await self._create(place, request, number, awaited)
        self._since = {
            one.allocation_id: self._since.get(one.allocation_id) or clock.now()
            for one in self._known().values()
        }

    def _known(self) -> dict[Place, PlaceholderPod]:
        return self._existing.by_place or {}

    def _awaited_nodes(self) -> list[NodeFacts]:
        """The nodes on which pods of tasks wait for their place.

        Of pods that the cluster places itself, those held by placeholders on which one could run.
        """
        nodes = self._nodes.loads().nodes
        planned = self._pods.awaited_nodes()
        held = {one.node for one in self._known().values()} - {""}
        unplaced = [needs_of(pod) for pod in self._pods.unplaced()] if held else []
        return [
            load.facts
            for id, load in nodes.items()
            if id in planned
            or (load.facts.name in held and any(not misfit(n, load.facts) for n in unplaced))
        ]

    def _out_of_place(self, awaited: list[NodeFacts]) -> Iterable[Place]:
        """Placeholders that have ended, hold a node for nothing, or take a pod's place."""
        for place, one in self._known().items():
            is_useless = bool(one.node) and not self._nodes.takes_tasks(one.node)
            if one.has_ended or is_useless or any(map(one.may_be_on, awaited)):
                yield place

    def _unrequested(self, requested: Collection[Place], *, is_kept: bool) -> Iterable[Place]:
        """Placeholders that nothing waits for; `is_kept`: pools may not have asked yet."""
        asking = {r.allocation_id for requests in self._requests.values() for r in requests}
        for place, one in self._known().items():
            may_be_asked = is_kept and one.allocation_id not in asking | self._released
            if place not in requested and not may_be_asked:
                yield place

    def _requested(self) -> dict[Place, tuple[NodeRequest, int]]:
        """The placeholders that should exist: the request of each, and the number of its pod.

        Those that have a node stay. As many wait for one as pods have no room.
        """
        requested = {}
        for request in [r for requests in self._requests.values() for r in requests]:
            if request.allocation_id in self._released:
                continue
            numbers = {place_of(request, n, self._options): n for n in range(len(request.slots))}
            existing = {place: self._known()[place] for place in numbers if place in self._known()}
            holding = [place for place, one in existing.items() if one.node]
            waiting = [place for place, one in existing.items() if not one.node]
            fresh = [place for place in reversed(numbers) if place not in existing]
            lacking = len(numbers) - max(request.housed, len(holding))
            for place in [*holding, *[*waiting, *fresh][:lacking]]:
                requested[place] = request, numbers[place]
        return requested

    async def _create(
        self, place: Place, request: NodeRequest, number: int, awaited: list[NodeFacts]
    ) -> None:
        room = self._nodes.with_free_slots(request.slots[number])
        avoided = {node.name: node for node in (*room, *awaited)}
        pod = placeholder(request, number, self._options, list(avoided.values()))
        created = await self._made(pod)
        if created is None:
            self._refused[place] = clock.monotonic_s() + REFUSED_S
        else:
            self._existing.put(created)

    async def _made(self, pod: Json) -> Json | None:
        """The pod as the API server has created it; None if it has not."""
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
        own_class = pod["spec"]["priorityClassName"]
        for is_last in (False, True):
            try:
                return await self._api.call("POST", path, body=pod)
            except KubernetesRefused as error:
                if error.reason == "AlreadyExists":
                    return None  # the watch brings it
                if is_last or own_class not in str(error):
                    self._tell(error)
                    return None
            await self._classes.make(own_class, PRIORITY, _ABOUT)
        return None

    async def _delete(self, place: Place) -> None:
        path = f"/api/v1/namespaces/{place[0]}/pods/{place[1]}"
        try:
            await self._api.call("DELETE", path, query={"gracePeriodSeconds": "0"})
        except KubernetesRefused as error:
            if error.status != 404:
                raise KubernetesUnreachable(str(error)) from error
        self._known().pop(place, None)

    def _tell(self, error: KubernetesRefused) -> None:
        """Log a refusal, each one once."""
        if str(error) not in self._told:
            self._told.add(str(error))
            log.warning("nodes cannot be asked for: %s", error)

"""Placeholders: pending pods by which an autoscaler sees that tasks wait for nodes.

An autoscaler adds nodes for pods that fit nowhere, and a task that has no node has no pods. A
placeholder has the shape of a waiting pod, and runs nothing. It is removed as soon as its task has
nodes, or does not wait any more.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime

from determined_master import clock
from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.manifest.placeholder import (
    DEMAND,
    PRIORITY,
    PRIORITY_CLASS,
    Json,
    placeholder,
    readable,
)
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.ports.kubernetes import NodeRequest, NodesAsked

log = logging.getLogger(__name__)

REFUSED_S = 60.0
"""A placeholder that was not admitted, for its namespace's rules, is tried again after so long."""
LISTED_AGAIN_S = 30.0
"""Others may remove one while its task waits: Kubernetes for its low priority, or a node's end."""
_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_Key = tuple[str, str]
"""Namespace and name."""


class Placeholders:
    """Those of one cluster, while its master leads."""

    def __init__(self, options: ClusterOptions, api: KubernetesApi) -> None:
        self._options = options
        self._api = api
        self._requests: dict[str, tuple[NodeRequest, ...]] = {}
        """By pool."""
        self._released: set[str] = set()
        """Allocations whose pods are made: the next decision on their pool omits them."""
        self._since: dict[str, datetime] = {}
        """By allocation: when its first placeholder was made."""
        self._existing: dict[_Key, str] | None = None
        """Placeholders by allocation; None before they were listed."""
        self._listed_at_s = 0.0
        self._told: set[str] = set()
        self._refused: dict[_Key, float] = {}
        """Placeholders that the API server did not admit: until when they are not made again, by
        the monotonic clock."""

    def request(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        """From now on, tasks of this pool wait for nodes as these do, and no others."""
        self._requests[pool] = readable(requests)
        self._released &= {r.allocation_id for every in self._requests.values() for r in every}

    def asked(self, allocation_id: str) -> NodesAsked | None:
        """When nodes were asked for; None when they are not."""
        since = self._since.get(allocation_id)
        return None if since is None else NodesAsked(at=since, has_pods=True)

    async def release(self, allocation_id: str) -> None:
        """Remove the placeholders of a task whose pods are made now.

        They count in the quota of its namespace. Raises Unreachable.
        """
        self._released.add(allocation_id)
        existing = self._existing or {}
        for key in [key for key, owner in existing.items() if owner == allocation_id]:
            await self._delete(key)
            existing.pop(key, None)

    def forget(self) -> None:
        """List them again: another master may have led."""
        self._existing = None
        self._requests.clear()
        self._released.clear()
        self._since.clear()
        self._refused.clear()

    async def reconcile(self) -> None:
        """Make missing placeholders, and remove those that nothing waits for.

        Raises:
            Unreachable: the API server does not answer.
        """
        wanted, now_s = dict(self._wanted()), clock.monotonic_s()
        is_old = now_s - self._listed_at_s >= LISTED_AGAIN_S
        if self._existing is None or (is_old and (wanted or self._existing)):
            self._existing, self._listed_at_s = await self._list(), now_s
        for key in [key for key in self._existing if key not in wanted]:
            await self._delete(key)
            self._existing.pop(key, None)
        self._refused = {key: until for key, until in self._refused.items() if until > now_s}
        for key, (allocation_id, pod) in wanted.items():
            if key in self._existing or key in self._refused:
                continue
            if await self._create(pod):
                self._existing[key] = allocation_id
            else:
                self._refused[key] = now_s + REFUSED_S
        asked = set(self._existing.values())
        self._since = {
            allocation_id: self._since.get(allocation_id) or clock.now() for allocation_id in asked
        }

    def _wanted(self) -> Iterable[tuple[_Key, tuple[str, Json]]]:
        every = (request for requests in self._requests.values() for request in requests)
        for request in every:
            if request.allocation_id in self._released:
                continue
            for number, slots in enumerate(request.slots):
                pod = placeholder(request, number, slots, self._options)
                meta = pod["metadata"]
                yield (meta["namespace"], meta["name"]), (request.allocation_id, pod)

    async def _list(self) -> dict[_Key, str]:
        """Those that exist, also of an earlier leader; those that have ended are removed."""
        query = {"labelSelector": f"{names.CLUSTER}={self._options.cluster_id},{DEMAND}=true"}
        pods: list[Mapping[str, Json]] = []
        try:
            for path in self._options.paths_of("pods"):
                listed = await self._api.call("GET", path, query=query)
                pods += listed.get("items") or ()
        except KubernetesRefused as error:
            self._tell("placeholders are not listed, and some may stay: %s", error)
            return self._existing or {}
        found = {}
        for pod in pods:
            meta = pod["metadata"]
            key = str(meta["namespace"]), str(meta["name"])
            if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
                await self._delete(key)
            else:
                found[key] = str(meta["annotations"][DEMAND])
        return found

    async def _create(self, pod: Json) -> bool:
        """Whether it exists now."""
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
        for is_last in (False, True):
            try:
                await self._api.call("POST", path, body=pod)
                return True
            except KubernetesRefused as error:
                if error.reason == "AlreadyExists":
                    return True
                if is_last or PRIORITY_CLASS not in str(error):
                    self._tell("nodes cannot be asked for: %s", error)
                    return False
            await self._make_class()
        return False

    async def _make_class(self) -> None:
        body = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": PRIORITY_CLASS},
            "value": PRIORITY,
            "preemptionPolicy": "Never",
            "description": "Placeholders of tasks that wait for nodes: others replace them",
        }
        try:
            await self._api.call("POST", _CLASSES, body=body)
        except KubernetesRefused as error:
            if error.reason != "AlreadyExists":
                self._tell("placeholders get no priority class: %s", error)

    async def _delete(self, key: _Key) -> None:
        path = f"/api/v1/namespaces/{key[0]}/pods/{key[1]}"
        try:
            await self._api.call("DELETE", path, query={"gracePeriodSeconds": "0"})
        except KubernetesRefused as error:
            if error.status != 404:
                raise KubernetesUnreachable(str(error)) from error

    def _tell(self, text: str, error: KubernetesRefused) -> None:
        """Log a refusal, each one once."""
        if str(error) not in self._told:
            self._told.add(str(error))
            log.warning(text, error)
